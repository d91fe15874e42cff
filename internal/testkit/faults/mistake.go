// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Edit is a replacement in a source file, whose name is relative to the module. The old text occurs exactly once.
type Edit struct{ File, Old, New string }

// BuildMistaken compiles the tests of a package with mistakes that only the compiler sees, and returns the binary. root is the folder of
// the module. Edits of one file are applied one after the other. Without edits it compiles the unchanged files.
func BuildMistaken(t testing.TB, root, testPackage string, edits ...Edit) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "mistaken.test")
	// It is linked without debug information, which takes two thirds of the time.
	arguments := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}
	if len(edits) > 0 {
		arguments = append(arguments, "-overlay", overlay(t, root, dir, edits))
	}
	command := exec.CommandContext(t.Context(), "go", append(arguments, testPackage)...)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("what was edited does not compile: %v\n%s", err, output)
	}
	return binary
}

// overlay makes the compiler read copies of the edited files.
func overlay(t testing.TB, root, dir string, edits []Edit) string {
	t.Helper()
	replace := map[string]string{}
	for i, e := range edits {
		file, err := filepath.Abs(filepath.Join(root, e.File))
		must(t, err)
		source := file
		if replace[file] != "" {
			source = replace[file]
		}
		content, err := os.ReadFile(source)
		must(t, err)
		if count := strings.Count(string(content), e.Old); count != 1 {
			t.Fatalf("%s has the text %d times, so the mistake cannot be made: adapt it to the current code\n%s", e.File, count, e.Old)
		}
		replace[file] = filepath.Join(dir, fmt.Sprintf("copy%d.go", i))
		must(t, os.WriteFile(replace[file], []byte(strings.Replace(string(content), e.Old, e.New, 1)), 0o600))
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	must(t, err)
	list := filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(list, text, 0o600))
	return list
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
