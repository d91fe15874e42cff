// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/testkit"
)

func TestFinishedFromBelow(t *testing.T) {
	family := func() *story {
		return tell().write("Installation root", job("1"), phase("Progressing")).
			write("Installation sub", below("root"), job("1"), phase("Progressing")).
			write("Execution root", ownedBy("root"), end("1", "Succeeded"))
	}
	check(t, "I1", map[string]example{
		"in order": {
			family().write("Installation sub", end("1", "Succeeded")).write("Installation root", end("1", "Succeeded")),
			"",
		},
		"with a failed child": {family().write("Installation sub", end("1", "Failed")).write("Installation root", end("1", "Failed")), ""},
		"the next job": {
			family().write("Installation sub", end("1", "Succeeded")).
				write("Installation root", end("1", "Succeeded")).
				write("Installation root", job("2"), phase("Init")),
			"",
		},
		"before the child": {
			family().write("Installation root", end("1", "Failed")),
			"I1: Installation garden/root, revision 4: Installation garden/root has finished job 1 in phase Failed while Installation garden/sub",
		},
		"a child that failed": {
			family().write("Installation sub", end("1", "Failed")).write("Installation root", end("1", "Succeeded")),
			"it has succeeded in job 1 although Installation garden/sub",
		},
		"a child without the job": {
			family().write("Installation sub", end("0", "Succeeded")).write("Installation root", end("1", "Succeeded")),
			"it has succeeded in job 1 although Installation garden/sub has job 0",
		},
		"a child that is revived": {
			family().write("Installation sub", end("1", "Succeeded")).write("Installation root", end("1", "Succeeded")).
				write("DeployItem late", item("root", "late"), job("0")).write("Execution root", job("1")).write("DeployItem late", job("1")),
			"Execution garden/root has finished job 1 in phase Succeeded while DeployItem garden/late",
		},
	})
}

func TestOneJobAtATime(t *testing.T) {
	check(t, "I2", map[string]example{
		"one after the other": {
			tell().write("Installation root", job("1")).write("Installation root", end("1", "Failed")).write("Installation root", job("2")),
			"",
		},
		"passed on": {
			tell().write("Installation root", job("1")).write("Installation sub", below("root")).write("Installation sub", job("1")),
			"",
		},
		"two at a time": {
			tell().write("Installation root", job("1")).write("Installation root", job("2")),
			"job 2 begins while job 1 runs",
		},
		"an old one again": {
			tell().write("Installation root", end("1", "Failed")).
				write("Installation root", end("2", "Failed")).
				write("Installation root", job("1")),
			"job 1 comes back",
		},
		"its own": {
			tell().write("Installation root", job("1")).write("Installation sub", below("root"), job("2")),
			"it gets job 2, and its parent Installation garden/root has job",
		},
		"without a parent": {tell().write("DeployItem a", item("root", "a"), job("1")), "its parent Execution garden/root does not exist"},
	})
}

func TestOneEnd(t *testing.T) {
	check(t, "I3", map[string]example{
		"together": {
			tell().write("DeployItem a", job("1"), phase("Progressing")).write("DeployItem a", end("1", "Failed")).write("DeployItem a", job("2")),
			"",
		},
		"first the phase": {
			tell().write("DeployItem a", job("1")).write("DeployItem a", phase("Succeeded")),
			"phase Succeeded is final, but job 1 is not finished",
		},
		"first the job": {
			tell().write("DeployItem a", job("1")).write("DeployItem a", end("1", "Progressing")),
			"job 1 is finished in phase",
		},
		"another job's end": {
			tell().write("DeployItem a", job("2")).write("DeployItem a", end("1", "Succeeded"), job("2")),
			"it has finished job",
		},
		"of an object with none": {tell().write("DeployItem a"), ""},
		"a nested one keeps no runs": {
			tell().write("Installation sub", below("root"), job("1")).write("Installation sub", end("1", "Succeeded"), noRuns),
			"",
		},
		"not among the runs": {
			tell().write("Installation root", job("1")).write("Installation root", end("1", "Succeeded"), noRuns),
			"job 1 has ended, and the last runs are []",
		},
		"with its result": {
			tell().write("Installation root", job("1")).write("Installation root", end("1", "Failed"), revision(2, "1", "Failed"), revision(3, "0", "")),
			"",
		},
		"without a result": {
			tell().write("Installation root", job("1")).write("Installation root", end("1", "Succeeded"), revision(1, "1", "")),
			"job 1 has ended as Succeeded, and revision 1 says ",
		},
		"revisions in disorder": {
			tell().write("Installation root", job("1")).write("Installation root", end("1", "Succeeded"), revision(2, "0", ""), revision(2, "1", "Succeeded")),
			"revision 2 comes before revision 2",
		},
		"twice among the runs": {
			tell().write("Installation root", job("1")).write("Installation root", end("1", "Succeeded"), end("1", "Succeeded")),
			"job 1 is twice among the last runs",
		},
	})
}

