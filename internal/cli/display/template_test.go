// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli/display"
)

// chosen is what the flag says if it has a value, for a command that prints data or for one that does not.
func chosen(t *testing.T, value string, offered ...display.Format) (*cobra.Command, display.Format, error) {
	t.Helper()
	cmd := &cobra.Command{Use: "show"}
	flag := display.AddFormatFlag(cmd, offered...)
	if err := cmd.ParseFlags([]string{"-o", value}); err != nil {
		t.Fatal(err)
	}
	format, err := flag.Get()
	if err == nil {
		if again, twice := flag.Get(); again != format || twice != nil {
			t.Errorf("the second time, it is %q, %v", again, twice)
		}
	}
	return cmd, format, err
}

var withData = []display.Format{display.FormatTable, display.FormatJSON, display.FormatYAML, display.FormatName}

// document has everything that templates meet.
func document() any {
	return map[string]any{
		"kind": "List", "count": 1234567, "empty": []any{},
		"items": []any{
			map[string]any{"name": "shop", "ready": true, "labels": map[string]any{"team/x": "a<b"}, "secret": "c3dvcmQ="},
			map[string]any{"name": "blog\x1b[2J\u202e", "ready": false},
		},
	}
}

func TestTemplates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "template")
	if err := os.WriteFile(file, []byte("{.items[0].name}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"jsonpath={.kind}":                                     "List",
		"jsonpath={.count}":                                    "1234567",
		"jsonpath={.missing}":                                  "",
		"jsonpath={.items[?(@.ready==true)].name}":             "shop",
		`jsonpath={range .items[*]}{.name}{"\n"}{end}.`:        "shop\nblog\x1b[2J\u202e\n.",
		`jsonpath={.items[0].labels.team/x}`:                   "a<b",
		`jsonpath={.items[0]['name','ready']}`:                 "shop true",
		"jsonpath={.items[0].labels}":                          `{"team/x":"a\u003cb"}`,
		"jsonpath=no action":                                   "no action",
		"jsonpath=.kind":                                       "List",
		"jsonpath=.items[?(@.ready==true)].name":               "shop",
		"jsonpath=.kind{.kind}":                                ".kindList",
		`jsonpath={"{}"}`:                                      "{}",
		"jsonpath-file=" + file:                                "shop\n",
		"go-template={{.count}} {{.missing}}":                  "1234567 <no value>",
		"go-template={{range .items}}{{.name}};{{end}}":        "shop;blog\x1b[2J\u202e;",
		"go-template={{(index .items 0).secret|base64decode}}": "sword",
		`go-template={{exists . "items" 0 "name"}}{{exists . "items" 2}}{{exists . "x" "y"}}{{exists .kind "x"}}`: "truefalsefalsefalse",
		"go-template-file=" + file: "{.items[0].name}\n",
	} {
		_, format, err := chosen(t, value, withData...)
		if err != nil || !format.IsData() {
			t.Errorf("%s: %q, %v", value, format, err)
			continue
		}
		out, p := printer(0, nil)
		if err := p.Data(document(), format); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", value, out, err)
		}
	}
}

