// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestOneWorksAtATime(t *testing.T) {
	history := tell().
		write("Installation tree").write("Installation branch", label(lsv1alpha1.EncompassedByLabel, "tree")).
		write("DeployItem leaf", label(lsv1alpha1.ExecutionManagedByLabel, "twig")).
		write("Installation hedge").history
	// Each write is given by the number of its process and its object, in order of time.
	for name, test := range map[string]struct{ writes, want string }{
		"one process":                  {"1 tree, 1 branch, 1 tree", ""},
		"one after the other":          {"1 tree, 1 branch, 2 branch, 2 tree", ""},
		"three of them":                {"1 tree, 2 branch, 3 tree", ""},
		"each its tree":                {"1 tree, 2 hedge, 1 branch, 2 hedge", ""},
		"what is above does not exist": {"1 leaf, 2 leaf", ""},
		"one that never came to be":    {"1 lost, 2 lost, 1 lost", ""},
		"both on one object":           {"1 tree, 2 tree, 1 tree", "process 1 works on the tree of tree after process 2 has begun to"},
		"both on one tree":             {"1 tree, 2 branch, 1 tree", "I22: Installation garden/tree"},
		"a late one after two":         {"1 tree, 2 tree, 3 tree, 1 branch", "I22: Installation garden/branch"},
		"both on an item alone":        {"1 leaf, 2 leaf, 1 leaf", "DeployItem garden/leaf"},
	} {
		var writes []Write
		for i, text := range strings.Split(test.writes, ", ") {
			id := testkit.ObjectID{Kind: kindInstallation, Namespace: namespace, Name: text[2:]}
			if id.Name == "leaf" {
				id.Kind = kindDeployItem
			}
			w := Write{Process: int(text[0] - '0'), At: time.Unix(int64(i), 0), Object: id}
			writes = append([]Write{w}, writes...) // the order of the list does not matter
		}
		got := Describe(OneWorksAtATime(history, writes))
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestOneWorksOnEach(t *testing.T) {
	id := func(name string) testkit.ObjectID {
		return testkit.ObjectID{Kind: "Pipeline", Namespace: namespace, Name: name}
	}
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	turns := []Write{{2, at(2), id("p")}, {1, at(1), id("p")}, {1, at(3), id("q")}}
	if got := OneWorksOnEach(turns); len(got) > 0 {
		t.Errorf("one after the other: %s", Describe(got))
	}
	got := Describe(OneWorksOnEach(append(turns, Write{1, at(4), id("p")})))
	if !strings.Contains(got, "I22: Pipeline garden/p") || !strings.Contains(got, "process 1 works on the tree of p after process 2 has begun to") {
		t.Errorf("one comes back: %q", got)
	}
}
