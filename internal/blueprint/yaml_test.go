// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// words are scalars with a different meaning in different versions of YAML, as JSON.
var words = map[string]string{
	"y": `true`, "Y": `true`, "yes": `true`, "Yes": `true`, "YES": `true`, "on": `true`, "On": `true`, "ON": `true`,
	"n": `false`, "N": `false`, "no": `false`, "No": `false`, "NO": `false`, "off": `false`, "Off": `false`, "OFF": `false`,
	"true": `true`, "True": `true`, "TRUE": `true`, "false": `false`, "False": `false`, "FALSE": `false`,
	"yEs": `"yEs"`, "oN": `"oN"`, "tRUE": `"tRUE"`, "ye": `"ye"`, "t": `"t"`, "f": `"f"`,
	`"y"`: `"y"`, `'no'`: `"no"`, `"on"`: `"on"`, "!!str off": `"off"`,
	"null": `null`, "Null": `null`, "NULL": `null`, "~": `null`, "none": `"none"`, "nil": `"nil"`,
	"0777": `511`, "0o17": `15`, "0b11": `3`, "0x1F": `31`, "1_000": `1000`, "08": `8`, "+1": `1`, "1e3": `1000`, ".5": `0.5`, "1.": `1`,
	"12:30:45": `"12:30:45"`, "190:20": `"190:20"`, "2001-12-14": `"2001-12-14"`, "1.2.3": `"1.2.3"`, "=": `"="`, "<<": `"<<"`,
}

// Text in blueprints and in the results of templates has the same meaning as in a manifest.
func TestWordsMeanWhatTheyMeanInManifests(t *testing.T) {
	e := NewEngine()
	for word, want := range words {
		t.Run(word, func(t *testing.T) {
			manifest, err := yaml.YAMLToJSON([]byte("a: " + word))
			if got := configText(string(manifest)); err != nil || got != want {
				t.Errorf("a manifest: %s, %v, want %s", got, err, want)
			}
			b, err := Parse(files("imports: [{name: x, schema: {a: " + word + "}}]"))
			if got := configText(string(b.Imports[0].Schema.Raw)); err != nil || got != want {
				t.Errorf("a blueprint: %s, %v, want %s", got, err, want)
			}
			for name, text := range map[string]string{
				"GoTemplate":         `deployExecutions: [{name: d, type: GoTemplate, file: d.yaml}]`,
				"Spiff in a file":    `deployExecutions: [{name: d, type: Spiff, file: d.yaml}]`,
				"Spiff in the field": fmt.Sprintf(`deployExecutions: [{name: d, type: Spiff, template: {deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C, a: %s}}]}}]`, word),
			} {
				out, err := e.Render(
					inputOf(t, e, files(text, "d.yaml", "deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C, a: "+word+"}}]")),
				)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				} else if got := configText(string(out.DeployItems[0].Configuration.Raw)); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
		})
	}
}

// configText is the value of a in an object with only a version and a kind besides it, with < and > unescaped.
func configText(object string) string {
	text := strings.TrimSuffix(strings.TrimPrefix(object, `{"a":`), "}")
	text = strings.TrimSuffix(text, `,"apiVersion":"v1","kind":"C"`)
	return strings.ReplaceAll(text, `\u003c`, "<")
}

// Keys in a template's output stay as written; a manifest and a blueprint would turn the second one into true.
func TestKeysOfTemplatesStayAsTheyAre(t *testing.T) {
	e := NewEngine()
	for _, engine := range []string{"GoTemplate", "Spiff"} {
		out, err := e.Render(
			inputOf(
				t,
				e,
				files(
					"deployExecutions: [{name: d, type: "+engine+", file: d.yaml}]",
					"d.yaml",
					"deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C, x: 1, y: 2}}]",
				),
			),
		)
		if err != nil || string(out.DeployItems[0].Configuration.Raw) != `{"apiVersion":"v1","kind":"C","x":1,"y":2}` {
			t.Errorf("%s: %v, %v", engine, out, err)
		}
	}
}

func TestParseSaysWhichFieldHasTheWrongType(t *testing.T) {
	for text, want := range map[string]string{
		"imports: [{name: y, schema: {}}]":                  "imports.name: is a boolean, must be a string; y, n, yes, no, on and off are booleans in YAML: put them in quotes",
		"imports: [{name: [], schema: {}}]":                 "imports.name: is of type array, must be of type string",
		"imports: {}":                                       "imports: is of type object, must be of type array",
		"localTypes: []":                                    "localTypes: is of type array, must be of type object",
		"exports: [5]":                                      "exports: is of type number, must be of type object",
		"imports: [{name: a, required: 'x'}]":               "imports.required: is of type string, must be of type bool",
		"subinstallations: [{name: a, imports: {data: 5}}]": "subinstallations.imports.data: is of type number, must be of type array",
	} {
		if _, err := Parse(files(text)); err == nil || err.Error() != "blueprint.yaml: "+want {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