// revision puts a revision at the head of the history.
func revision(number int64, job, result string) edit {
	return func(u *unstructured.Unstructured) {
		earlier, _, _ := unstructured.NestedSlice(u.Object, "status", "history")
		entry := map[string]any{"revision": number, "jobID": job, "result": result}
		set(append([]any{entry}, earlier...), "status", "history")(u)
	}
}

// noRuns removes the finished runs from the status.
func noRuns(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "status", "lastRuns")
}

func TestOneJobPerRequest(t *testing.T) {
	asked := func() *story {
		return tell().write("Installation root", ask("reconcile")).write("Installation root", ask("")).write("Installation root", job("1"))
	}
	check(t, "I4", map[string]example{
		"one for one":         {asked().write("Installation root", end("1", "Succeeded")), ""},
		"asked while it runs": {asked().write("Installation root", ask("reconcile")).write("Installation root", end("1", "Succeeded")), ""},
		"the deletion": {
			asked().write("Installation root", end("1", "Succeeded")).write("Installation root", dying()).write("Installation root", job("2")),
			"",
		},
		"withdrawn": {
			asked().write("Installation root", ask("reconcile")).
				write("Installation root", ask("interrupt")).
				write("Installation root", ask("")).
				write("Installation root", end("1", "Failed")),
			"",
		},
		"nested ones need no one": {tell().write("Installation sub", below("root")).write("Installation sub", job("1")), ""},
		"not requested": {
			asked().write("Installation root", end("1", "Succeeded")).write("Installation root", job("2")),
			"job 2 begins, and no request for it exists",
		},
		"lost": {
			tell().write("Installation root", ask("reconcile")).write("Installation root", ask("")),
			"1 requests have started no job",
		},
		"two jobs of one deletion": {
			tell().write("Installation root", dying()).
				write("Installation root", job("1")).
				write("Installation root", end("1", "DeleteFailed")).
				write("Installation root", job("2")),
			"job 2 begins, and no request",
		},
	})
}

func TestInOrder(t *testing.T) {
	execution := func() *story {
		return tell().write("Execution root", plan("a", "b"), job("1")).
			write("DeployItem a", item("root", "a"), job("1")).
			write("DeployItem b", item("root", "b", "a"))
	}
	exchange := func() *story {
		return tell().write("Installation root", job("1")).
			write("Installation giver", below("root"), job("1"), set([]any{map[string]any{
				"name":    "x",
				"dataRef": "fruit",
			}}, "spec", "exports", "data")).
			write("Installation taker", below("root"), job("1"), set([]any{map[string]any{
				"name":    "x",
				"dataRef": "fruit",
			}}, "spec", "imports", "data")).
			write("Execution taker", ownedBy("taker"))
	}
	check(t, "I5", map[string]example{
		"items":            {execution().write("DeployItem a", end("1", "Succeeded")).write("DeployItem b", job("1")), ""},
		"backwards":        {execution().write("DeployItem b", dying()).delete("DeployItem b").write("DeployItem a", dying()), ""},
		"no longer a need": {execution().write("Execution root", plan("b")).write("DeployItem a", dying()), ""},
		"interrupted":      {execution().write("DeployItem b", end("1", "Failed")), ""},
		"with its namespace": {
			execution().write("Namespace garden", dying()).write("DeployItem a", dying()), "",
		},
		"too early": {
			execution().write("DeployItem b", job("1")),
			"DeployItem garden/b, revision 4: it gets job 1, and DeployItem garden/a, which it depends on",
		},
		"on an older success": {execution().write("DeployItem a", end("0", "Succeeded")).write("DeployItem b", job("1")), "has job 0"},
		"after a failure":     {execution().write("DeployItem a", end("1", "Failed")).write("DeployItem b", job("1")), "in phase"},
		"without its need": {
			tell().write("Execution root", plan("a", "b"), job("1")).write("DeployItem b", item("root", "b", "a"), job("1")),
			"and a, which it depends on, does not exist",
		},
		"deleted forwards": {
			execution().write("DeployItem a", dying()),
			"it is deleted while DeployItem garden/b, which depends on it, exists",
		},
		"siblings":              {exchange().write("Installation giver", end("1", "Succeeded")).write("Execution taker", job("1")), ""},
		"siblings, too early":   {exchange().write("Execution taker", job("1")), "whose predecessor Installation garden/giver"},
		"siblings, in deletion": {exchange().write("Execution taker", dying()).write("Execution taker", job("1")), ""},
	})
}

