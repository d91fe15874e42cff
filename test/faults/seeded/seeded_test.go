// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build seeded

package seeded

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// root is the folder of the module.
const root = "../../.."

// Every seeded bug is found by one of the plans that are named with it, and without any of them those plans pass.
func TestEveryBugIsCaught(t *testing.T) {
	var table strings.Builder
	healthy := build(t, nil)
	checked := map[string]bool{}
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			binary := build(t, &b)
			for _, run := range b.runs {
				caught, how := fails(t, binary, run)
				if !caught {
					continue
				}
				if !checked[run] {
					if sick, why := fails(t, healthy, run); sick {
						t.Fatalf("%s fails without the bug, too: %s", run, why)
					}
					checked[run] = true
				}
				fmt.Fprintf(&table, "%-55s  %-50s  %s\n", b.name, run, how)
				return
			}
			fmt.Fprintf(&table, "%-55s  NOT CAUGHT\n", b.name)
			t.Errorf("no plan finds it: %s", strings.Join(b.runs, ", "))
		})
	}
	t.Logf("\n%s", table.String())
}

// build compiles the tests of the folder above with a bug, or without one.
func build(t *testing.T, b *bug) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "faults.test")
	arguments := []string{"test", "-c", "-vet=off", "-o", binary}
	if b != nil {
		arguments = append(arguments, "-overlay", overlay(t, dir, b))
	}
	command := exec.CommandContext(t.Context(), "go", append(arguments, "./test/faults")...)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the bug does not compile: %v\n%s", err, output)
	}
	return binary
}

// overlay tells the compiler to read copies of the files that have the bug.
func overlay(t *testing.T, dir string, b *bug) string {
	t.Helper()
	replace := map[string]string{}
	for i, e := range b.edits {
		file, err := filepath.Abs(filepath.Join(root, e.file))
		must(t, err)
		source := file
		if replace[file] != "" {
			source = replace[file]
		}
		content, err := os.ReadFile(source)
		must(t, err)
		if count := strings.Count(string(content), e.old); count != 1 {
			t.Fatalf("%s has the text %d times, so the bug cannot be made: write it anew for the code as it is now\n%s", e.file, count, e.old)
		}
		replace[file] = filepath.Join(dir, fmt.Sprintf("copy%d.go", i))
		must(t, os.WriteFile(replace[file], []byte(strings.Replace(string(content), e.old, e.new, 1)), 0o600))
	}
	list := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	must(t, err)
	must(t, os.WriteFile(list, text, 0o600))
	return list
}

// limit ends a run that hangs, which also is a failure.
const limit = 5 * time.Minute

var violation = regexp.MustCompile(`[IC]\d+: .*|waited .*|config map .*|panic: .*`)

// fails runs one plan and tells how it fails.
func fails(t *testing.T, binary, run string) (bool, string) {
	t.Helper()
	workload, plan, _ := strings.Cut(run, " ")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "-test.run", "^TestReplay$", "-workload", workload, "-plan", plan)
	command.Dir = ".."
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err == nil {
		return false, ""
	}
	how := violation.FindString(output.String())
	return true, how[:min(len(how), 150)]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
