// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

const parentDefinitions = `
- {name: config, schema: {type: object}}
- {name: cluster, targetType: kubernetes-cluster}
- {name: clusters, type: targetList, targetType: kubernetes-cluster}
- {name: regions, type: targetMap, targetType: kubernetes-cluster}
- name: backup
  required: false
  schema: {type: string}
  imports:
  - {name: backup-password, schema: {type: string}}
- {name: spare, required: false, targetType: kubernetes-cluster}
- {name: spares, required: false, type: targetList, targetType: kubernetes-cluster}
`

func templates(t testing.TB, text string) []lsv1alpha1.InstallationTemplate {
	t.Helper()
	return parse[[]lsv1alpha1.InstallationTemplate](t, text)
}

// all and none report which imports of the parent have a value: with or without the optional ones.
func all(name string) bool {
	return none(name) || slices.Contains([]string{"backup", "backup-password", "spare", "spares", "seed", "houses"}, name)
}

func none(name string) bool {
	return slices.Contains([]string{"config", "cluster", "clusters", "regions"}, name)
}

const inline = `blueprint: {filesystem: {blueprint.yaml: ""}}`

func TestNestedInstallationsThatAreSound(t *testing.T) {
	for name, text := range map[string]string{
		"none": `[]`,
		"everything from the parent": `
- name: a
  ` + inline + `
  imports:
    data: [{name: x, dataRef: config}, {name: p, dataRef: backup-password}]
    targets:
    - {name: one, target: cluster}
    - {name: first, target: "clusters[0]"}
    - {name: west, target: "regions[west]"}
    - {name: numbered, target: "regions[0]"}
    - {name: list, targetListRef: clusters}
    - {name: map, targetMapRef: regions}
    - {name: mixed, targets: [cluster, "clusters[1]", "regions[x]"]}
    - {name: none, targets: []}
    - {name: composed, targetMap: {a: cluster, b: "clusters[2]"}}`,
		"a chain of siblings": `
- {name: a, ` + inline + `, exports: {data: [{name: x, dataRef: url}], targets: [{name: x, target: vm}]}}
- {name: b, blueprint: {ref: "cd://resources/b"}, imports: {data: [{name: x, dataRef: url}]}, exports: {data: [{name: x, dataRef: url2}]}}
- {name: c, ` + inline + `, imports: {data: [{name: x, dataRef: url2}], targets: [{name: z, targetMap: {k: vm}}]}}`,
		"a target and data of the same name": `
- {name: a, ` + inline + `, exports: {data: [{name: x, dataRef: cluster}], targets: [{name: w, target: config}]}}`,
		"global objects": `
- {name: a, ` + inline + `, imports: {data: [{name: x, dataRef: "#settings"}]}, exports: {data: [{name: x, dataRef: "#config"}]}}`,
		"the longest name": `[{name: ` + strings.Repeat("a", 52) + `, ` + inline + `}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := dataflow.ValidateSubinstallations(templates(t, text), definitions(t, parentDefinitions), all); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNestedInstallationsThatAreNot(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no name":              {`[{` + inline + `}]`, `subinstallations[0].name: is required`},
		"a long name":          {`[{name: ` + strings.Repeat("a", 53) + `, ` + inline + `}]`, `.name: has 53 characters, at most 52 are allowed`},
		"a bad name":           {`[{name: A.b, ` + inline + `}]`, `subinstallations[A.b].name: use lower-case letters, digits and '-'`},
		"a name twice":         {`[{name: a, ` + inline + `}, {name: a, ` + inline + `}]`, `subinstallations[a].name: "a" is taken by another nested installation`},
		"no blueprint":         {`[{name: a}]`, `subinstallations[a].blueprint: set exactly one of ref and filesystem`},
		"two blueprints":       {`[{name: a, blueprint: {ref: x, filesystem: {}}}]`, `subinstallations[a].blueprint: set exactly one of ref and filesystem`},
		"no dataRef":           {`[{name: a, ` + inline + `, imports: {data: [{name: x}]}}]`, `subinstallations[a].imports.data[0].dataRef: is required`},
		"a Secret":             {`[{name: a, ` + inline + `, imports: {data: [{name: x, secretRef: {name: s}}]}}]`, `imports.data[0].secretRef: a nested installation imports from its parent and siblings only; import the Secret in the root installation`},
		"a ConfigMap":          {`[{name: a, ` + inline + `, imports: {data: [{name: x, configMapRef: {name: s}}]}}]`, `imports.data[0].configMapRef: a nested installation imports from its parent and siblings only`},
		"a nameless import":    {`[{name: a, ` + inline + `, imports: {data: [{dataRef: config}]}}]`, `imports.data[0].name: is required`},
		"an import twice":      {`[{name: a, ` + inline + `, imports: {data: [{name: x, dataRef: config}], targets: [{name: x, target: cluster}]}}]`, `imports.targets[0].name: "x" is taken by another one`},
		"no target":            {`[{name: a, ` + inline + `, imports: {targets: [{name: x}]}}]`, `imports.targets[0]: set exactly one of target, targets, targetListRef, targetMap and targetMapRef`},
		"two targets":          {`[{name: a, ` + inline + `, imports: {targets: [{name: x, target: cluster, targets: []}]}}]`, `imports.targets[0]: set exactly one of`},
		"an empty target":      {`[{name: a, ` + inline + `, imports: {targets: [{name: x, targets: [cluster, ""]}]}}]`, `imports.targets[0].targets[1]: is empty`},
		"an empty map entry":   {`[{name: a, ` + inline + `, imports: {targets: [{name: x, targetMap: {k: ""}}]}}]`, `imports.targets[0].targetMap[k]: is empty`},
		"a bad key":            {`[{name: a, ` + inline + `, imports: {targets: [{name: x, targetMap: {K_: cluster}}]}}]`, `imports.targets[0].targetMap: the key "K_" is not allowed`},
		"a nameless export":    {`[{name: a, ` + inline + `, exports: {data: [{dataRef: z}]}}]`, `exports.data[0].name: is required`},
		"no place for export":  {`[{name: a, ` + inline + `, exports: {targets: [{name: x}]}}]`, `exports.targets[0].target: "" cannot be exported to: it is empty`},
		"a bad place":          {`[{name: a, ` + inline + `, exports: {data: [{name: x, dataRef: "a b"}]}}]`, `exports.data[0].dataRef: "a b" cannot be exported to: it becomes a label`},
		"unsatisfied data":     {`[{name: a, ` + inline + `, imports: {data: [{name: x, dataRef: nobody}]}}]`, `imports.data[0].dataRef: nothing provides data "nobody": import it in the parent, or let another nested installation export it`},
		"data that is target":  {`[{name: a, ` + inline + `, imports: {data: [{name: x, dataRef: cluster}]}}]`, `nothing provides data "cluster"`},
		"unsatisfied target":   {`[{name: a, ` + inline + `, imports: {targets: [{name: x, target: nobody}]}}]`, `imports.targets[0]: nothing provides a target "nobody"`},
		"in a list":            {`[{name: a, ` + inline + `, imports: {targets: [{name: x, targets: [cluster, nobody]}]}}]`, `nothing provides a target "nobody"`},
		"in a map":             {`[{name: a, ` + inline + `, imports: {targets: [{name: x, targetMap: {k: nobody}}]}}]`, `nothing provides a target "nobody"`},
		"a list as a target":   {`[{name: a, ` + inline + `, imports: {targets: [{name: x, target: clusters}]}}]`, `it is a target list: use targetListRef for all of it, or "clusters[0]"`},
		"a map as a target":    {`[{name: a, ` + inline + `, imports: {targets: [{name: x, target: regions}]}}]`, `it is a target map: use targetMapRef for all of it, or "regions[KEY]"`},
		"an element of none":   {`[{name: a, ` + inline + `, imports: {targets: [{name: x, target: "cluster[0]"}]}}]`, `nothing provides a target "cluster[0]"`},
		"a key of a list":      {`[{name: a, ` + inline + `, imports: {targets: [{name: x, target: "clusters[west]"}]}}]`, `nothing provides a target "clusters[west]"`},
		"a list that is a map": {`[{name: a, ` + inline + `, imports: {targets: [{name: x, targetListRef: regions}]}}]`, `imports.targets[0].targetListRef: the parent has no target list "regions" among its imports`},
		"a map that is a list": {`[{name: a, ` + inline + `, imports: {targets: [{name: x, targetMapRef: clusters}]}}]`, `imports.targets[0].targetMapRef: the parent has no target map "clusters" among its imports`},
		"a list of a sibling": {`
- {name: a, ` + inline + `, exports: {targets: [{name: x, target: vm}]}}
- {name: b, ` + inline + `, imports: {targets: [{name: x, targetListRef: vm}]}}`, `the parent has no target list "vm"`},
		"export of an import": {`[{name: a, ` + inline + `, exports: {data: [{name: x, dataRef: config}]}}]`, `exports.data[0].dataRef: "config" is what the parent imports under that name: export under another name`},
		"export of a list":    {`[{name: a, ` + inline + `, exports: {targets: [{name: x, target: clusters}]}}]`, `exports.targets[0].target: "clusters" is what the parent imports under that name`},
		"the same export":     {`[{name: a, ` + inline + `, exports: {data: [{name: x, dataRef: z}]}}, {name: b, ` + inline + `, exports: {data: [{name: x, dataRef: z}]}}]`, `DataObject "z" is exported by more than one installation: a, b`},
		"a circle": {`
- {name: a, ` + inline + `, imports: {targets: [{name: x, targetMap: {k: t2}}]}, exports: {targets: [{name: x, target: t1}]}}
- {name: b, ` + inline + `, imports: {targets: [{name: x, targets: [t1]}]}, exports: {targets: [{name: x, target: t2}]}}`, `a -> b -> a`},
		"itself":          {`[{name: a, ` + inline + `, imports: {data: [{name: x, dataRef: z}]}, exports: {data: [{name: x, dataRef: z}]}}]`, `a depends on itself`},
		"several at once": {`[{}, {name: b}]`, `subinstallations[0].blueprint: set exactly one of ref and filesystem; subinstallations[b].blueprint`},
	} {
		t.Run(name, func(t *testing.T) {
			err := dataflow.ValidateSubinstallations(templates(t, c.text), definitions(t, parentDefinitions), all)
			expectError(t, err, failure.Terminal, c.want)
		})
	}
}

func TestImportsOfWhatTheParentLacksAreDropped(t *testing.T) {
	given := templates(t, `
- name: a
  `+inline+`
  imports:
    data:
    - {name: keep, dataRef: config}
    - {name: optional, dataRef: backup}
    - {name: conditional, dataRef: backup-password}
    - {name: sibling, dataRef: url}
    targets:
    - {name: keep-target, target: cluster}
    - {name: optional-target, target: spare}
    - {name: element, target: "spares[0]"}
    - {name: list, targetListRef: spares}
    - {name: some, targets: [cluster, spare]}
    - {name: map, targetMap: {a: cluster, b: spare}}
    - {name: empty, targets: []}
- {name: b, `+inline+`, exports: {data: [{name: x, dataRef: url}]}}
`)
	namesOf := func(list []lsv1alpha1.InstallationTemplate) string {
		var names []string
		for _, data := range list[0].Imports.Data {
			names = append(names, data.Name)
		}
		for _, target := range list[0].Imports.Targets {
			names = append(names, target.Name)
		}
		return strings.Join(names, " ")
	}
	before := namesOf(given)
	left := dataflow.DropUnsatisfied(given, definitions(t, parentDefinitions), none)
	if got := namesOf(left); got != "keep sibling keep-target empty" {
		t.Errorf("left are %q", got)
	}
	if namesOf(given) != before || len(left) != 2 || left[1].Name != "b" {
		t.Errorf("the given templates were changed: %q, or some are gone: %d", namesOf(given), len(left))
	}
	if err := dataflow.ValidateSubinstallations(left, definitions(t, parentDefinitions), none); err != nil {
		t.Errorf("what is left: %v", err)
	}
	err := dataflow.ValidateSubinstallations(given, definitions(t, parentDefinitions), none)
	expectError(
		t,
		err,
		failure.Terminal,
		`nothing provides data "backup"`,
		`nothing provides a target "spares[0]"`,
		`the parent has no target list "spares"`,
	)
	if got := namesOf(dataflow.DropUnsatisfied(given, definitions(t, parentDefinitions), all)); got != before {
		t.Errorf("with all imports there: %q", got)
	}
	if empty := left[0].Imports.Targets[1].Targets; empty == nil {
		t.Error("an empty list of targets became no list")
	}
}
