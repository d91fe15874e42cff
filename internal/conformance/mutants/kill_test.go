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
	sample = flag.Int("sample", 0, "try that many mutants, others each day, for twenty minutes at most")
)

// updates reports whether to record the results and show them in docs/conformance.md. The test kit defines the flag.
func updates() bool { return flag.Lookup("update").Value.String() == "true" }

// sampleLimit bounds a sample. The step of .ci/run that tries one starts at least 25 minutes before the end.
const sampleLimit = 20 * time.Minute

func TestMain(m *testing.M) { testkit.Main(m) }

// The tests of each requirement fail if it is broken, and pass if it is not. A mutant without a verdict is an error, also in a sample that
// runs out of time. One mutant is compiled while the tests of another wait.
func TestMutantsDie(t *testing.T) {
	proofs := proofsOf(t)
	recorded, err := mutants.ReadResults(root)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if *sample > 0 {
		limited, cancel := context.WithTimeout(ctx, sampleLimit)
		t.Cleanup(cancel)
		ctx = limited
	}
	all := chosen(t)
	verdicts := make([]verdict, len(all))
	table := make([]string, len(all))
	t.Cleanup(func() {
		t.Logf("\n%s", strings.Join(table, ""))
		conclude(t, all, verdicts)
	})
	for i, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			v := tryAll(ctx, t, m, proofs[m.ID])
			verdicts[i] = v
			table[i] = fmt.Sprintf("%s  %-70s  %4.0f s  %s\n", m.ID, m.Breaks, time.Since(began).Seconds(), v)
			t.Log(table[i])
			switch {
			case !v.found:
				t.Errorf("no verdict on this mutant (%s) within the %s of a sample: run it with -only %s", m.Breaks, sampleLimit, m.ID)
			case v.killer == "":
				t.Errorf("nothing fails although %s: %+v", m.Breaks, proofs[m.ID])
			}
			v.compare(t, m, recorded)
		})
	}
}

// verdict is what became of a mutant.
type verdict struct {
	found bool // otherwise, the time was over first
	// killer is the test that failed, as FOLDER: TEST; empty if none did.
	killer string
	// harmless are the folders whose tests have passed.
	harmless []string
}

func (v verdict) String() string {
	switch {
	case !v.found:
		return "no verdict: the time is over"
	case v.killer == "":
		return "LIVES"
	}
	return v.killer
}

// compare fails if the tests that have killed a mutant according to the record pass now, although others may fail.
func (v verdict) compare(t *testing.T, m mutants.Mutant, recorded []mutants.Result) {
	t.Helper()
	result, found := mutants.ResultOf(m, recorded)
	folder, _, _ := strings.Cut(result.Killer, ": ")
	if found && result.Killer != "" && slices.Contains(v.harmless, folder) && !updates() {
		t.Errorf("%s says that %s kills this mutant, and it passes: record the result anew with -update -only %s", mutants.ResultsFile, result.Killer, m.ID)
	}
}

// conclude records what was found out. It fails if that is nothing.
func conclude(t *testing.T, tried []mutants.Mutant, verdicts []verdict) {
	t.Helper()
	var results []mutants.Result
	for i, v := range verdicts {
		if v.found {
			m := tried[i]
			results = append(results, mutants.Result{ID: m.ID, Breaks: m.Breaks, Edit: m.Edit(), Killer: v.killer})
		}
	}
	if len(results) == 0 {
		t.Errorf("none of %d mutants got a verdict", len(tried))
	}
	if !updates() {
		return
	}
	date := commitDate(t)
	for i := range results {
		results[i].Date = date
	}
	if err := mutants.Record(root, results); err != nil {
		t.Errorf("record the results: %v", err)
	}
	if err := conformance.Update(root); err != nil {
		t.Errorf("show the results: %v", err)
	}
}

