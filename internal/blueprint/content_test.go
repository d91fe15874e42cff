// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"errors"
	"strings"
	"testing"

	"espalier.dev/internal/component"
	"espalier.dev/internal/failure"
)

// An unreadable repository is not the fault of the template that asks for a resource.
func TestContentThatCannotBeRead(t *testing.T) {
	e := NewEngine()
	set := setOf(
		t,
		`{meta: {schemaVersion: v2}, component: {name: c, version: 1.0.0, resources: [{name: r, type: t, version: 1.0.0, access: {type: localBlob, localReference: x}}]}}`,
	)
	const reference = `getResourceContent "cd://resources/r"`
	templates := map[string]string{
		"GoTemplate": `{name: d, type: GoTemplate, template: '{{ ` + reference + ` }}'}`,
		"Spiff":      `{name: d, type: Spiff, template: {x: (( getResourceContent("cd://resources/r") ))}}`,
		"afterwards": `{name: d, type: GoTemplate, template: 'x: {{ ` + reference + ` | quote }}'}, {name: other, type: GoTemplate, template: '{{ fail "on purpose" }}'}`,
	}
	details := failure.Details{Operation: "Read", Reason: "Broken"}
	for name, test := range map[string]struct {
		template string
		err      error
		kind     failure.Kind
		reason   string
		want     string
	}{
		"in a GoTemplate, for now": {"GoTemplate", failure.NewRetryable(details, errors.New("the registry is down")), failure.Retryable, "Broken", "the registry is down"},
		"in Spiff, for now":        {"Spiff", failure.NewRetryable(details, errors.New("the registry is down")), failure.Retryable, "Broken", "the registry is down"},
		"for ever":                 {"GoTemplate", failure.NewTerminal(details, errors.New("no such thing")), failure.Terminal, "TemplateFailed", "no such thing"},
		"another one fails":        {"afterwards", nil, failure.Terminal, "TemplateFailed", "on purpose"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(t, e, files("deployExecutions: ["+templates[test.template]+"]"))
			in.Components = set
			in.Content = func(*component.Descriptor, component.Access) (component.Content, error) {
				return component.Content{Data: []byte("x")}, test.err
			}
			_, err := e.Render(in)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if failure.KindOf(err) != test.kind || failure.DetailsOf(err).Reason != test.reason {
				t.Errorf("it is %s, %+v", failure.KindOf(err), failure.DetailsOf(err))
			}
		})
	}
}
