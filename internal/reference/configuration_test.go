// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every environment variable that the product reads is listed, and every listed one is read.
func TestAllVariablesAreListed(t *testing.T) {
	p, err := readProgram(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.checkVariables(); err != nil {
		t.Error(err)
	}
	read, _ := p.variablesRead()
	for _, name := range []string{"NO_COLOR", "WT_SESSION", "ESPALIER_GITEA", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "GOMEMLIMIT", "LC_ALL"} {
		if read[name] == "" {
			t.Errorf("the code that reads %s is not found", name)
		}
	}
}

func TestVariablesThatNobodyListsAreFound(t *testing.T) {
	for name, test := range map[string]struct{ code, complaint string }{
		"by a literal":   {`var x = os.Getenv("SOMETHING_NEW")`, "internal/fresh/fresh.go reads the environment variable SOMETHING_NEW"},
		"by a constant":  {"const variable = \"SOMETHING\" + \"_NEW\"\nvar x, _ = os.LookupEnv(variable)", "SOMETHING_NEW"},
		"by a parameter": {`func f(getenv func(string) string) string { return getenv("SOMETHING_NEW") }`, "SOMETHING_NEW"},
		"by a method":    {`func f(env cli.Environment) string { return env.Getenv("SOMETHING_NEW") }`, "SOMETHING_NEW"},
		"in a loop":      {`func f() { for _, name := range []string{"SOMETHING_NEW"} { os.Getenv(name) } }`, "SOMETHING_NEW"},
		"by a variable":  {`func f(name string) string { return os.Getenv(name) }`, "fresh.go reads an environment variable whose name is not a constant"},
		"not at all":     {"// Nothing reads anything.\n", "nothing reads the environment variable NO_COLOR"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := readProgram(treeWith(t, test.code))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.checkVariables(); err == nil || !strings.Contains(err.Error(), test.complaint) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestValuesOfTheChartAreListed(t *testing.T) {
	rows, err := valueTable(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{
		"| `image.pullPolicy` | `Always`, `IfNotPresent`, `Never` | `IfNotPresent` | When nodes pull images. |\n",
		"| `controller.replicas` | number | `1` | With more than one,",
		"| `controller.resources` | object | `{\"limits\":{\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}}` |",
		"| `ui.oidc.scopes` | list of string |  |",
		"| `tenancy` | `shared`, `strict` | `shared` |",
	} {
		if !strings.Contains(rows, wanted) {
			t.Errorf("the table lacks %s", wanted)
		}
	}
}

func TestMistakesInValuesAreFound(t *testing.T) {
	for name, test := range map[string]struct{ values, complaint string }{
		"no comment":     {"a:\n  b: 1\n", "a.b of values.yaml has no comment above it"},
		"not in schema":  {"# c is c.\nc: 1\n", "values.schema.json does not have c"},
		"not even YAML":  {"a: [\n", "values.yaml"},
		"too deep below": {"a:\n  # d is d.\n  d: 1\n", "values.schema.json does not have a.d"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			chart := filepath.Join(tree, "charts", "espalier")
			if err := os.MkdirAll(chart, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{
				"values.yaml": test.values, "values.schema.json": `{"properties": {"a": {"properties": {"b": {"type": "integer"}}}}}`,
			} {
				if err := os.WriteFile(filepath.Join(chart, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := valueTable(tree); err == nil || !strings.Contains(err.Error(), test.complaint) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := valueTable(t.TempDir()); err == nil {
		t.Error("a tree without a chart was read")
	}
}
