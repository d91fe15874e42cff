// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
)

type ended struct {
	code           int
	stdout, stderr string
}

// execute runs the command as the binary would, in a folder with the given files.
func execute(t *testing.T, files map[string]string, stdin string, args ...string) ended {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	streams, in, out, errOut := genericiooptions.NewTestIOStreams()
	in.WriteString(stdin)
	root := cli.NewRoot(streams, New(cli.NewEnvironment(streams), nil))
	root.SetArgs(append([]string{"render"}, args...))
	code := cli.Run(t.Context(), root)
	return ended{code, out.String(), errOut.String()}
}

const header = "apiVersion: landscaper.gardener.cloud/v1alpha1\n"

const greeter = header + `kind: Installation
metadata: {name: hello}
spec:
  imports: {data: [{name: word, dataRef: word}, {name: password, secretRef: {name: login, key: password}}]}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          imports: [{name: word, schema: {type: string}}, {name: password, schema: {type: string}}]
          deployExecutions:
          - {name: d, type: GoTemplate, template: "deployItems: [{name: it, type: t, config: {apiVersion: example.com/v1, kind: Configuration, text: '{{ .imports.word }}', login: 'me:{{ .imports.password }}', encoded: {{ .imports.password | b64enc }}}}]"}
`

const (
	word  = header + "kind: DataObject\nmetadata: {name: word}\ndata: bonjour\n"
	login = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: swordfish}\n"
)

const parent = header + `kind: Installation
metadata: {name: parent}
spec:
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          subinstallations:
          - name: source
            exports: {data: [{name: out, dataRef: value}]}
            blueprint: {filesystem: {blueprint.yaml: "exports: [{name: out, schema: {type: integer}}]\nexportExecutions: [{name: e, type: Spiff, template: {exports: {out: (( values.deployitems.it.number ))}}}]\ndeployExecutions: [{name: d, type: Spiff, template: {deployItems: [{name: it, type: t, config: {apiVersion: example.com/v1, kind: Configuration}}]}}]"}}
          - name: sink
            imports: {data: [{name: in, dataRef: value}]}
            blueprint: {filesystem: {blueprint.yaml: "imports: [{name: in, schema: {type: integer}}]\ndeployExecutions: [{name: d, type: Spiff, template: {deployItems: [{name: sunk, type: t, config: {apiVersion: example.com/v1, kind: Configuration, in: (( imports.in ))}}]}}]"}}
`