func TestFinishedItemsRest(t *testing.T) {
	interrupted := func() *story {
		return tell().write("DeployItem a", job("1"), phase("Progressing")).
			write("DeployItem a", end("1", "Failed"), set("Interrupted", "status", "lastError", "reason"))
	}
	check(t, "I6", map[string]example{
		"a new job": {interrupted().write("DeployItem a", job("2")).write("DeployItem a", phase("Progressing")), ""},
		"metadata":  {interrupted().write("DeployItem a", annotate("note", "x"), dying()), ""},
		"another end": {
			interrupted().write("DeployItem a", phase("Succeeded")),
			"job 1 was finished in phase Failed, and status.phase changes",
		},
		"a late inventory":     {interrupted().write("DeployItem a", lists("x")), "status.providerStatus changes"},
		"with the next job in": {interrupted().write("DeployItem a", job("2"), phase("Progressing")), "status.phase changes"},
	})
}

func TestInventoriesAreComplete(t *testing.T) {
	planted := func() *story {
		return tell().write("DeployItem a", wants("x"), job("1")).write("DeployItem a", lists("x")).write("ConfigMap x", deployed())
	}
	check(t, "I7", map[string]example{
		"known before": {planted().write("DeployItem a", end("1", "Succeeded")), ""},
		"pruned after": {
			planted().write("DeployItem a", wants("y"), lists("x", "y")).
				write("ConfigMap y", deployed()).
				delete("ConfigMap x").
				write("DeployItem a", lists("y")),
			"",
		},
		"left installed": {
			planted().write("DeployItem a", dying(), annotate("landscaper.gardener.cloud/delete-without-uninstall", "true")).delete("DeployItem a"),
			"",
		},
		"strangers":          {tell().write("ConfigMap x").write("Execution e").delete("Execution e"), ""},
		"with its namespace": {planted().write("Namespace garden", dying()).delete("DeployItem a").write("ConfigMap y", deployed()), ""},
		"unknown": {
			tell().write("DeployItem a", job("1")).write("ConfigMap x", deployed()),
			"ConfigMap garden/x, revision 2: it was created, and no inventory lists it",
		},
		"forgotten": {planted().write("DeployItem a", lists()), "it no longer lists ConfigMap garden/x, which still exists"},
		"orphaned":  {planted().delete("DeployItem a"), "it no longer lists ConfigMap garden/x"},
		"pruned first": {
			planted().write("DeployItem a", wants("y"), lists("x", "y")).delete("ConfigMap x"),
			"it was pruned before ConfigMap garden/y",
		},
		"succeeded without": {
			planted().delete("ConfigMap x").write("DeployItem a", end("1", "Succeeded")),
			"it has succeeded, and ConfigMap garden/x does not exist",
		},
		"uninstalled anyway": {
			planted().write("DeployItem a", annotate("landscaper.gardener.cloud/delete-without-uninstall", "true")).delete("ConfigMap x"),
			"is deleted without uninstalling",
		},
		"uninstalled later on": {
			planted().write("DeployItem a", annotate("landscaper.gardener.cloud/delete-without-uninstall", "true")).
				delete("DeployItem a").
				delete("ConfigMap x"),
			"it was to be left installed",
		},
	})
}

func TestFinalizersGoLast(t *testing.T) {
	const ours = "finalizer.landscaper.gardener.cloud"
	planted := func() *story {
		return tell().write("Installation root", protect(ours)).write("Execution root", ownedBy("root"), protect(ours)).
			write("DeployItem a", item("root", "a"), protect(ours), lists("x")).write("ConfigMap x", deployed())
	}
	check(t, "I8", map[string]example{
		"from the leaves": {planted().delete("ConfigMap x").delete("DeployItem a").delete("Execution root").delete("Installation root"), ""},
		"left installed": {
			planted().write("DeployItem a", annotate("landscaper.gardener.cloud/delete-without-uninstall", "true")).delete("DeployItem a"),
			"",
		},
		"with its namespace": {planted().write("Namespace garden", dying()).write("DeployItem a", protect()).delete("DeployItem a"), ""},
		"an execution before its item, with its namespace": {
			planted().write("Namespace garden", dying()).delete("Execution root"), "its finalizer goes while DeployItem garden/a exists",
		},
		"a deployed object": {planted().write("DeployItem a", protect()), "its finalizer goes while ConfigMap garden/x is still deployed"},
		"a deploy item":     {planted().delete("Execution root"), "its finalizer goes while DeployItem garden/a exists"},
		"an execution":      {planted().write("Installation root", protect("other")), "its finalizer goes while Execution garden/root exists"},
	})
}

