// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/offline"
)

const (
	sound = "imports: [{name: a, schema: {type: string}}]\ndeployExecutions: [{name: d, type: GoTemplate, template: 'deployItems: [] # {{ .imports.a }}'}]\n"
	odd   = "title: draft\n"
	wrong = `imports: [{name: a, schema: {type: strong}}, {name: a, targetType: x}]
exports: [{name: e, schema: {$ref: "local://nothing"}}]
deployExecutions:
- {name: d, type: GoTemplate, template: "{{ .imports.a "}
- {name: f, type: Spiff, file: nowhere.yaml}
- {name: g, type: Perl, template: x}
subinstallations:
- name: inner
  blueprint: {filesystem: {blueprint.yaml: "exports: [{name: x, type: targetMap}]"}}
`
	installation = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: hello}
spec: {blueprint: {inline: {filesystem: {blueprint.yaml: "imports: [{}]"}}}}
`
)

func execute(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"sound/blueprint.yaml": sound, "odd/blueprint.yaml": odd, "wrong/blueprint.yaml": wrong, "empty/README": "", "inst.yaml": installation,
		"manifests/inst.yaml": installation, "manifests/README": "", "manifests/map.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`,
		"nameless/deploy.yaml": "deployItems: []\n", "maps/map.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	streams, in, out, errOut := genericiooptions.NewTestIOStreams()
	in.WriteString(stdin)
	root := cli.NewRoot(streams, New(cli.NewEnvironment(streams)))
	root.SetArgs(append([]string{"blueprint"}, args...))
	code = cli.Run(t.Context(), root)
	return code, out.String(), errOut.String()
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		stdin  string
		args   []string
		code   int
		stdout []string
		stderr string
	}{
		"sound":       {"", []string{"sound"}, 0, []string{"sound: ok\n"}, ""},
		"the file":    {"", []string{"sound/blueprint.yaml"}, 0, []string{"sound/blueprint.yaml: ok\n"}, ""},
		"odd":         {"", []string{"odd"}, 0, []string{`odd: warning: unknown field "title": it has no effect`}, ""},
		"odd, strict": {"", []string{"odd", "--strict"}, 1, []string{"odd: warning"}, "1 of 1 blueprints cannot be accepted"},
		"empty":       {"", []string{"empty"}, 1, []string{"empty: error: the directory has neither a blueprint.yaml nor manifests"}, "1 of 1"},
		"several":     {"", []string{"sound", "odd", "empty"}, 1, []string{"sound: ok", "odd: warning", "empty: error"}, "1 of 3"},
		"installation": {
			"",
			[]string{"inst.yaml"},
			1,
			[]string{"inst.yaml, document 1: Installation hello: error: imports[0].name: is required"},
			"1 of 1",
		},
		"a folder of manifests": {
			"",
			[]string{"-f", "manifests", "sound"},
			1,
			[]string{"manifests/inst.yaml, document 1: Installation hello: error: imports[0].name: is required", "sound: ok"},
			"1 of 2",
		},
		"only other manifests": {"", []string{"maps"}, 1, nil, "there is no blueprint in what was given"},
		"no blueprint.yaml":    {"", []string{"nameless"}, 1, nil, "nameless has no blueprint.yaml, so its files are read as manifests: nameless/deploy.yaml"},
		"stdin": {
			installation,
			[]string{"-"},
			1,
			[]string{"standard input, document 1: Installation hello: error: imports[0]"},
			"1 of 1",
		},
		"nothing":     {"", []string{"-"}, 1, nil, "there is no blueprint in what was given"},
		"missing":     {"", []string{"nowhere"}, 1, nil, "nowhere"},
		"format":      {"", []string{"sound", "-o", "xml"}, 1, nil, `unknown output format "xml"`},
		"no argument": {"", nil, 1, nil, "there is nothing to validate"},
		"as a flag":   {"", []string{"-f", "sound", "--filename=odd", "empty"}, 1, []string{"sound: ok", "odd: warning", "empty: error"}, "1 of 3"},
		"a template":  {"", []string{"-f", "sound", "-o", "jsonpath={.blueprints[*].source}"}, 0, []string{"sound"}, ""},
		"no template": {"", []string{"-f", "sound", "-o", "go-template={{.a"}, 1, nil, "--output go-template: line 1, column 1: unclosed action"},
		"wrong": {"", []string{"wrong"}, 1, []string{
			`error: imports[1].name: "a" is already used by imports[0]`,
			`error: imports[0].schema: `,
			`error: exports[0].schema: `,
			`error: deployExecutions[0]: GoTemplate "d" (line 1`,
			`error: deployExecutions[1]: there is no file "nowhere.yaml" in the blueprint`,
			`error: deployExecutions[2].type: is "Perl"`,
			`error: subinstallations[0].blueprint.filesystem: exports[0].type: is "targetMap"`,
		}, "1 of 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := execute(t, test.stdin, append([]string{"validate"}, test.args...)...)
			if code != test.code || !strings.Contains(stderr, test.stderr) || (test.stderr == "" && stderr != "") {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			for _, want := range test.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("stdout lacks %q:\n%s", want, stdout)
				}
			}
			if len(test.stdout) == 0 && stdout != "" {
				t.Errorf("stdout: %s", stdout)
			}
		})
	}
}

func TestFormats(t *testing.T) {
	for format, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) },
	} {
		code, stdout, _ := execute(t, "", "validate", "odd", "empty", "-o", format)
		var got report
		if err := decode([]byte(stdout), &got); err != nil || code != 1 {
			t.Fatalf("%s: %v, exit code %d: %s", format, err, code, stdout)
		}
		want := report{Blueprints: []offline.CheckedBlueprint{
			{Source: "odd", Warnings: []string{`unknown field "title": it has no effect`}},
			{Source: "empty", Errors: []string{"the directory has neither a blueprint.yaml nor manifests, which are files that end with .yaml, .yml or .json"}},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}