// commitDate returns the date of the commit that is checked out.
func commitDate(t *testing.T) string {
	t.Helper()
	// The context of the test has ended when it is cleaned up.
	output, err := exec.CommandContext(context.Background(), "git", "-C", root, "log", "-1", "--format=%cs").Output()
	if err != nil {
		t.Fatalf("read the date of the commit: %v", err)
	}
	return strings.TrimSpace(string(output))
}

// tryAll returns the first test that fails with a mutant.
func tryAll(ctx context.Context, t *testing.T, m mutants.Mutant, proofs []proof) verdict {
	t.Helper()
	v := verdict{}
	for _, p := range proofs {
		killer := ""
		if ctx.Err() == nil {
			killer = p.kills(ctx, t, m)
		}
		if killer != "" {
			v.found, v.killer = true, p.folder+": "+killer
			return v
		}
		if ctx.Err() != nil {
			return v
		}
		v.harmless = append(v.harmless, p.folder)
	}
	v.found = true
	return v
}

// chosen returns the mutants that the flags select.
func chosen(t *testing.T) []mutants.Mutant {
	t.Helper()
	all := mutants.All()
	switch {
	case *only != "":
		ids := strings.Split(*only, ",")
		has := func(id string) bool {
			return slices.ContainsFunc(all, func(m mutants.Mutant) bool { return m.ID == id })
		}
		if unknown := slices.DeleteFunc(slices.Clone(ids), has); len(unknown) > 0 {
			t.Fatalf("-only names %s, which have no mutant", strings.Join(unknown, ", "))
		}
		all = slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !slices.Contains(ids, m.ID) })
	case *sample > 0:
		all = sampleOf(all, *sample, int(time.Now().Unix()/int64(24*time.Hour/time.Second)))
	}
	return all
}

// proof is a package with tests of a requirement.
type proof struct {
	folder string
	tests  []string
}

// proofsOf finds the tests of each requirement, starting with those that need no API server.
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

// withServer returns the folders whose tests start an API server: those with a TestMain for that.
func withServer(tree *lint.Tree) map[string]bool {
	served := map[string]bool{}
	for _, file := range tree.Files {
		if file.Go != nil && file.IsTest() && bytes.Contains(file.Text, []byte("testkit.Main")) {
			served[file.Dir()] = true
		}
	}
	return served
}

// cost orders packages by the duration of their tests: first those that only decide, then those with an API server, then suites.
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

// testsIn returns the tests of a file that contains a table of rules.
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

// killLimit is longer than a test waits for anything. A run that exceeds it gives no verdict: the machine may just be busy.
const killLimit = 15 * time.Minute

// patienceForMutants is how long the tests of a mutant wait for what it keeps from happening. It is far more than anything takes beside the
// few tests that are tried at once here.
const patienceForMutants = 2 * time.Minute

var failed = regexp.MustCompile(`--- FAIL: (\S+)`)

// kills runs the tests with a mutant, and returns the first that fails; nothing if none does, or if the time runs out first.
func (p proof) kills(ctx context.Context, t *testing.T, m mutants.Mutant) string {
	t.Helper()
	binary := faults.BuildMistaken(t, root, "./"+p.folder, faults.Edit{File: m.File, Old: m.Old, New: m.New})
	limited, cancel := context.WithTimeout(ctx, killLimit)
	defer cancel()
	command := exec.CommandContext(limited, binary, "-test.run", "^("+strings.Join(p.tests, "|")+")$", "-test.failfast", "-test.parallel=8")
	command.Dir = filepath.Join(root, p.folder)
	command.Env = append(os.Environ(), testkit.PatienceVariable+"="+patienceForMutants.String())
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if command.Run() == nil || ctx.Err() != nil {
		return ""
	}
	if limited.Err() != nil {
		t.Fatalf("%s: no verdict within %s", p.folder, killLimit)
	}
	if found := failed.FindStringSubmatch(output.String()); found != nil {
		return found[1]
	}
	if strings.Contains(output.String(), "panic: ") {
		return mutants.Panic
	}
	t.Fatalf("%s: %s", p.folder, output.String())
	return ""
}
