// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/conformance/mutants"
)

// A run replaces what it has tried, keeps the rest, and drops what no longer exists.
func TestResultsAreKeptUntilTriedAgain(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, mutants.ResultsFile)), 0o755); err != nil {
		t.Fatal(err)
	}
	if none, err := mutants.ReadResults(folder); err != nil || len(none) > 0 {
		t.Fatalf("got %v, %v from no file", none, err)
	}
	all := mutants.All()
	result := func(m mutants.Mutant, killer string) mutants.Result {
		return mutants.Result{ID: m.ID, Breaks: m.Breaks, Edit: m.Edit(), Killer: killer, Date: "2026-01-02"}
	}
	first, second, gone := result(all[0], "a: TestA"), result(all[1], "b: TestB"), mutants.Result{ID: "ABC-01", Breaks: "nothing"}
	again := result(all[0], "")
	for _, step := range []struct{ tried, want []mutants.Result }{
		{nil, nil},
		{[]mutants.Result{second, gone, first}, []mutants.Result{first, second}},
		{[]mutants.Result{again}, []mutants.Result{again, second}},
	} {
		if err := mutants.Record(folder, step.tried); err != nil {
			t.Fatal(err)
		}
		got, err := mutants.ReadResults(folder)
		if diff := cmp.Diff(step.want, got); diff != "" && len(step.want)+len(got) > 0 || err != nil {
			t.Errorf("after %v: %v\n%s", step.tried, err, diff)
		}
	}
	changed := all[1]
	changed.New += " "
	untried, found := mutants.ResultOf(changed, []mutants.Result{second})
	if diff := cmp.Diff(mutants.Result{ID: changed.ID, Breaks: changed.Breaks}, untried); diff != "" || !found {
		t.Errorf("of another edit, found %t (-want +got):\n%s", found, diff)
	}
	if r, found := mutants.ResultOf(all[1], []mutants.Result{second}); !found || r != second {
		t.Errorf("of the same edit: %+v, %t", r, found)
	}
	if _, found := mutants.ResultOf(all[2], []mutants.Result{second}); found {
		t.Error("a mutant that was never tried has a result")
	}
}
