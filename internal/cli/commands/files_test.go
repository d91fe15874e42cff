// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/blueprint"
	"espalier.dev/internal/cli/diff"
	"espalier.dev/internal/cli/render"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// empty is an Installation that deploys nothing, so all commands accept it.
const empty = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata:
  name: NAME
spec:
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: "imports: []"
`

// Commands with -f take the same files, and report the same mistakes in the same words.
func TestFilesAreReadAlike(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	here := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(here, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("one.yaml", strings.ReplaceAll(empty, "NAME", "one"))
	other := write("other.yaml", strings.ReplaceAll(empty, "NAME", "other"))
	write("folder/one.yml", strings.ReplaceAll(empty, "NAME", "one"))
	write("folder/notes.txt", "kind: [")
	write("folder/deeper/broken.yaml", "kind: [")
	list := write("list.json", `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "landscaper.gardener.cloud/v1alpha1",
		"kind": "Installation", "metadata": {"name": "one"}, "spec": {"blueprint": {"inline": {"filesystem": {"blueprint.yaml": "imports: []"}}}}}]}`)
	broken := write("broken.yaml", "kind: [")
	nameless := write("nameless.yaml", strings.ReplaceAll(empty, "  name: NAME\n", "  labels: {}\n"))
	for name, test := range map[string]struct {
		files []string
		stdin string
		// mistake is empty if the files are right.
		mistake string
	}{
		"a file":               {[]string{one}, "", ""},
		"two files":            {[]string{one, other}, "", ""},
		"a folder":             {[]string{filepath.Join(here, "folder")}, "", ""},
		"a list":               {[]string{list}, "", ""},
		"standard input":       {[]string{"-"}, strings.ReplaceAll(empty, "NAME", "one"), ""},
		"and a file":           {[]string{"-", other}, strings.ReplaceAll(empty, "NAME", "one"), ""},
		"missing":              {[]string{filepath.Join(here, "missing.yaml")}, "", "read manifests: stat " + here + "/missing.yaml: no such file or directory"},
		"no YAML":              {[]string{one, broken}, "", broken + ", document 1: line 1: it is not valid YAML"},
		"no YAML from stdin":   {[]string{"-"}, "kind: [", "standard input, document 1: line 1: it is not valid YAML"},
		"without a name":       {[]string{nameless}, "", nameless + ", document 1: Installation: metadata.name: is required"},
		"twice in a file":      {[]string{"-"}, strings.ReplaceAll(empty+"---\n"+empty, "NAME", "one"), "/one is given twice, the first time in standard input, document 1"},
		"stdin twice":          {[]string{"-", "-"}, strings.ReplaceAll(empty, "NAME", "one"), "read manifests: standard input is named twice, and can be read only once"},
		"an unset variable":    {[]string{""}, "", "read manifests: the name of a file is empty"},
		"a folder of nothing":  {[]string{t.TempDir()}, "", "end with .yaml, .yml or .json"},
		"nothing of relevance": {[]string{"-"}, "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n", "there is no "},
	} {
		t.Run(name, func(t *testing.T) {
			var flags []string
			for _, file := range test.files {
				flags = append(flags, "-f", file)
			}
			for command, of := range map[string]struct {
				start func(cli.Environment) *cobra.Command
				args  []string
				// failed is the exit code for mistakes.
				failed int
			}{
				"render":             {func(env cli.Environment) *cobra.Command { return render.New(env, nil) }, nil, cli.ExitError},
				"diff":               {diff.New, nil, diff.ExitFailed},
				"blueprint validate": {blueprint.New, []string{"validate"}, cli.ExitError},
			} {
				call := clitest.Call{Command: of.start, Args: append(of.args, flags...), Stdin: test.stdin}
				var got clitest.Result
				if command == "diff" {
					got = clitest.Run(t, server, namespace, call)
				} else {
					got = clitest.RunAlone(t, call)
				}
				if test.mistake == "" && got.Code != cli.ExitOK || test.mistake != "" && got.Code != of.failed ||
					!strings.Contains(got.Stdout+got.Stderr, test.mistake) {
					t.Errorf("%s: %+v", command, got)
				}
			}
		})
	}
}
