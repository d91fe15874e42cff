// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build mutants

package mutants_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/conformance"
	"espalier.dev/internal/conformance/mutants"
	"espalier.dev/internal/lint"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

var (
	only   = flag.String("only", "", "IDs of the requirements whose mutants are tried, separated by commas")
	sample = flag.Int("sample", 0, "try that many mutants, others each day")
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The tests of each requirement fail if it is broken, and pass if it is not.
func TestMutantsDie(t *testing.T) {
	proofs := proofsOf(t)
	var table strings.Builder
	for _, m := range chosen(t) {
		t.Run(m.ID, func(t *testing.T) {
			for _, p := range proofs[m.ID] {
				if killer := p.kills(t, m); killer != "" {
					fmt.Fprintf(&table, "%s  %-70s  %s: %s\n", m.ID, m.Breaks, p.folder, killer)
					return
				}
			}
			fmt.Fprintf(&table, "%s  %-70s  LIVES\n", m.ID, m.Breaks)
			t.Errorf("nothing fails although %s: %+v", m.Breaks, proofs[m.ID])
		})
	}
	t.Logf("\n%s", table.String())
}

// chosen are the mutants that the flags name.
func chosen(t *testing.T) []mutants.Mutant {
	t.Helper()
	all := mutants.All()
	switch {
	case *only != "":
		ids := strings.Split(*only, ",")
		all = slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !slices.Contains(ids, m.ID) })
		if len(all) != len(ids) {
			t.Fatalf("-only %s names something that has no mutant", *only)
		}
	case *sample > 0 && *sample < len(all):
		first := time.Now().YearDay() * *sample % len(all)
		all = slices.Concat(all, all)[first : first+*sample]
	}
	return all
}

// proof is where tests of a requirement are.
type proof struct {
	folder string
	tests  []string
}

// proofsOf finds the tests of each requirement, those first that need no API server.
func proofsOf(t *testing.T) map[string][]proof {
	t.Helper()
	tree, err := lint.Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	specs, err := conformance.ReadSpecs(tree)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]proof{}
	for _, p := range conformance.FindProofs(tree, specs) {
		folder, name, _ := strings.Cut(p.Test, ": ")
		name, _, _ = strings.Cut(name, "/")
		names := []string{name}
		if strings.HasSuffix(name, ".go") {
			names = testsIn(tree, folder+"/"+name)
		}
		at := slices.IndexFunc(all[p.ID], func(p proof) bool { return p.folder == folder })
		if at < 0 {
			all[p.ID], at = append(all[p.ID], proof{folder: folder}), len(all[p.ID])
		}
		all[p.ID][at].tests = append(all[p.ID][at].tests, names...)
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b proof) int { return cost(a.folder) - cost(b.folder) })
	}
	return all
}

// cost orders packages by how long their tests take: those that only decide come first.
func cost(folder string) int {
	switch {
	case strings.HasPrefix(folder, "test/"):
		return 2
	case strings.HasPrefix(folder, "internal/controller/"), strings.HasPrefix(folder, "deployer"):
		return 1
	default:
		return 0
	}
}

// testsIn are the tests of a file that holds a table of rules.
func testsIn(tree *lint.Tree, path string) []string {
	var names []string
	for _, file := range tree.Files {
		if file.Path != path || file.Go == nil {
			continue
		}
		for _, declared := range file.Go.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// killLimit is longer than a test waits for anything. A run that hits it gives no verdict: the machine may just be busy.
const killLimit = 15 * time.Minute

var failed = regexp.MustCompile(`--- FAIL: (\S+)|panic: .*`)

// kills runs the tests with a mutant, and returns the first that fails.
func (p proof) kills(t *testing.T, m mutants.Mutant) string {
	t.Helper()
	binary := faults.BuildMistaken(t, root, "./"+p.folder, faults.Edit{File: m.File, Old: m.Old, New: m.New})
	ctx, cancel := context.WithTimeout(t.Context(), killLimit)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "-test.run", "^("+strings.Join(p.tests, "|")+")$", "-test.failfast")
	command.Dir = filepath.Join(root, p.folder)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if command.Run() == nil {
		return ""
	}
	if ctx.Err() != nil {
		t.Fatalf("%s: no verdict within %s", p.folder, killLimit)
	}
	found := failed.FindString(output.String())
	if found == "" {
		t.Fatalf("%s: %s", p.folder, output.String())
	}
	return strings.TrimPrefix(found, "--- FAIL: ")
}
