// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"time"
)

// Duration is the text of a duration, such as 90s, 30m or 1h30m.
//
// It stays text until it is used. Anything decodes, so one object with a bad value cannot make a List unreadable;
// whoever uses the value gets the error. It is checked by a pattern, because the number of environments is not bounded
// and a rule with a message would exceed what the API server lets rules cost.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
type Duration string

// Parse returns the duration. Without a value it is zero.
func (d Duration) Parse() (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	value, err := time.ParseDuration(string(d))
	if err != nil {
		return 0, fmt.Errorf("invalid duration %q: write for example 90s, 30m or 1h30m", string(d))
	}
	if value < 0 {
		return 0, fmt.Errorf("invalid duration %q: it must not be negative", string(d))
	}
	return value, nil
}