// A mistake is told before anything is done, with the flag and the place.
func TestTemplatesThatAreWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "template")
	if err := os.WriteFile(file, []byte("first\n  {{.a}} {{ .b"), 0o600); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"jsonpath":                           "--output jsonpath needs a template: --output jsonpath='{.metadata.name}'",
		"go-template=":                       "--output go-template needs a template",
		"jsonpath-file":                      "--output jsonpath-file needs a file: --output jsonpath-file=template.txt",
		"jsonpath-file=/nowhere/at/all":      "--output jsonpath-file: open /nowhere/at/all: no such file or directory",
		"jsonpath={.a}{.b":                   "--output jsonpath: line 1, column 5: unclosed action",
		"jsonpath={.a}\nü {.b[}":             "--output jsonpath: line 2, column 3: unterminated array",
		"jsonpath={.a[x]}":                   "--output jsonpath: line 1, column 1: invalid array index x",
		"jsonpath=.a[x]":                     "--output jsonpath: line 1, column 1: invalid array index x",
		"jsonpath={.a} {items}":              `--output jsonpath: line 1, column 6: unknown word "items": a field starts with a dot, as in {.items}`,
		"jsonpath={range .a[*]}{end}{end}":   "--output jsonpath: line 1, column 19: {end} without {range}",
		`jsonpath={.a[?(@.b=="c]}`:           "--output jsonpath: line 1, column 1: unterminated filter",
		"go-template={{.a}} {{.b":            "--output go-template: line 1, column 8: unclosed action",
		"go-template={{.a}} {{nope}} {{.b}}": `--output go-template: line 1, column 8: function "nope" not defined`,
		"go-template={{range .a}}{{.}}":      "--output go-template: line 1, column 18: unexpected EOF",
		"go-template-file=" + file:           "line 2, column 10: unclosed action",
		"xml":                                `unknown output format "xml": --output takes table, json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE, go-template=TEMPLATE, go-template-file=FILE`,
		"table={.a}":                         `unknown output format "table={.a}"`,
	} {
		if _, _, err := chosen(t, value, withData...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
	if _, _, err := chosen(t, "jsonpath={.a}", display.FormatText, display.FormatSVG); err == nil || !strings.HasSuffix(err.Error(), "--output takes text, svg") {
		t.Errorf("a command without data: %v", err)
	}
	for value, want := range map[string]string{
		"jsonpath={.items[7].name}":            "--output jsonpath: array index out of bounds: index 7, length 2",
		"go-template=\n {{index .items 7}}":    "--output go-template: line 2, column 4: ",
		"go-template={{\"%\" | base64decode}}": "base64decode: illegal base64",
	} {
		_, format, err := chosen(t, value, withData...)
		if err != nil {
			t.Fatal(err)
		}
		out, p := printer(0, nil)
		if err := p.Data(document(), format); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s prints %q: %v", value, out, err)
		}
	}
}

// What others have written does not steer a terminal. Programs get all of it.
func TestTemplatesInATerminal(t *testing.T) {
	_, format, err := chosen(t, "jsonpath={.items[1].name}\n{.kind}\t", withData...)
	if err != nil {
		t.Fatal(err)
	}
	out, p := printer(80, nil)
	if err := p.Data(document(), format); err != nil || out.String() != "blog\nList\t" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestCompletionOfFormats(t *testing.T) {
	cmd, _, _ := chosen(t, "", append(withData, display.GraphFormats...)...)
	complete, _ := cmd.GetFlagCompletionFunc("output")
	for begun, want := range map[string][]string{
		"":        {"table", "json", "yaml", "name", "svg", "mermaid", "dot", "jsonpath=", "jsonpath-file=", "go-template=", "go-template-file="},
		"j":       {"json", "jsonpath=", "jsonpath-file="},
		"jsonp":   {"jsonpath=", "jsonpath-file="},
		"nothing": nil,
	} {
		got, directive := complete(cmd, nil, begun)
		if !slices.Equal(got, want) || (directive&cobra.ShellCompDirectiveNoSpace != 0) != (begun == "jsonp") ||
			directive&cobra.ShellCompDirectiveNoFileComp == 0 {
			t.Errorf("%q: %q, %v", begun, got, directive)
		}
	}
}

func TestManifests(t *testing.T) {
	manifests := []map[string]any{
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a\nb"}},
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}},
	}
	for value, want := range map[string]string{
		"name": "secret/a b\ndeployment.apps/web\n",
		"jsonpath={.items[*].kind} {.apiVersion}": "Secret Deployment v1",
		"yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: |-\n    a\n    b\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n",
	} {
		_, format, err := chosen(t, value, withData...)
		if err != nil {
			t.Fatal(err)
		}
		out, p := printer(0, nil)
		if err := p.Manifests(manifests, format); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", value, out, err)
		}
	}
	out, p := printer(0, nil)
	if err := p.Manifests(nil, display.FormatJSON); err != nil || !strings.Contains(out.String(), `"items": []`) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestOutline(t *testing.T) {
	var all display.Outline
	all.Add("a", "b", "c")
	all.Add("a", "b", "d\x1b[2J\ne")
	all.Add("a", "f")
	all.Add("g")
	out, p := printer(0, nil)
	if err := p.Outline(all); err != nil {
		t.Fatal(err)
	}
	if want := "a\n├─ b\n│  ├─ c\n│  └─ d[2J e\n└─ f\ng\n"; out.String() != want {
		t.Errorf("it is\n%s", out)
	}
}
