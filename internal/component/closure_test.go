// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"slices"
	"testing"
)

// names returns the names of the components of a set, in order.
func names(s *Set) []string {
	var names []string
	for _, d := range s.All() {
		names = append(names, d.Name)
	}
	return names
}

func TestClosureFollowsReferences(t *testing.T) {
	cases := map[string]struct {
		root   *Descriptor
		others []*Descriptor
		want   []string
	}{
		"alone":   {named(t, "a"), nil, []string{"a"}},
		"a chain": {named(t, "a", "b"), []*Descriptor{named(t, "b", "c"), named(t, "c")}, []string{"a", "b", "c"}},
		"a diamond": {
			named(t, "a", "b", "c"),
			[]*Descriptor{named(t, "b", "d"), named(t, "c", "d"), named(t, "d")},
			[]string{"a", "b", "d", "c"},
		},
		"two versions": {
			named(t, "a", "b", "c"),
			[]*Descriptor{named(t, "b", "c:2.0.0"), named(t, "c"), version(named(t, "c"), "2.0.0")},
			[]string{"a", "b", "c", "c"},
		},
		"the same twice": {describe(t, `
meta: {schemaVersion: v2}
component: {name: a, version: 1.0.0, componentReferences: [{name: one, componentName: b, version: 1.0.0}, {name: two, componentName: b, version: 1.0.0}]}`),
			[]*Descriptor{named(t, "b")}, []string{"a", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, c.root, c.others...)
			if got := names(set); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if set.Root() != c.root {
				t.Errorf("the root is %v", set.Root().ID())
			}
		})
	}
}

// version returns a descriptor with another version.
func version(d *Descriptor, version string) *Descriptor {
	d.Version = version
	return d
}

