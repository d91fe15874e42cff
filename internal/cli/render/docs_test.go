// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/blueprint"
	"espalier.dev/internal/testkit/registry"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^```(yaml|console)\n(.*?)^```$")
	command   = regexp.MustCompile(`(?m)^\$ espalier ([^|\n]*?)(?: 2>&1 \| grep -E "(.*)")?\n((?:[^$].*\n)*)`)
	digest    = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
)

// TestDocumentation does what docs/offline.md shows: it writes the files and runs the commands, and compares what they
// print, standard output first.
func TestDocumentation(t *testing.T) { follow(t, "offline.md", strings.NewReplacer()) }

// TestHowToBlueprints does the same for docs/how-to/blueprints.md, with a registry of its own.
func TestHowToBlueprints(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	follow(t, "how-to/blueprints.md", strings.NewReplacer("http://localhost:5000", server.URL))
}

// follow does what a page shows. Texts are replaced in it before.
func follow(t *testing.T, name string, replacer *strings.Replacer) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	commands := 0
	for _, block := range codeBlock.FindAllStringSubmatch(replacer.Replace(string(page)), -1) {
		if block[1] == "yaml" {
			writeShown(t, block[2])
			continue
		}
		for _, shown := range command.FindAllStringSubmatch(block[2], -1) {
			commands++
			if difference := cmp.Diff(shown[3], printed(t, shown[1], shown[2])); difference != "" {
				t.Errorf("espalier %s (- shown, + printed):\n%s", shown[1], difference)
			}
		}
	}
	if commands < 3 {
		t.Errorf("the page shows %d commands", commands)
	}
}

func writeShown(t *testing.T, text string) {
	t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	name, found := strings.CutPrefix(first, "# file: ")
	if !found {
		t.Fatalf("a file has no name: %s", first)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// printed runs a command and returns the lines that match a pattern, and the exit code unless it is 0.
func printed(t *testing.T, arguments, pattern string) string {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	root := cli.NewRoot(streams, New(cli.NewEnvironment(streams), nil), blueprint.New(cli.NewEnvironment(streams)))
	root.SetArgs(strings.Fields(arguments))
	code := cli.Run(t.Context(), root)
	wanted := regexp.MustCompile(pattern)
	var text bytes.Buffer
	for line := range strings.Lines(out.String() + errOut.String()) {
		if wanted.MatchString(strings.TrimSuffix(line, "\n")) {
			text.WriteString(line)
		}
	}
	if code != 0 {
		fmt.Fprintf(&text, "(exit code %d)\n", code)
	}
	return digest.ReplaceAllString(text.String(), "sha256:DIGEST")
}