func TestRender(t *testing.T) {
	all := map[string]string{"inst.yaml": greeter, "data/word.yaml": word, "data/login.yml": login, "data/notes.txt": "{{"}
	tests := map[string]struct {
		files  map[string]string
		stdin  string
		args   []string
		code   int
		stdout []string
		stderr []string
	}{
		"files and directories": {
			all,
			"",
			[]string{"-f", "inst.yaml", "-f", "data"},
			0,
			[]string{"text: bonjour", "kind: Execution", "kind: DataObject"},
			nil,
		},
		"standard input": {nil, greeter + "---\n" + word + "---\n" + login, []string{"-f", "-"}, 0, []string{"text: bonjour"}, nil},
		"by name":        {all, "", []string{"-f", "inst.yaml", "-f", "data", "hello"}, 0, []string{"text: bonjour"}, nil},
		"by namespace and name": {
			all,
			"",
			[]string{"-f", "inst.yaml", "-f", "data", "-n", "garden", "garden/hello"},
			0,
			[]string{"namespace: garden"},
			nil,
		},
		"secrets are masked": {
			all,
			"",
			[]string{"-f", "inst.yaml", "-f", "data"},
			0,
			[]string{"login: me:<masked>", "encoded: <masked>"},
			nil,
		},
		"secrets are shown": {
			all,
			"",
			[]string{"-f", "inst.yaml", "-f", "data", "--show-secrets"},
			0,
			[]string{"login: me:swordfish", "encoded: c3dvcmRmaXNo"},
			nil,
		},
		"unknown kinds": {
			nil,
			parent + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n",
			[]string{"-f", "-"},
			0,
			[]string{"kind: Installation"},
			[]string{"warning: standard input, document 2: Deployment of apps/v1 is not used"},
		},
		"nested ones wait": {
			nil,
			parent,
			[]string{"-f", "-", "-r"},
			2,
			[]string{"name: it"},
			[]string{"installation parent/sink: waiting for export value of parent/source", "--exports"},
		},
		"exports are given": {
			map[string]string{"exports.yaml": "parent/source: {deployItems: {it: {number: 7}}}\nparent/none: {exports: {a: 1}}"},
			parent,
			[]string{"-f", "-", "-r", "--exports", "exports.yaml"},
			0,
			[]string{"name: sunk", "in: 7"},
			[]string{"warning: exports of parent/none have no effect"},
		},
		"not recursive": {nil, parent, []string{"-f", "-"}, 0, []string{"subinstallation-name: sink"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := execute(t, test.files, test.stdin, test.args...)
			if got.code != test.code {
				t.Errorf("exit code %d: %s", got.code, got.stderr)
			}
			for _, want := range test.stdout {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("stdout lacks %q: %s", want, got.stdout)
				}
			}
			for _, want := range test.stderr {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr lacks %q: %s", want, got.stderr)
				}
			}
			if len(test.stderr) == 0 && got.stderr != "" {
				t.Errorf("stderr: %s", got.stderr)
			}
			if name != "secrets are shown" && strings.Contains(got.stdout+got.stderr, "swordfish") {
				t.Errorf("a secret is shown: %s%s", got.stdout, got.stderr)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"no files":          {"", nil, "name files with -f"},
		"a missing file":    {"", []string{"-f", "nowhere.yaml"}, "nowhere.yaml"},
		"an empty folder":   {"", []string{"-f", "."}, "has no files that end with .yaml"},
		"an unknown format": {greeter, []string{"-f", "-", "-o", "xml"}, `unknown output format "xml"`},
		"a bad template":    {greeter, []string{"-f", "-", "-o", "jsonpath={.items[}"}, "--output jsonpath: line 1, column 1: unterminated array"},
		"no installation":   {word, []string{"-f", "-"}, "there is no Installation among the manifests"},
		"another name": {
			parent,
			[]string{"-f", "-", "other"},
			`there is no Installation "other" among the manifests; there is default/parent`,
		},
		"missing imports": {
			greeter,
			[]string{"-f", "-"},
			`standard input, document 1: installation hello: import "word": DataObject default/word does not exist`,
		},
		"broken YAML": {
			parent + "---\nkind: Secret\nstringData: {a: swordfish\nb: c\n",
			[]string{"-f", "-"},
			"standard input, document 2: line 18: it is not valid YAML",
		},
		"broken JSON": {
			`{"kind": "Secret", "stringData": {"a": "swordfish}`,
			[]string{"-f", "-"},
			"standard input, document 1: after line 1: it is not valid JSON",
		},
		"a secret as number": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: 815}\n",
			[]string{"-f", "-"},
			"standard input, document 1: Secret: stringData: is of type number",
		},
		"bad base64": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: swordfish!}\n",
			[]string{"-f", "-"},
			"write plain text under stringData",
		},
		"a wrong type": {
			header + "kind: Installation\nmetadata: {name: a}\nspec: {imports: {data: swordfish}}\n",
			[]string{"-f", "-"},
			"Installation: spec.imports.data: is of type string",
		},
		"no name": {header + "kind: Target\n", []string{"-f", "-"}, "Target: metadata.name: is required"},
		"no kind": {"apiVersion: v1\n", []string{"-f", "-"}, "document 1: kind: is required"},
		"twice": {
			word + "---\n" + word,
			[]string{"-f", "-"},
			"default/word is given twice, the first time in standard input, document 1",
		},
		"a scalar":         {"swordfish", []string{"-f", "-"}, "it must be an object"},
		"wrong blueprint":  {parent, []string{"-f", "-", "--blueprint", "x"}, "write RESOURCE=DIR"},
		"a missing folder": {parent, []string{"-f", "-", "--components", "nowhere"}, "--components nowhere"},
		"missing exports":  {parent, []string{"-f", "-", "--exports", "nowhere"}, "nowhere"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := execute(t, nil, test.stdin, test.args...)
			if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, test.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
			}
			if strings.Contains(got.stderr, "swordfish") || strings.Contains(got.stderr, "815") {
				t.Errorf("the error contains a value: %s", got.stderr)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	got := execute(t, nil, greeter+"---\n"+word+"---\n"+login, "-f", "-", "-o", "json")
	var list struct {
		Kind  string
		Items []struct{ Kind string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || got.code != 0 {
		t.Fatalf("%v, exit code %d: %s", err, got.code, got.stdout)
	}
	var kinds []string
	for _, item := range list.Items {
		kinds = append(kinds, item.Kind)
	}
	for format, want := range map[string]string{
		"name": "dataobject.landscaper.gardener.cloud/",
		"go-template={{range .items}}{{.kind}} {{end}}":        "DataObject DataObject Execution ",
		"jsonpath={.items[*].spec.deployItems[*].config.text}": "bonjour",
	} {
		got := execute(t, nil, greeter+"---\n"+word+"---\n"+login, "-f", "-", "-o", format)
		if got.code != 0 || !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "swordfish") {
			t.Errorf("-o %s: %+v", format, got)
		}
	}
	if list.Kind != "List" || strings.Join(kinds, " ") != "DataObject DataObject Execution" {
		t.Errorf("a %s of %v", list.Kind, kinds)
	}
}
