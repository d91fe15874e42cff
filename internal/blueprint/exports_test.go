// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

const promising = `
exports: [{name: kept, schema: {type: string}}, {name: broken, schema: {type: string}}]
exportExecutions: [{name: x, type: GoTemplate, template: "exports: {kept: word}"}]
`

// A missing export that a blueprint declares is a warning, unless the installation exports it: then others wait for it.
func TestExportsThatAreMissing(t *testing.T) {
	e := NewEngine()
	in := inputOf(t, e, files(promising))
	in.Installation.Spec.Exports.Data = []lsv1alpha1.DataExport{{Name: "kept", DataRef: "a"}}
	exports, _, err := e.Exports(in, ExportValues{})
	if want := []string{`the blueprint declares export "broken" but does not provide it`}; err != nil ||
		!slices.Equal(exports.Warnings, want) {
		t.Fatalf("got %v, %v", exports, err)
	}

	set := setOf(t, "meta: {schemaVersion: v2}\ncomponent: {name: example.com/web, version: 1.0.0}")
	reference := lsv1alpha1.BlueprintDefinition{Reference: &lsv1alpha1.RemoteBlueprintReference{ResourceName: "web"}}
	in.Installation.Spec.Exports.Data = append(in.Installation.Spec.Exports.Data, lsv1alpha1.DataExport{Name: "broken", DataRef: "b"})
	for name, c := range map[string]struct {
		definition lsv1alpha1.BlueprintDefinition
		components *component.Set
		want       string
	}{
		"inline":        {lsv1alpha1.BlueprintDefinition{}, set, "the inline blueprint"},
		"by reference":  {reference, set, `blueprint "web" of component example.com/web:1.0.0`},
		"from anywhere": {reference, nil, `blueprint "web"`},
	} {
		t.Run(name, func(t *testing.T) {
			in.Definition, in.Components = c.definition, c.components
			_, _, err := e.Exports(in, ExportValues{})
			want := `data export "broken" is missing: neither the export executions of ` + c.want + ` nor exportDataMappings of installation garden/tree provide it`
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
			if failure.KindOf(err) != failure.Terminal || failure.DetailsOf(err).Reason != dataflow.ReasonExportInvalid {
				t.Errorf("it is %s, %+v", failure.KindOf(err), failure.DetailsOf(err))
			}
		})
	}
}

// setOf is an inline component, with its nested ones.
func setOf(t testing.TB, text string) *component.Set {
	t.Helper()
	descriptor, err := component.Parse([]byte(text), component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	closure, err := component.NewClosure(component.ClosureOptions{Inline: descriptor})
	if err != nil {
		t.Fatal(err)
	}
	set, err := closure.Set()
	if err != nil {
		t.Fatal(err)
	}
	return set
}
