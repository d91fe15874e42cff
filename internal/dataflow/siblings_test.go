// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// siblings reads installations: for each name its imports and exports.
func siblings(t testing.TB, text string) []dataflow.Sibling {
	t.Helper()
	type spec struct {
		Imports lsv1alpha1.InstallationImports `json:"imports"`
		Exports lsv1alpha1.InstallationExports `json:"exports"`
	}
	var result []dataflow.Sibling
	for name, s := range parse[map[string]spec](t, text) {
		result = append(result, dataflow.Sibling{Name: name, Imports: s.Imports, Exports: s.Exports})
	}
	return result
}

func relate(t testing.TB, scope dataflow.Scope, text string) *dataflow.Siblings {
	t.Helper()
	related, err := dataflow.NewSiblings(scope, siblings(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return related
}

const exporter = `
db:
  exports:
    data: [{name: x, dataRef: url}]
    targets: [{name: x, target: cluster}]
`

func TestWhoDependsOnWhom(t *testing.T) {
	for name, c := range map[string]struct {
		scope    dataflow.Scope
		imports  string
		succeeds bool
	}{
		"data":                                 {nested, `data: [{name: a, dataRef: url}]`, true},
		"a target":                             {nested, `targets: [{name: a, target: cluster}]`, true},
		"a target of a list":                   {nested, `targets: [{name: a, targets: [other, cluster]}]`, true},
		"a target of a map":                    {nested, `targets: [{name: a, targetMap: {k: cluster}}]`, true},
		"data of the name of a target":         {nested, `data: [{name: a, dataRef: cluster}]`, false},
		"a target of the name of data":         {nested, `targets: [{name: a, target: url}]`, false},
		"a whole list comes from the parent":   {nested, `targets: [{name: a, targetListRef: cluster}]`, false},
		"a whole map comes from the parent":    {nested, `targets: [{name: a, targetMapRef: cluster}]`, false},
		"a Secret":                             {root, `data: [{name: a, secretRef: {name: url}}]`, false},
		"something else":                       {nested, `data: [{name: a, dataRef: other}]`, false},
		"in the root scope":                    {root, `data: [{name: a, dataRef: url}]`, true},
		"a global name in the root scope":      {root, `data: [{name: a, dataRef: "#url"}]`, true},
		"a global name is not in a scope":      {nested, `data: [{name: a, dataRef: "#url"}]`, false},
		"an element has nothing to do with it": {nested, `targets: [{name: a, target: "cluster[0]"}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			related := relate(t, c.scope, exporter+"app:\n  imports: {"+c.imports+"}\n")
			want := []string{}
			if c.succeeds {
				want = []string{"app"}
			}
			if got := related.Successors("db"); !slices.Equal(got, want) {
				t.Errorf("successors of db = %q, want %q", got, want)
			}
			if got := related.Predecessors("app"); slices.Equal(got, []string{"db"}) != c.succeeds {
				t.Errorf("predecessors of app = %q", got)
			}
		})
	}
}

func TestGlobalNamesRelateAcrossForms(t *testing.T) {
	related := relate(t, root, `
a: {exports: {data: [{name: x, dataRef: "#url"}]}}
b: {imports: {data: [{name: x, dataRef: url}]}}
`)
	if got := related.Successors("a"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("at the root url and #url are the same object, successors = %q", got)
	}
	if got := related.Exporters(dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: "url"}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("exporters = %q", got)
	}
}

const invalidSiblings = `
a: {imports: {data: [{name: x, dataRef: c-data}]}, exports: {data: [{name: x, dataRef: a-data}]}}
b: {imports: {targets: [{name: x, targetMap: {k: a-target}}], data: [{name: z, dataRef: a-data}]}, exports: {data: [{name: x, dataRef: b-data}]}}
c: {imports: {data: [{name: x, dataRef: b-data}]}, exports: {data: [{name: x, dataRef: c-data}]}}
user: {imports: {data: [{name: x, dataRef: a-data}]}}
narcissus: {imports: {data: [{name: x, dataRef: mirror}]}, exports: {data: [{name: x, dataRef: mirror}]}}
one: {exports: {data: [{name: x, dataRef: both}], targets: [{name: x, target: both-too}]}}
two: {exports: {data: [{name: x, dataRef: both}], targets: [{name: x, target: both-too}]}}
innocent: {imports: {data: [{name: x, dataRef: both}]}, exports: {targets: [{name: x, target: both}]}}
`

func TestDependencyErrorsAreReportedToThoseInvolved(t *testing.T) {
	related := relate(t, root, invalidSiblings)
	const cycle = `installations wait for each other: dependency cycle: a -> c -> b -> a (each depends on the next): a imports "c-data" from c, c imports "b-data" from b, b imports "a-data" from a`
	const conflict = `DataObject "both" is exported by more than one installation: one, two. Let one of them export under another name; Target "both-too" is exported by more than one installation: one, two`
	for name, want := range map[string]string{
		"a": cycle, "b": cycle, "c": cycle, "one": conflict, "two": conflict,
		"narcissus": `installations wait for each other: narcissus depends on itself: narcissus imports "mirror" from narcissus`,
		"user":      "", "innocent": "", "nobody": "",
	} {
		err := related.Check(name)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		expectError(t, err, failure.Terminal, want)
		if failure.DetailsOf(err).Operation != dataflow.OperationSiblings {
			t.Errorf("%s: details = %+v", name, failure.DetailsOf(err))
		}
		if isCycle := strings.HasPrefix(want, "installations wait"); isCycle != slices.Contains(
			failure.DetailsOf(err).Codes,
			"ERR_CYCLIC_DEPENDENCIES",
		) {
			t.Errorf("%s: codes = %q", name, failure.DetailsOf(err).Codes)
		}
	}
}

func TestAllDependencyErrorsOfABlueprint(t *testing.T) {
	err := relate(t, nested, `
a: {imports: {data: [{name: x, dataRef: b}]}, exports: {data: [{name: x, dataRef: a}]}}
b: {imports: {data: [{name: x, dataRef: a}]}, exports: {data: [{name: x, dataRef: b}]}}
`).CheckAll()
	expectError(t, err, failure.Terminal, "a -> b -> a")
	err = relate(t, nested, `
a: {exports: {data: [{name: x, dataRef: z}]}}
b: {exports: {data: [{name: x, dataRef: z}]}}
`).CheckAll()
	expectError(t, err, failure.Terminal, `DataObject "z" is exported by more than one installation: a, b`)
	if err := relate(t, nested, exporter).CheckAll(); err != nil {
		t.Error(err)
	}
}

func TestSiblingsOfEqualName(t *testing.T) {
	_, err := dataflow.NewSiblings(root, []dataflow.Sibling{{Name: "a"}, {Name: "a"}})
	expectError(t, err, failure.Terminal, `"a" occurs more than once`)
}

func TestExpectedJobs(t *testing.T) {
	related := relate(t, root, exporter+`
silent: {exports: {data: [{name: x, dataRef: other}]}}
one: {exports: {data: [{name: x, dataRef: both}]}}
two: {exports: {data: [{name: x, dataRef: both}]}}
`)
	jobs := map[string]string{"db": "job-7", "one": "job-1", "two": "job-2"}
	got := related.ExpectedJobs(func(name string) string { return jobs[name] })
	if len(got) != 2 || got[dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: "url"}] != "job-7" ||
		got[dataflow.ObjectID{Kind: dataflow.KindTarget, Name: "cluster"}] != "job-7" {
		t.Errorf("expected jobs = %v", got)
	}
}

// TestSuccessorsAreTheReverseOfPredecessors draws installations with every kind of import.
func TestSuccessorsAreTheReverseOfPredecessors(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	edges := 0
	for range 500 {
		count := 1 + random.IntN(6)
		var all []dataflow.Sibling
		ref := func() string { return fmt.Sprintf("r%d", random.IntN(count)) }
		for i := range count {
			own := fmt.Sprintf("r%d", i)
			s := dataflow.Sibling{Name: fmt.Sprintf("i%d", i)}
			s.Exports.Data = []lsv1alpha1.DataExport{{Name: "x", DataRef: own}}
			s.Exports.Targets = []lsv1alpha1.TargetExport{{Name: "x", Target: own}}
			switch random.IntN(5) {
			case 0:
				s.Imports.Data = []lsv1alpha1.DataImport{{Name: "a", DataRef: ref()}}
			case 1:
				s.Imports.Targets = []lsv1alpha1.TargetImport{{Name: "a", Target: ref()}}
			case 2:
				s.Imports.Targets = []lsv1alpha1.TargetImport{{Name: "a", Targets: []string{ref(), ref()}}}
			case 3:
				s.Imports.Targets = []lsv1alpha1.TargetImport{{Name: "a", TargetMap: map[string]string{"k": ref(), "l": ref()}}}
			}
			all = append(all, s)
		}
		related, err := dataflow.NewSiblings(nested, all)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			for _, other := range all {
				before := slices.Contains(related.Predecessors(other.Name), one.Name)
				after := slices.Contains(related.Successors(one.Name), other.Name)
				if before != after {
					t.Fatalf("%s before %s: %t, after: %t", one.Name, other.Name, before, after)
				}
				if before {
					edges++
				}
			}
		}
	}
	if edges < 500 {
		t.Fatalf("only %d dependencies were drawn", edges)
	}
}