func TestStatusIsHonest(t *testing.T) {
	condition := func(kind, status, reason string) edit {
		return set([]any{map[string]any{"type": kind, "status": status, "reason": reason}}, "status", "conditions")
	}
	check(t, "I13", map[string]example{
		"ready at the end": {
			tell().write("Installation root", end("1", "Succeeded"), condition("Ready", "True", "Succeeded"), set(int64(1), "status", "observedGeneration")),
			"",
		},
		"a nested one is behind": {
			tell().write("DeployItem a", item("e", "a"), end("1", "Succeeded"), condition("Ready", "True", "Succeeded")).
				write("DeployItem a", job("2")),
			"",
		},
		"ready too early": {
			tell().write("Installation root", job("1"), phase("Succeeded"), condition("Ready", "True", "Succeeded")),
			"it is Ready in phase",
		},
		"ready in failure": {
			tell().write("DeployItem a", item("e", "a"), end("1", "Failed"), condition("Ready", "True", "Failed")),
			"it is Ready in phase",
		},
		"no reason":            {tell().write("Installation root", condition("Ready", "False", "")), "condition Ready has the reason"},
		"a sentence as reason": {tell().write("Installation root", condition("Ready", "False", "it waits")), "condition Ready has the reason"},
		"ahead": {
			tell().write("Installation root", set(int64(2), "status", "observedGeneration")),
			"observedGeneration 2 is ahead of generation 1",
		},
		"fallen": {
			tell().write("Installation root", set(int64(1), "status", "observedGeneration")).
				write("Installation root", set(int64(0), "status", "observedGeneration")),
			"observedGeneration falls from 1 to 0",
		},
		"a condition ahead": {
			tell().write("Installation root", set([]any{map[string]any{
				"type":               "Ready",
				"status":             "False",
				"reason":             "Init",
				"observedGeneration": int64(3),
			}}, "status", "conditions")),
			"condition Ready speaks of generation 3",
		},
	})
}

func TestSameEnding(t *testing.T) {
	const a, b = "0a0a0a0a-0000-0000-0000-000000000001", "0b0b0b0b-0000-0000-0000-000000000001"
	ending := func(root, sub, value string) testkit.History {
		return tell().write("Installation root", job(root), set("2024-01-02T03:04:05Z", "status", "at")).write("Installation sub", job(sub)).
			write("DataObject gone").delete("DataObject gone").write("DataObject x", set(value, "data")).history
	}
	reference := ending(a, a, "in garden")
	for name, c := range map[string]struct {
		history testkit.History
		want    string
	}{
		"other identities":    {ending(b, b, "in garden"), ""},
		"another relation":    {ending(a, b, "in garden"), "I14: Installation sub"},
		"another value":       {ending(a, a, "in field"), "data is"},
		"another namespace":   {append(tell().write("Namespace garden").history, reference...), ""},
		"something is left":   {append(slices.Clone(reference), tell().write("DataObject y").history...), "it exists, and does not after an undisturbed run"},
		"something is absent": {reference[:4], "it does not exist, and does after an undisturbed run"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, SameEnding(reference, c.history), c.want) })
	}
	t.Run("another field", func(t *testing.T) {
		more := tell().write("DataObject x", set("1", "data")).history
		less := tell().write("DataObject x").history
		expect(t, SameEnding(less, more), "data is \"1\", want nothing")
		expect(t, SameEnding(more, less), "data is missing")
	})
}

func TestBounded(t *testing.T) {
	often := func(times int) testkit.History {
		s := tell()
		for range times {
			s.write("Installation root")
		}
		return s.history
	}
	expect(t, Bounded(often(2), often(9)), "")
	expect(t, Bounded(often(2), often(10)), "I15: Installation garden/root, revision 10: it was written 10 times")
	expect(t, Bounded(nil, tell().write("Namespace a").write("Namespace a").write("Namespace a").write("Namespace a").history), "")
	again := func(incarnations int) testkit.History {
		s := tell()
		for range incarnations {
			s.write("Installation root").write("Installation root").delete("Installation root")
		}
		return s.history
	}
	expect(t, Bounded(again(1), again(6)), "")
	expect(t, Bounded(again(1), again(7)), "I15: Installation garden/root, revision 21: it was made 7 times")
}

// The number of a rule is its name in reports and documents.
func TestRulesAreNumberedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range Rules() {
		if rule.ID == "" || rule.Says == "" || rule.Check == nil {
			t.Errorf("rule %q is incomplete: %+v", rule.ID, rule)
		}
		if seen[rule.ID] {
			t.Errorf("rule %q is there twice", rule.ID)
		}
		seen[rule.ID] = true
	}
}
