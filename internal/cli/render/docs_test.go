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
)

var (
	codeBlock = regexp.MustCompile("(?ms)^```(yaml|console)\n(.*?)^```$")
	command   = regexp.MustCompile(`^\$ espalier ([^|\n]*?)(?: 2>&1 \| grep -E "(.*)")?\n`)
)

// TestDocumentation does what docs/offline.md shows: it writes the files and runs the commands, and compares what they
// print, standard output first.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/offline.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	commands := 0
	for _, block := range codeBlock.FindAllStringSubmatch(string(page), -1) {
		if block[1] == "yaml" {
			writeShown(t, block[2])
			continue
		}
		shown := command.FindStringSubmatch(block[2])
		if shown == nil {
			t.Fatalf("this is no command: %s", block[2])
		}
		commands++
		want := strings.TrimPrefix(block[2], shown[0])
		if difference := cmp.Diff(want, printed(t, shown[1], shown[2])); difference != "" {
			t.Errorf("espalier %s (- shown, + printed):\n%s", shown[1], difference)
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
	root := cli.NewRoot(streams, New(streams), blueprint.New(streams))
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
	return text.String()
}
