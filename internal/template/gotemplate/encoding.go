// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"strings"

	"espalier.dev/internal/template"
)

func (r *run) toYAML(value any) (string, error) {
	text, err := r.meter.EncodeYAML(value)
	return strings.TrimSuffix(text, "\n"), err
}

const (
	// costOfJSON is the minimum cost of decoding JSON in steps.
	costOfJSON = 15
	// jsonBytesPerStep is the number of bytes of JSON decoded per step.
	jsonBytesPerStep = 16
)

func (r *run) fromJSON(text string) (any, error) {
	if err := r.meter.Step(costOfJSON + int64(len(text))/jsonBytesPerStep); err != nil {
		return nil, err
	}
	value, err := template.DecodeJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return value, r.meter.Measure(value)
}
