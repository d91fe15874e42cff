// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// rule returns an overwrite.
func rule(source, substitution Coordinates) lsv1alpha1.ComponentVersionOverwrite {
	part := func(c Coordinates) lsv1alpha1.ComponentVersionOverwriteReference {
		return lsv1alpha1.ComponentVersionOverwriteReference{
			RepositoryContext: c.RepositoryContext.API(), ComponentName: c.Name, Version: c.Version,
		}
	}
	return lsv1alpha1.ComponentVersionOverwrite{Source: part(source), Substitution: part(substitution)}
}

func overwritesOf(t testing.TB, rules ...lsv1alpha1.ComponentVersionOverwrite) *Overwrites {
	t.Helper()
	o, err := NewOverwrites(rules)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOverwrites(t *testing.T) {
	original := at(t, "old.example.com", "echo", "1.0.0")
	anything := Coordinates{}
	type rules = []lsv1alpha1.ComponentVersionOverwrite
	cases := map[string]struct {
		rules rules
		want  Coordinates
	}{
		"no rules":           {nil, original},
		"another name":       {rules{rule(Coordinates{Name: "other"}, Coordinates{Name: "x"})}, original},
		"another version":    {rules{rule(Coordinates{Name: "echo", Version: "2.0.0"}, Coordinates{Name: "x"})}, original},
		"another repository": {rules{rule(at(t, "new.example.com", "echo", ""), Coordinates{Name: "x"})}, original},
		"by name": {
			rules{rule(Coordinates{Name: "echo"}, Coordinates{Version: "2.0.0"})},
			at(t, "old.example.com", "echo", "2.0.0"),
		},
		"by version": {
			rules{rule(Coordinates{Version: "1.0.0"}, Coordinates{Name: "x"})},
			at(t, "old.example.com", "x", "1.0.0"),
		},
		"by repository": {
			rules{rule(at(t, "old.example.com", "", ""), at(t, "new.example.com", "", ""))},
			at(t, "new.example.com", "echo", "1.0.0"),
		},
		"an empty source": {rules{rule(anything, Coordinates{Name: "x"})}, at(t, "old.example.com", "x", "1.0.0")},
		"an empty substitution": {
			rules{rule(anything, anything), rule(anything, Coordinates{Name: "x"})},
			at(t, "old.example.com", "x", "1.0.0"),
		},
		"everything": {rules{rule(original, at(t, "new.example.com", "x", "2.0.0"))}, at(t, "new.example.com", "x", "2.0.0")},
		"the first one wins": {
			rules{rule(anything, Coordinates{Name: "x"}), rule(anything, Coordinates{Name: "y"})},
			at(t, "old.example.com", "x", "1.0.0"),
		},
		"different attributes": {
			rules{rule(anything, Coordinates{Name: "x"}), rule(anything, Coordinates{Version: "2.0.0"})},
			at(t, "old.example.com", "x", "2.0.0"),
		},
		"compared with the original": {
			rules{
				rule(anything, Coordinates{Name: "x"}),
				rule(Coordinates{Name: "x"}, Coordinates{Version: "2.0.0"}),
				rule(Coordinates{Name: "echo"}, Coordinates{Version: "3.0.0"}),
			},
			at(t, "old.example.com", "x", "3.0.0"),
		},
		// The second rule would replace the name again, so it does not replace the version either.
		"as a whole or not at all": {rules{
			rule(at(t, "old.example.com", "echo", ""), at(t, "new.example.com", "my-echo", "")),
			rule(Coordinates{Name: "echo"}, Coordinates{Name: "another-echo", Version: "1.2.3"}),
		}, at(t, "new.example.com", "my-echo", "1.0.0")},
		"what a rule gave up is free": {rules{
			rule(anything, Coordinates{Name: "x"}),
			rule(anything, Coordinates{Name: "y", Version: "2.0.0"}),
			rule(anything, Coordinates{Version: "3.0.0"}),
		}, at(t, "old.example.com", "x", "3.0.0")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := overwritesOf(t, c.rules...).Apply(original); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if got := (*Overwrites)(nil).Apply(original); got != original {
		t.Errorf("without overwrites: got %v", got)
	}
}

func TestOverwritesRefuseBrokenContexts(t *testing.T) {
	broken := lsv1alpha1.ComponentVersionOverwriteReference{RepositoryContext: anyJSON(`"x"`)}
	_, err := NewOverwrites([]lsv1alpha1.ComponentVersionOverwrite{{}, {Source: broken}})
	wantError(t, err, "overwrites[1].source: repository context: must be an object")
	_, err = NewOverwrites([]lsv1alpha1.ComponentVersionOverwrite{{Substitution: broken}})
	wantError(t, err, "overwrites[0].substitution")
}

// randomRules draws rules and coordinates from few values, so that they often match.
type randomRules struct {
	t *testing.T
	*rand.Rand
}

func (r randomRules) coordinates(prefix string) Coordinates {
	text := func(kind string) string {
		if r.IntN(2) == 0 {
			return ""
		}
		return fmt.Sprintf("%s%s%d", prefix, kind, r.IntN(2))
	}
	return at(r.t, text("repo"), text("name"), text("version"))
}

func (r randomRules) rules(source, substitution string) []lsv1alpha1.ComponentVersionOverwrite {
	rules := make([]lsv1alpha1.ComponentVersionOverwrite, r.IntN(5))
	for i := range rules {
		rules[i] = rule(r.coordinates(source), r.coordinates(substitution))
	}
	return rules
}

// complete fills empty attributes.
func (r randomRules) complete(c Coordinates) Coordinates {
	return c.or(at(r.t, "repo9", "name9", "version9"))
}

// attributes returns the three attributes of coordinates.
func attributes(c Coordinates) [3]string {
	return [3]string{c.Name, c.Version, c.RepositoryContext.canonical}
}

const draws = 1_000

func TestOverwritesProperties(t *testing.T) {
	r := randomRules{t, rand.New(rand.NewPCG(1, 2))}
	for range draws {
		rules := r.rules("", "")
		original := r.complete(r.coordinates(""))
		got := overwritesOf(t, rules...).Apply(original)

		checkOrigins(t, rules, original, got)
		checkAppended(t, rules, rule(r.coordinates(""), r.coordinates("")), original, got)
		checkPrepended(t, rules, original)
		if t.Failed() {
			t.Fatalf("original %v, rules %+v", original, overwritesOf(t, rules...).rules)
		}
	}
}

// Each attribute is the original one, or one that a matching rule substitutes.
func checkOrigins(t *testing.T, rules []lsv1alpha1.ComponentVersionOverwrite, original, got Coordinates) {
	t.Helper()
	for i, attribute := range attributes(got) {
		allowed := []string{attributes(original)[i]}
		for _, rule := range overwritesOf(t, rules...).rules {
			if rule.source.covers(original) {
				allowed = append(allowed, attributes(rule.substitution)[i])
			}
		}
		if !slices.Contains(allowed, attribute) {
			t.Errorf("%q is not among %q", attribute, allowed)
		}
	}
}

// A rule appended at the end changes nothing if it does not match, and never what was replaced before.
func checkAppended(
	t *testing.T,
	rules []lsv1alpha1.ComponentVersionOverwrite,
	last lsv1alpha1.ComponentVersionOverwrite,
	original, before Coordinates,
) {
	t.Helper()
	after := overwritesOf(t, append(slices.Clone(rules), last)...).Apply(original)
	matches := overwritesOf(t, last).rules[0].source.covers(original)
	for i := range 3 {
		replaced := attributes(before)[i] != attributes(original)[i]
		if (replaced || !matches) && attributes(after)[i] != attributes(before)[i] {
			t.Errorf("the last rule %+v made %v of %v", last, after, before)
		}
	}
}

// A rule at the start that matches and replaces everything decides alone.
func checkPrepended(t *testing.T, rules []lsv1alpha1.ComponentVersionOverwrite, original Coordinates) {
	t.Helper()
	want := at(t, "first.example.com", "first", "1st")
	first := rule(Coordinates{}, want)
	if got := overwritesOf(t, append([]lsv1alpha1.ComponentVersionOverwrite{first}, rules...)...).Apply(original); got != want {
		t.Errorf("got %v although the first rule says %v", got, want)
	}
}

// Applying overwrites twice equals applying them once if every rule names, in its source, the attributes that it replaces, and no
// replacement matches another rule.
func TestOverwritesAreIdempotentIfSourcesAreSpecific(t *testing.T) {
	r := randomRules{t, rand.New(rand.NewPCG(3, 4))}
	changed := 0
	for range draws {
		rules := r.rules("", "new-")
		for i := range rules {
			rules[i].Source = specific(rules[i], r.complete(r.coordinates("")))
		}
		o := overwritesOf(t, rules...)
		original := r.complete(r.coordinates(""))
		once := o.Apply(original)
		if twice := o.Apply(once); twice != once {
			t.Fatalf("%v became %v, then %v by %+v", original, once, twice, o.rules)
		}
		if once != original {
			changed++
		}
	}
	if changed < draws/100 {
		t.Errorf("only %d of %d draws changed anything", changed, draws)
	}
}

// specific adds the attributes that the rule replaces to its source.
func specific(o lsv1alpha1.ComponentVersionOverwrite, values Coordinates) lsv1alpha1.ComponentVersionOverwriteReference {
	source := o.Source
	if o.Substitution.ComponentName != "" && source.ComponentName == "" {
		source.ComponentName = values.Name
	}
	if o.Substitution.Version != "" && source.Version == "" {
		source.Version = values.Version
	}
	if o.Substitution.RepositoryContext != nil && source.RepositoryContext == nil {
		source.RepositoryContext = values.RepositoryContext.API()
	}
	return source
}

// In general they are not: this is why overwrites apply only once, to what was written originally.
func TestOverwritesAreNotIdempotentInGeneral(t *testing.T) {
	o := overwritesOf(t, rule(Coordinates{Name: "a"}, Coordinates{Name: "b"}), rule(Coordinates{Name: "b"}, Coordinates{Name: "c"}))
	once := o.Apply(at(t, "", "a", "1"))
	if twice := o.Apply(once); once.Name != "b" || twice.Name != "c" {
		t.Errorf("got %v, then %v", once, twice)
	}
}
