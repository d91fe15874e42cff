// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

func files(blueprint string, more ...string) Files {
	f := Files{lsv1alpha1.BlueprintFileName: []byte(blueprint)}
	for i := 0; i < len(more); i += 2 {
		f[more[i]] = []byte(more[i+1])
	}
	return f
}

const everything = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
annotations: {a: b}
jsonSchemaVersion: https://json-schema.org/draft/2020-12/schema
localTypes: {port: {type: integer}}
imports:
- name: size
  schema: {type: integer}
  required: false
  default: {value: 3}
  imports:
  - {name: zone, schema: {type: string}}
- {name: cluster, targetType: kubernetes-cluster}
- {name: clusters, type: targetList, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: byName, type: targetMap, targetType: kubernetes-cluster}
importExecutions: [{name: check, type: Spiff, template: {bindings: {}}}]
exports:
- {name: url, schema: {type: string}}
- {name: new, type: target, targetType: kubernetes-cluster}
subinstallations:
- file: /subs/db.yaml
- {name: cache, blueprint: {ref: cd://resources/cache}}
subinstallationExecutions: [{name: subs, type: GoTemplate, template: "subinstallations: []"}]
deployExecutions: [{type: GoTemplate, file: deploy.yaml, allowMissingKeys: true}]
exportExecutions: [{name: exports, type: GoTemplate, template: "exports: {}"}]
`

func TestParseReadsEveryField(t *testing.T) {
	b, err := Parse(
		files(
			everything,
			"subs/db.yaml",
			"kind: InstallationTemplate\nname: db\nblueprint: {ref: cd://resources/db}",
			"deploy.yaml",
			"{{ .imports }}",
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Imports) != 4 || b.Imports[0].ConditionalImports[0].Name != "zone" || string(b.Imports[0].Default.Value.Raw) != "3" {
		t.Errorf("imports = %+v", b.Imports)
	}
	if b.Subinstallations[0].Name != "db" || b.Subinstallations[1].Blueprint.Ref != "cd://resources/cache" {
		t.Errorf("subinstallations = %+v", b.Subinstallations)
	}
	if want := []string{"deployExecutions[0].name: is missing: the state of a template is kept under its name"}; !slices.Equal(
		b.Warnings,
		want,
	) {
		t.Errorf("warnings = %q, want %q", b.Warnings, want)
	}
}

func TestParseWarnsAboutFieldsWithoutEffect(t *testing.T) {
	b, err := Parse(files("kind: Blueprint\njsonSchema: x\ntitle: x\nimports: [{name: a, schema: {}, title: 1}]\nsubinstallations: [{file: s.yaml}]",
		"s.yaml", "name: s\nblueprint: {ref: x}\nmetadata: {}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`unknown field "jsonSchema"`, `unknown field "title"`, `"imports[0].title"`, `s.yaml: unknown field "metadata"`, `imports[0]: nothing in the blueprint uses the import "a"`} {
		if !slices.ContainsFunc(b.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning about %s in %q", want, b.Warnings)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ blueprint, want string }{
		"a misspelt field":                {"deployExecution: []", `unknown field "deployExecution": correct its name or remove it`},
		"broken YAML":                     {"imports: [", "not valid YAML"},
		"a list":                          {"[]", "unexpected content"},
		"a wrong type":                    {"imports: 5", "imports: is of type number"},
		"another kind":                    {"kind: Installation", "kind: is"},
		"an import without name":          {"imports: [{schema: {}}]", "imports[0].name: is required"},
		"an import of no type":            {"imports: [{name: a}]", "imports[0]: needs a type"},
		"an import of both types":         {"imports: [{name: a, schema: {}, targetType: x}]", "imports[0]: needs a type"},
		"an unknown type":                 {"imports: [{name: a, type: datum, schema: {}}]", `imports[0].type: is "datum"`},
		"a target with schema":            {"imports: [{name: a, type: target, targetType: x, schema: {}}]", "imports[0].schema: is for data"},
		"data with a target type":         {"imports: [{name: a, type: data, targetType: x, schema: {}}]", "imports[0].targetType: is for targets"},
		"a default for a target":          {"imports: [{name: a, targetType: x, required: false, default: {value: 1}}]", "imports[0].default: only data"},
		"two imports of one name":         {"imports: [{name: a, schema: {}}, {name: a, schema: {}}]", `imports[1].name: "a" is already used by imports[0]`},
		"a conditional import's name":     {"imports: [{name: a, schema: {}, required: false, imports: [{name: a, schema: {}}]}]", `imports[0].imports[0].name: "a" is already used by imports[0]`},
		"conditional on a required one":   {"imports: [{name: a, schema: {}, imports: [{name: b, schema: {}}]}]", "imports[0].imports: only an import"},
		"an export list":                  {"exports: [{name: a, type: targetList, targetType: x}]", "exports[0].type"},
		"two exports of one name":         {"exports: [{name: a, schema: {}}, {name: a, schema: {}}]", "exports[1].name"},
		"an executor of no type":          {"deployExecutions: [{name: a, file: f}]", `deployExecutions[0].type: is ""`},
		"an executor with file and text":  {"exportExecutions: [{name: a, type: Spiff, file: f, template: x}]", "exportExecutions[0]: needs exactly one"},
		"an executor with neither":        {"importExecutions: [{name: a, type: Spiff}]", "importExecutions[0]: needs exactly one"},
		"an empty subinstallation":        {"subinstallations: [{}]", "subinstallations[0]"},
		"a file that is not there":        {"subinstallations: [{file: x.yaml}]", `subinstallations[0].file: there is no file "x.yaml"`},
		"two subinstallations of a name":  {"subinstallations: [{name: a}, {name: a}]", "subinstallations[1].name"},
		"a subinstallation without name":  {"subinstallations: [{blueprint: {ref: x}}]", "subinstallations[0].name: is required"},
		"all that is wrong, not just one": {"imports: [{schema: {}}, {name: b}]", "imports[0].name: is required; imports[1]: needs a type"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(files(c.blueprint))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error = %v, want one that says %q", err, c.want)
			}
			if failure.KindOf(err) != failure.Terminal || failure.DetailsOf(err).Reason != "InvalidBlueprint" {
				t.Errorf("kind %v, details %+v: a retry cannot help", failure.KindOf(err), failure.DetailsOf(err))
			}
		})
	}
	if _, err := Parse(Files{"readme.md": nil}); err == nil || !strings.Contains(err.Error(), "blueprint.yaml") {
		t.Errorf("a directory without blueprint gave %v", err)
	}
}

// These have always worked, so they still do.
func TestParseOnlyWarnsAboutWhatIsLoose(t *testing.T) {
	for text, want := range map[string]string{
		"imports: [{name: a, type: data}]":                                                     "imports[0].schema: is missing",
		"imports: [{name: a, type: target}]":                                                   "imports[0].targetType: is missing",
		"imports: [{name: a, schema: {}, default: {value: 1}}]":                                "imports[0].default: a required import never",
		"deployExecutions: [{name: a, type: Spiff, file: f}, {name: a, type: Spiff, file: f}]": "deployExecutions[1].name: is the same",
		"deployExecutions: [{type: Spiff, file: f}]":                                           "deployExecutions[0].name: is missing",
	} {
		b, err := Parse(files(text, "f", ""))
		if err != nil || len(b.Warnings) != 1 || !strings.HasPrefix(b.Warnings[0], want) {
			t.Errorf("%s: blueprint %+v, error %v, want the one warning %q", text, b, err, want)
		}
	}
}

// For any bytes: no panic, and either a blueprint without errors or a terminal error.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add("imports: [{name: a, schema: {}}]")
	f.Add("a: &a [*a]")
	f.Add("subinstallations: [{file: blueprint.yaml}]")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Parse(files(text))
		if err != nil {
			if failure.KindOf(err) != failure.Terminal {
				t.Errorf("%v is not terminal", err)
			}
			return
		}
		if findings := Validate(b.Blueprint); len(findings.Errors) > 0 {
			t.Errorf("Parse accepted %q", findings.Errors)
		}
	})
}
