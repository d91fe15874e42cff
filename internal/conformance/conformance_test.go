// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"espalier.dev/internal/conformance/mutants"
	"espalier.dev/internal/lint"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md")

// TestConformance compares the requirements, the tests of all modules, the mutants, the sweeps and the page.
func TestConformance(t *testing.T) {
	const root = "../.."
	if *update {
		if err := Update(root); err != nil {
			t.Fatal(err)
		}
	}
	facts, err := ReadFacts(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(idsOf(facts.Specs)) < 90 {
		t.Fatalf("found only %d requirements in %s", len(idsOf(facts.Specs)), specFolder)
	}
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range Check(facts, string(page)) {
		t.Errorf("%s: %s", pageFile, problem)
	}
}

// The small world of the following tests: two requirements of one kind, one of another.
const (
	jobsPage = "# Jobs\n\n- **ABC-01 One walk.** A job is one walk.\n- **ABC-02 One ID.** It has\n  one ID. See ABC-01.\n"
	pipePage = "# Pipes\n\n- **XYZ-07 Flow** goes one way.\n"
)

func world(t *testing.T, files map[string]string) *lint.Tree {
	t.Helper()
	memory := fstest.MapFS{
		"docs/spec/01-jobs.md":  {Data: []byte(jobsPage)},
		"docs/spec/02-pipes.md": {Data: []byte(pipePage)},
	}
	for name, text := range files {
		memory[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := lint.Load(memory)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func specsOf(t *testing.T, tree *lint.Tree) []Spec {
	t.Helper()
	specs, err := ReadSpecs(tree)
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

func TestReadSpecs(t *testing.T) {
	specs := specsOf(t, world(t, map[string]string{
		"docs/spec/03-none.md":   "# None\n\nNo list, but ABC-01 is mentioned.\n",
		"docs/other/04-jobs.md":  "- **ABC-09 Elsewhere.** Not a spec.\n",
		"docs/spec/drawing.html": "- **ABC-08 Not Markdown.**\n",
	}))
	if got, want := idsOf(specs), []string{"ABC-01", "ABC-02", "XYZ-07"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := specs[0].Requirements[0], (Requirement{ID: "ABC-01", Title: "One walk"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := specs[1].Title, "Pipes"; got != want {
		t.Errorf("got title %q, want %q", got, want)
	}
}

func TestReadSpecsRefusesAnIDThatIsUsedTwice(t *testing.T) {
	tree := world(t, map[string]string{"docs/spec/03-more.md": "- **ABC-02 Again.** No.\n"})
	_, err := ReadSpecs(tree)
	if err == nil || !strings.Contains(err.Error(), "ABC-02") {
		t.Errorf("got %v, want an error about the second definition", err)
	}
}

func TestFindProofs(t *testing.T) {
	const opening = "package p\n\n"
	cases := map[string]struct {
		file, source string
		want         []Proof
	}{
		"a function":    {"a/p_test.go", "func TestABC01_Walk(t *testing.T) {}", []Proof{{"ABC-01", "a: TestABC01_Walk"}}},
		"a fuzz target": {"a/p_test.go", "func FuzzXYZ07(f *testing.F) {}", []Proof{{"XYZ-07", "a: FuzzXYZ07"}}},
		"two in a function": {
			"a/p_test.go",
			"func TestABC01_ABC02(t *testing.T) {}",
			[]Proof{{"ABC-01", "a: TestABC01_ABC02"}, {"ABC-02", "a: TestABC01_ABC02"}},
		},
		"an unknown one": {"a/p_test.go", "func TestABC99(t *testing.T) {}", []Proof{{"ABC-99", "a: TestABC99"}}},
		"a sub-test": {
			"a/p_test.go",
			"func TestX(t *testing.T) { t.Run(\"ABC-01 walks\", nil) }",
			[]Proof{{"ABC-01", "a: TestX/ABC-01 walks"}},
		},
		"two in a sub-test": {
			"a/p_test.go",
			"func TestX(t *testing.T) { t.Run(\"ABC-01, ABC-02 walk\", nil) }",
			[]Proof{{"ABC-01", "a: TestX/ABC-01, ABC-02 walk"}, {"ABC-02", "a: TestX/ABC-01, ABC-02 walk"}},
		},
		"a table outside": {
			"a/p_test.go",
			"var cases = map[string]int{\"XYZ-07 flows\": 1}",
			[]Proof{{"XYZ-07", "a: p_test.go/XYZ-07 flows"}},
		},
		"a table inside": {
			"a/p_test.go",
			"func TestX(t *testing.T) { _ = []string{`ABC-02 x`} }",
			[]Proof{{"ABC-02", "a: TestX/ABC-02 x"}},
		},
		"not at the beginning":      {"a/p_test.go", "func TestX(t *testing.T) { t.Run(\"see ABC-01\", nil) }", nil},
		"a message":                 {"a/p_test.go", "func TestX(t *testing.T) { t.Errorf(\"ABC-01 is broken\") }", nil},
		"another word with numbers": {"a/p_test.go", "func TestUTF16(t *testing.T) { t.Run(\"UTF-16 text\", nil) }", nil},
		"an ID alone":               {"a/p_test.go", "func TestX(t *testing.T) { t.Run(\"ABC-01\", nil) }", nil},
		"a longer number":           {"a/p_test.go", "func TestX(t *testing.T) { t.Run(\"ABC-011\", nil) }", nil},
		"a function that is none":   {"a/p_test.go", "func checkABC01() {}", nil},
		"product code":              {"a/p.go", "func TestABC01() { run(\"ABC-02 x\") }", nil},
		"test data":                 {"a/testdata/p_test.go", "func TestABC01() {}", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree := world(t, map[string]string{c.file: opening + c.source + "\n"})
			if got := FindProofs(tree, specsOf(t, tree)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestFindProofsWithoutRequirements(t *testing.T) {
	tree, err := lint.Load(fstest.MapFS{"a/p_test.go": {Data: []byte("package p\n\nfunc TestABC01(t *testing.T) { t.Run(\"\", nil) }\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := FindProofs(tree, nil); len(got) > 0 {
		t.Errorf("got %v, want none", got)
	}
}

// The page of the small world: one requirement proven, one proven in part, one not yet.
const goodPage = introduction + `
Of 3 requirements 1 are proven, 1 are proven in part, 1 not yet.
Of 6 mutants 1 were killed, 1 survived, 4 wait to be tried.

## Jobs ([spec/01-jobs.md](spec/01-jobs.md))

| ID | Requirement | Mutants and results | Tests |
|---|---|---|---|
| ABC-01 | One walk | two walks: killed by ` + "`a: TestABC01/x`" + ` on 2026-01-02<br>` +
	`no walk: not tried yet<br>half a walk: not tried since it changed | ` +
	"`a: TestABC01`<br>`b: TestX/ABC-01 x`" + `<br>fault sweep ` + "`test/faults`" + `: rules I1, I2; workloads life |
| ABC-02 | One ID | two IDs: **no test failed** on 2026-01-03 | ` + "`a: TestABC02`" + `<br>not yet: the other half (jobs) |

## Pipes ([spec/02-pipes.md](spec/02-pipes.md))

| ID | Requirement | Mutants and results | Tests |
|---|---|---|---|
| XYZ-07 | Flow | ebb: not tried since the test that failed has another name<br>dam: not tried yet | not yet: nobody built it (pipelines) |
`

// goodFacts are what the page above shows.
func goodFacts(t *testing.T) Facts {
	t.Helper()
	f := Facts{
		Specs:  specsOf(t, world(t, nil)),
		Proofs: []Proof{{"ABC-01", "a: TestABC01"}, {"ABC-01", "b: TestX/ABC-01 x"}, {"ABC-02", "a: TestABC02"}},
		Mutants: []mutants.Mutant{
			{ID: "ABC-01", Breaks: "two walks", Old: "1", New: "2"}, {ID: "ABC-01", Breaks: "no walk"}, {ID: "ABC-01", Breaks: "half a walk"},
			{ID: "ABC-02", Breaks: "two IDs"}, {ID: "XYZ-07", Breaks: "ebb"}, {ID: "XYZ-07", Breaks: "dam"},
		},
		Sweeps: []Sweep{{ID: "ABC-01", Folder: flowSweep, Rules: []string{"I1", "I2"}, Workloads: []string{"life"}}},
		Tests:  map[string]bool{"a: TestABC01": true, "b: TestX": true, "a: TestABC02": true},
	}
	result := func(at int, killer, date string) mutants.Result {
		m := f.Mutants[at]
		return mutants.Result{ID: m.ID, Breaks: m.Breaks, Edit: m.Edit(), Killer: killer, Date: date}
	}
	f.Results = []mutants.Result{
		result(0, "a: TestABC01/x", "2026-01-02"), result(2, "a: TestABC01", "2026-01-02"), result(3, "", "2026-01-03"),
		result(4, "a: TestGone", "2026-01-02"),
	}
	f.Mutants[2].New = "another edit"
	return f
}

func TestParsePage(t *testing.T) {
	got := ParsePage(goodPage)
	want := []Row{
		{ID: "ABC-01", Tests: []string{"a: TestABC01", "b: TestX/ABC-01 x"}},
		{ID: "ABC-02", Tests: []string{"a: TestABC02"}, NotYet: "the other half (jobs)"},
		{ID: "XYZ-07", NotYet: "nobody built it (pipelines)"},
	}
	equal := func(a, b Row) bool { return a.ID == b.ID && a.NotYet == b.NotYet && slices.Equal(a.Tests, b.Tests) }
	if !slices.EqualFunc(got, want, equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRenderPageKeepsReasons(t *testing.T) {
	if got := RenderPage(goodFacts(t), ParsePage(goodPage)); got != goodPage {
		t.Errorf("got\n%s\nwant\n%s", got, goodPage)
	}
}

func TestRenderPageSurvivesAnyName(t *testing.T) {
	f := goodFacts(t)
	f.Proofs = []Proof{{"ABC-01", "a: TestX/ABC-01 a|b `c`\nd<br>e"}}
	page := RenderPage(f, ParsePage(goodPage))
	rows := ParsePage(page)
	if len(rows) != 3 || len(rows[0].Tests) != 1 || rows[0].Tests[0] != entryOf(f.Proofs[0]) {
		t.Errorf("got %v from\n%s", rows, page)
	}
}

func TestCheck(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(goodPage, old, new, 1) }
	const flow = "| XYZ-07 | Flow | ebb: not tried since the test that failed has another name<br>dam: not tried yet | "
	unchanged := func(*Facts) {}
	cases := map[string]struct {
		page   string
		change func(*Facts)
		want   string
	}{
		"all well": {goodPage, unchanged, ""},
		"requirement not listed": {
			replace(flow+"not yet: nobody built it (pipelines) |\n", ""), unchanged,
			"XYZ-07 is missing on the page",
		},
		"listed test is gone": {
			goodPage, func(f *Facts) { f.Proofs = slices.Delete(f.Proofs, 1, 2) },
			`ABC-01 lists the test "b: TestX/ABC-01 x", which does not exist`,
		},
		"test is not listed": {
			goodPage, func(f *Facts) { f.Proofs = append(f.Proofs, Proof{"ABC-02", "c: TestABC02"}) },
			`ABC-02 does not list the test "c: TestABC02"`,
		},
		"test of an unknown ID": {
			goodPage, func(f *Facts) { f.Proofs = append(f.Proofs, Proof{"ABC-99", "c: TestABC99"}) },
			`test "c: TestABC99" names ABC-99`,
		},
		"neither proven nor open": {replace("not yet: nobody built it (pipelines)", ""), unchanged, "XYZ-07 is neither proven"},
		"open without a reason":   {replace("not yet: nobody built it (pipelines)", "not yet: "), unchanged, "XYZ-07 is neither proven"},
		"row of an unknown ID":    {replace("| XYZ-07 ", "| XYZ-08 | Ebb | flow | not yet: x |\n| XYZ-07 "), unchanged, "the page lists XYZ-08"},
		"row twice": {
			replace("| XYZ-07 ", "| ABC-01 | One walk | two walks | not yet: x |\n| XYZ-07 "), unchanged,
			"the page lists ABC-01 twice",
		},
		"title is old":             {replace("One walk", "Two walks"), unchanged, "differs from what -update writes"},
		"figures are old":          {replace("Of 3", "Of 4"), unchanged, "differs from what -update writes"},
		"nothing found, all there": {replace("<br>`b: TestX/ABC-01 x`", ""), unchanged, `ABC-01 does not list the test "b: TestX/ABC-01 x"`},
		"a result that was not recorded": {
			replace("no walk: not tried yet", "no walk: killed by `a: TestABC01` on 2026-01-02"), unchanged,
			"differs from what -update writes",
		},
		"a mutant that has changed": {goodPage, func(f *Facts) { f.Mutants[0].New = "3" }, "differs from what -update writes"},
		"no mutant":                 {goodPage, func(f *Facts) { f.Mutants = f.Mutants[:4] }, "XYZ-07 has no mutant"},
		"a mutant of nothing": {
			goodPage, func(f *Facts) { f.Mutants = append(f.Mutants, mutants.Mutant{ID: "XYZ-08", Breaks: "spring tide"}) },
			"there is a mutant of XYZ-08,",
		},
		"a sweep of nothing": {goodPage, func(f *Facts) { f.Sweeps[0].ID = "ABC-09" }, "a sweep is said to prove ABC-09"},
		"a sweep of nowhere": {goodPage, func(f *Facts) { f.Sweeps[0].Folder = "test/other" }, "ABC-01 is said to be proven by a sweep"},
		"a sweep left out":   {goodPage, func(f *Facts) { f.Sweeps = nil }, "differs from what -update writes"},
		"a sweep of no story": {
			goodPage, func(f *Facts) { f.Sweeps[0].Rules, f.Sweeps[0].Workloads = nil, nil },
			"ABC-01 is said to be proven by a sweep",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := goodFacts(t)
			c.change(&f)
			got := strings.Join(Check(f, c.page), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCheckSweep(t *testing.T) {
	var rules, workloads []string
	for _, s := range Sweeps {
		if s.Folder == flowSweep {
			rules, workloads = append(rules, s.Rules...), append(workloads, s.Workloads...)
		}
	}
	without := func(names []string, name string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	}
	for want, problems := range map[string][]string{
		"": CheckSweep(flowSweep, rules, workloads),
		"by rule I4 of test/faults, which does not exist":           CheckSweep(flowSweep, without(rules, "I4"), workloads),
		"by workload forsake of test/faults, which does not exist":  CheckSweep(flowSweep, rules, without(workloads, "forsake")),
		"no requirement is said to be proven by test/faults/unused": CheckSweep("test/faults/unused", rules, workloads),
	} {
		if got := strings.Join(problems, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
