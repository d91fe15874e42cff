// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"time"
)

// Duration is the text of a duration as Go writes them, such as 90s or 1h30m, or "none".
//
// It stays text until it is used. Anything decodes, so one object with a bad value cannot make a List unreadable;
// whoever uses the value gets the error.
//
// +kubebuilder:validation:MaxLength=100
// +kubebuilder:validation:XValidation:rule="self.matches('^(none|[+-]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$')",message="must be a duration such as 90s, 10m or 1h30m, or none for no limit"
type Duration string

// NoDuration says that there is no limit.
const NoDuration Duration = "none"

// NewDuration returns the text form of a duration. Zero becomes "none", as the API defines it.
func NewDuration(value time.Duration) Duration {
	if value == 0 {
		return NoDuration
	}
	return Duration(value.String())
}

// Limit returns the time that d allows. Without a value that is fallback. The second result is false if there is no
// limit: "none" and zero mean the same.
func (d *Duration) Limit(fallback time.Duration) (time.Duration, bool, error) {
	if d == nil || *d == "" {
		return fallback, true, nil
	}
	if *d == NoDuration {
		return 0, false, nil
	}
	value, err := time.ParseDuration(string(*d))
	if err != nil {
		return 0, false, fmt.Errorf("invalid duration %q: write for example 90s, 10m or 1h30m, or none for no limit", string(*d))
	}
	if value < 0 {
		return 0, false, fmt.Errorf("invalid duration %q: it must not be negative; write none for no limit", string(*d))
	}
	return value, value > 0, nil
}
