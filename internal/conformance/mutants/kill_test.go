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
	sample = flag.Int("sample", 0, "try that many mutants, others each day, for eight minutes at most")
)

// sampleLimit bounds a sample, whatever it consists of.
const sampleLimit = 8 * time.Minute

func TestMain(m *testing.M) { testkit.Main(m) }

// The tests of each requirement fail if it is broken, and pass if it is not. A sample whose time is over gives no verdict on the rest, and
// names it. One mutant is compiled while the tests of another wait for something.
func TestMutantsDie(t *testing.T) {
	proofs := proofsOf(t)
	ctx := t.Context()
	if *sample > 0 {
		limited, cancel := context.WithTimeout(ctx, sampleLimit)
		t.Cleanup(cancel)
		ctx = limited
	}
	all := chosen(t)
	table := make([]string, len(all))
	t.Cleanup(func() { t.Logf("\n%s", strings.Join(table, "")) })
	for i, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			outcome := tryAll(ctx, t, m, proofs[m.ID])
			table[i] = fmt.Sprintf("%s  %-70s  %4.0f s  %s\n", m.ID, m.Breaks, time.Since(began).Seconds(), outcome)
			t.Log(table[i])
			if outcome == lives {
				t.Errorf("nothing fails although %s: %+v", m.Breaks, proofs[m.ID])
			}
		})
	}
}

// What becomes of a mutant that no test has killed.
const (
	lives     = "LIVES"
	noVerdict = "no verdict: the time is over"
)

// tryAll returns the first test that a mutant fails.
func tryAll(ctx context.Context, t *testing.T, m mutants.Mutant, proofs []proof) string {
	t.Helper()
	for _, p := range proofs {
		if ctx.Err() != nil {
			return noVerdict
		}
		if killer := p.kills(ctx, t, m); killer != "" {
			return p.folder + ": " + killer
		}
	}
	if ctx.Err() != nil {
		return noVerdict
	}
	return lives
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
	case *sample > 0:
		all = sampleOf(all, *sample, int(time.Now().Unix()/int64(24*time.Hour/time.Second)))
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
	served := withServer(tree)
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b proof) int { return cost(served, a.folder) - cost(served, b.folder) })
	}
	return all
}

// withServer are the folders whose tests start an API server: each has its TestMain for that.
func withServer(tree *lint.Tree) map[string]bool {
	served := map[string]bool{}
	for _, file := range tree.Files {
		if file.Go != nil && file.IsTest() && bytes.Contains(file.Text, []byte("testkit.Main")) {
			served[file.Dir()] = true
		}
	}
	return served
}

// cost orders packages by how long their tests take: those that only decide come first, then those with an API server, then suites.
func cost(served map[string]bool, folder string) int {
	switch {
	case strings.HasPrefix(folder, "test/"):
		return 2
	case served[folder]:
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

// kills runs the tests with a mutant, and returns the first that fails; nothing if none does, or if the time is over before.
func (p proof) kills(ctx context.Context, t *testing.T, m mutants.Mutant) string {
	t.Helper()
	binary := faults.BuildMistaken(t, root, "./"+p.folder, faults.Edit{File: m.File, Old: m.Old, New: m.New})
	limited, cancel := context.WithTimeout(ctx, killLimit)
	defer cancel()
	command := exec.CommandContext(limited, binary, "-test.run", "^("+strings.Join(p.tests, "|")+")$", "-test.failfast", "-test.parallel=8")
	command.Dir = filepath.Join(root, p.folder)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if command.Run() == nil || ctx.Err() != nil {
		return ""
	}
	if limited.Err() != nil {
		t.Fatalf("%s: no verdict within %s", p.folder, killLimit)
	}
	found := failed.FindString(output.String())
	if found == "" {
		t.Fatalf("%s: %s", p.folder, output.String())
	}
	return strings.TrimPrefix(found, "--- FAIL: ")
}