func TestClosureWantsEachVersionOnce(t *testing.T) {
	closure, err := NewClosure(ClosureOptions{Root: at(t, "r.example.com", "a", "1.0.0")})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]*Descriptor{
		"a": named(t, "a", "b", "c", "d"),
		"b": named(t, "b", "d", "c"),
		"c": named(t, "c", "d"),
		"d": named(t, "d"),
	}
	var asked []string
	for wanted := closure.Wanted(); len(wanted) > 0; wanted = closure.Wanted() {
		for _, w := range wanted {
			asked = append(asked, w.At.String()+" by "+w.Path())
			if err := closure.Provide(w, known[w.At.Name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{
		"a:1.0.0 in r.example.com by component a:1.0.0",
		"b:1.0.0 in r.example.com by component a:1.0.0 -> b (b:1.0.0)",
		"c:1.0.0 in r.example.com by component a:1.0.0 -> c (c:1.0.0)",
		"d:1.0.0 in r.example.com by component a:1.0.0 -> d (d:1.0.0)",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestClosureRefuses(t *testing.T) {
	root := at(t, "", "a", "1.0.0")
	cases := map[string]struct {
		options ClosureOptions
		at      []*Descriptor
		want    []string
	}{
		"a circle": {ClosureOptions{Root: root}, []*Descriptor{named(t, "a", "b"), named(t, "b", "c"), named(t, "c", "d"), named(t, "d", "b")},
			[]string{"components refer to each other in a cycle: b:1.0.0 -> c (c:1.0.0) -> d (d:1.0.0) -> b (b:1.0.0)"}},
		"a component that refers to itself": {
			ClosureOptions{Root: root},
			[]*Descriptor{named(t, "a", "a")},
			[]string{"cycle: a:1.0.0 -> a (a:1.0.0)"},
		},
		"a circle by overwrites": {ClosureOptions{Root: root, Overwrites: overwritesOf(t, rule(Coordinates{Name: "c"}, Coordinates{Name: "a"}))},
			[]*Descriptor{named(t, "a", "b"), named(t, "b", "c"), named(t, "c")}, []string{"cycle: a:1.0.0 -> b (b:1.0.0) -> c (a:1.0.0)"}},
		"something missing": {
			ClosureOptions{Root: root},
			[]*Descriptor{named(t, "a", "b"), named(t, "b", "c")},
			[]string{"component a:1.0.0 -> b (b:1.0.0) -> c (c:1.0.0): the component descriptor is missing"},
		},
		"no name":    {ClosureOptions{Root: Coordinates{Version: "1"}}, nil, []string{"needs a name and a version"}},
		"no version": {ClosureOptions{Root: Coordinates{Name: "a"}}, nil, []string{"needs a name and a version"}},
		"too deep": {ClosureOptions{Root: root, Limits: ClosureLimits{
			Components: 10,
			Depth:      2,
		}}, []*Descriptor{named(t, "a", "b"), named(t, "b", "c"), named(t, "c", "d"), named(t, "d")}, []string{"-> d (d:1.0.0): references are nested deeper than 2"}},
		"too many": {ClosureOptions{Root: root, Limits: ClosureLimits{
			Components: 3,
			Depth:      10,
		}}, []*Descriptor{named(t, "a", "b", "c", "d")}, []string{"component a:1.0.0 -> d (d:1.0.0): there are more than 3 components"}},
		"from two places": {
			ClosureOptions{
				Root:       at(t, "x.example.com", "a", "1.0.0"),
				Overwrites: overwritesOf(t, rule(Coordinates{Name: "c"}, at(t, "y.example.com", "b", ""))),
			},
			[]*Descriptor{
				named(t, "a", "b", "c"),
				named(t, "b"),
			},
			[]string{"-> c (b:1.0.0) is required from y.example.com", "-> b (b:1.0.0) from x.example.com"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set, err := collect(c.options, c.at...)
			if err == nil {
				t.Fatalf("got %q, want an error", names(set))
			}
			wantError(t, err, c.want...)
		})
	}
}

func TestClosureRefusesWhatItDidNotAskFor(t *testing.T) {
	closure, err := NewClosure(ClosureOptions{Root: at(t, "", "a", "1.0.0")})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, closure.Provide(closure.Wanted()[0], named(t, "b")), "component a:1.0.0: the repository returned the descriptor of b:1.0.0")
}

func TestClosureLimitsLeaveRoom(t *testing.T) {
	descriptors := []*Descriptor{}
	for i := range DefaultClosureLimits.Depth {
		descriptors = append(descriptors, named(t, fmt.Sprintf("c%d", i), fmt.Sprintf("c%d", i+1)))
	}
	descriptors = append(descriptors, named(t, fmt.Sprintf("c%d", DefaultClosureLimits.Depth)))
	set := setOf(t, descriptors[0], descriptors[1:]...)
	if got := len(set.All()); got != DefaultClosureLimits.Depth+1 {
		t.Errorf("got %d components", got)
	}
}

func TestOverwritesApplyToRootAndReferences(t *testing.T) {
	mirror := registryAt(t, "mirror.example.com")
	overwrites := overwritesOf(t,
		rule(Coordinates{Name: "leaf"}, Coordinates{Version: "2.0.0"}),
		rule(Coordinates{Name: "root"}, Coordinates{Version: "1.1.0", RepositoryContext: mirror}),
	)
	known := []*Descriptor{version(named(t, "root", "middle"), "1.1.0"), named(t, "middle", "leaf"), version(named(t, "leaf"), "2.0.0")}
	set, err := collect(ClosureOptions{Root: at(t, "home.example.com", "root", "1.0.0"), Overwrites: overwrites}, known...)
	if err != nil {
		t.Fatal(err)
	}
	if set.Root().Version != "1.1.0" || set.Origin(set.Root()) != at(t, "mirror.example.com", "root", "1.1.0") {
		t.Errorf("the root is %v", set.Origin(set.Root()))
	}
	middle, written, err := set.Referenced(set.Root(), Named("middle"))
	if err != nil || set.Origin(middle) != at(t, "mirror.example.com", "middle", "1.0.0") || written != set.Origin(middle) {
		t.Errorf("references begin where the root was found: got %v, written %v, %v", set.Origin(middle), written, err)
	}
	leaf, written, err := set.Referenced(middle, Named("leaf"))
	if err != nil || leaf.Version != "2.0.0" {
		t.Fatalf("got %v, %v", leaf, err)
	}
	if want := at(t, "mirror.example.com", "leaf", "1.0.0"); written != want {
		t.Errorf("before overwrites it is %v, want %v", written, want)
	}
}
