// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"encoding/json"
	"slices"
)

// AnyJSON is any JSON value, kept as it was written. It is its text; nil and the text null are the same value.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:pruning:PreserveUnknownFields
type AnyJSON struct {
	// Raw is the JSON text. It must be valid JSON or empty.
	Raw json.RawMessage `json:"-"`
}

// NewAnyJSON returns the JSON form of value.
func NewAnyJSON(value any) (AnyJSON, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return AnyJSON{}, err
	}
	return AnyJSON{Raw: raw}, nil
}

// IsNull reports whether there is no value: nothing at all or null.
func (j AnyJSON) IsNull() bool {
	trimmed := bytes.TrimSpace(j.Raw)
	return len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null"))
}

// Decode stores the value in the variable that target points to.
func (j AnyJSON) Decode(target any) error {
	if j.IsNull() {
		return json.Unmarshal([]byte("null"), target)
	}
	return json.Unmarshal(j.Raw, target)
}

// MarshalJSON returns the text, or null if there is none.
func (j AnyJSON) MarshalJSON() ([]byte, error) {
	if j.IsNull() {
		return []byte("null"), nil
	}
	return j.Raw, nil
}

// UnmarshalJSON keeps a copy of the text.
func (j *AnyJSON) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		j.Raw = nil
		return nil
	}
	j.Raw = slices.Clone(text)
	return nil
}
