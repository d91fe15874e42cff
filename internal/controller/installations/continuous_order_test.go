// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
)

// Only the history shows the order: an installation or execution without a finalizer gets it in a separate write, before it reports or
// creates anything. Objects that a parent creates have it from the start.
func TestCON11_CON50_TheFinalizerComesBeforeEverythingElse(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels()).Continuous().Build())
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	history := recorder.History()
	held := map[string]uint64{}
	for id, states := range history.Objects() {
		if id.Kind != "Installation" && id.Kind != "Execution" {
			continue
		}
		first := slices.IndexFunc(states, holds)
		if first < 0 || first > 1 || id.Name == "root" && id.Kind == "Installation" && first == 0 {
			t.Errorf("%s has its finalizer with write %d: %s", id, first, states)
			continue
		}
		if said := states[first].Field("status.phase"); said != "" {
			t.Errorf("%s got phase %s together with its finalizer", id, said)
		}
		held[id.Kind+" "+id.Name] = states[first].Version()
	}
	if len(held) != 6 {
		t.Fatalf("finalizers of %v", held)
	}
	// The run that adds it does nothing else.
	if phases := recorder.Of(w.named("root")).Transitions("status.phase"); !slices.Equal(phases, []string{"", "Progressing", "Succeeded"}) {
		t.Errorf("the root went through %q", phases)
	}
	// An object owns what it creates.
	for _, r := range history {
		for _, owner := range r.Object.GetOwnerReferences() {
			if at := held[owner.Kind+" "+owner.Name]; at > 0 && r.Change == testkit.Added && r.Version() < at {
				t.Errorf("%s %s was made before %s %s had its finalizer", r.Object.GetKind(), r.Object.GetName(), owner.Kind, owner.Name)
			}
		}
	}
}

func holds(r testkit.Revision) bool {
	return slices.Contains(r.Object.GetFinalizers(), lsv1alpha1.Finalizer)
}

// A finalizer that somebody removes is restored, and nothing else happens.
func TestCON11_CON50_AFinalizerComesBack(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels()).Continuous().Build())
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	for _, object := range []client.Object{w.named("root"), w.named(w.level("middle")), w.executionOf("leaf")} {
		before := recorder.History()
		w.patch(object, `{"metadata":{"finalizers":null}}`)
		testkit.Eventually(
			t,
			w.server,
			object,
			testkit.Is("held", func(o client.Object) bool { return slices.Contains(o.GetFinalizers(), lsv1alpha1.Finalizer) }),
		)
		recorder.Quiet(t, time.Second)
		if since := recorder.Since(before); len(since) != 2 {
			t.Errorf("%s: %d writes: %s", object.GetName(), len(since), since)
		}
	}
}

// Deploy items are deployed in the order of their dependencies and deleted in reverse, and a failed one keeps those that depend on it from
// being touched.
func TestCON52_CON53_CON55_DeployItemsComeAndGoInOrder(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	ordered := func(first, second string) string {
		return header + deploy(
			item("first", first),
			strings.Replace(item("second", second), "      type:", "      dependsOn: [first]\n      type:", 1),
		)
	}
	w.create(w.installation("root", ordered(failing, value("1"))).Continuous().Build())
	w.completed("root", lsv1alpha1.PhaseFailed)
	if w.items()["second"] != nil {
		t.Error("a deploy item was created although the one that it depends on has failed")
	}
	w.rewrite("root", ordered(value("1"), value("1")))
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	first, second := w.items()["first"], w.items()["second"]
	w.delete("root")
	w.vanished("root")
	when := func(object *lsv1alpha1.DeployItem, what func(testkit.Revision) bool) uint64 {
		found := recorder.Of(object).Where(what)
		if len(found) == 0 {
			t.Fatalf("%s: it never happened", object.Name)
		}
		return found[0].Version()
	}
	succeeded := func(r testkit.Revision) bool { return r.Field("status.phase") == string(lsv1alpha1.PhaseSucceeded) }
	added := func(r testkit.Revision) bool { return r.Change == testkit.Added }
	asked := func(r testkit.Revision) bool { return !r.Object.GetDeletionTimestamp().IsZero() }
	gone := func(r testkit.Revision) bool { return r.Change == testkit.Deleted }
	if when(second, added) < when(first, succeeded) {
		t.Error("the second deploy item came before the first had succeeded")
	}
	if when(first, asked) < when(second, gone) {
		t.Error("the first deploy item was asked to go before the second was gone")
	}
}

// While an object below is busy, nothing below is touched, not even objects at rest.
func TestCON04_NothingIsUpdatedBesideABusyOne(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	family := func(quick, slow string) string {
		return header + nest(sub{
			name:      "quick",
			blueprint: header + deploy(item("quick", quick)),
		}, sub{name: "slow", blueprint: header + deploy(item("slow", slow))})
	}
	w.create(w.installation("root", family(value("1"), endless)).Continuous().Build())
	w.eventually("root", "updated", func(i *lsv1alpha1.Installation) bool { return i.Status.SubInstCache != nil })
	quick, slow := w.children("root")["quick"].Name, w.children("root")["slow"].Name
	w.completed(quick, lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	w.gitops(recorder, func() {
		w.rewrite("root", family(value("2"), value("1")))
		w.eventually("root", "waiting", func(i *lsv1alpha1.Installation) bool {
			return strings.Contains(message(i), slow) && strings.Contains(message(i), "the spec has changed")
		})
	}, 0)
	for _, name := range []string{quick, slow} {
		if sub := w.named(name); !w.get(sub) || sub.Generation != 1 {
			t.Errorf("%s was changed", name)
		}
	}
	// When it is no longer busy, the root continues by itself.
	w.operate(slow, lsv1alpha1.OperationAbort)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
}

// triggered counts how often an installation received the operation reconcile.
func triggered(history testkit.History) int {
	asked, before := 0, ""
	for _, r := range history {
		now := r.Object.GetAnnotations()[lsv1alpha1.OperationAnnotation]
		if now == string(lsv1alpha1.OperationReconcile) && before == "" {
			asked++
		}
		before = now
	}
	return asked
}

// Whenever an installation has succeeded, those that import from it are asked to check their imports, even if only the state of what is
// below it has changed. If they find their imports unchanged, nothing happens.
func TestCON14_CON24_CON54_DependantsAreTriggered(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	source := header + exports(`word: {{ index .values.deployitems "low" "word" }}`, "word") + deploy(item("low", `export: {word: water}`))
	w.create(
		w.installation("mill", header+imports("word")+deploy(item("wheel", value("{{ .imports.word }}")))).
			Continuous().
			ImportData("word", "word").
			Build(),
	)
	w.eventually("mill", "waiting", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhasePendingDependencies })
	w.create(w.installation("source", source).Continuous().ExportData("word", "word").Build())
	w.completed("mill", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	if asked := triggered(recorder.Of(w.named("mill"))); asked != 1 {
		t.Errorf("the importer was triggered %d times", asked)
	}
	// A user requests a new deployment of a deploy item, and the exports that the execution has collected are gone.
	collected := &lsv1alpha1.DataObject{}
	e := &lsv1alpha1.Execution{}
	e.Namespace, e.Name = w.namespace, "source"
	w.get(e)
	collected.Namespace, collected.Name = w.namespace, e.Status.ExportReference.Name
	if err := w.cluster.Delete(t.Context(), collected); err != nil {
		t.Fatal(err)
	}
	w.gitops(recorder, func() {
		w.patch(w.items()["low"], `{"metadata":{"annotations":{"`+lsv1alpha1.OperationAnnotation+`":"reconcile"}}}`)
		testkit.Eventually(
			t,
			w.server,
			collected,
			testkit.Is("collected anew", func(o *lsv1alpha1.DataObject) bool { return strings.Contains(string(o.Data.Raw), "water") }),
		)
		w.eventually("mill", "triggered again", func(*lsv1alpha1.Installation) bool { return triggered(recorder.Of(w.named("mill"))) == 2 })
	}, 1)
	w.completed("source", lsv1alpha1.PhaseSucceeded)
	w.completed("mill", lsv1alpha1.PhaseSucceeded)
}

// An object that is private to another tree cannot be imported by name. An exported one can.
func TestCON22_WhatIsNotGivenIsNotImported(t *testing.T) {
	w := newWorld(t)
	w.create(
		w.secret("base", "x"),
		w.installation("root", links).Continuous().ImportSecret("base", "base", "word").ExportData("result", "result").Build(),
	)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	private := dataflow.Scope{Namespace: w.namespace, Parent: "root"}.ObjectName("from-a")
	w.create(w.installation("thief", header+imports("word")).Continuous().ImportData("word", private).Build())
	waiting := w.eventually(
		"thief",
		"waiting",
		func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhasePendingDependencies },
	)
	if said := message(waiting); !strings.Contains(said, private) ||
		!strings.Contains(said, "belongs to installation "+w.children("root")["a"].Name) {
		t.Errorf("it does not say whose it is: %s", said)
	}
	w.change("thief", func(s *lsv1alpha1.InstallationSpec) { s.Imports.Data[0].DataRef = "result" })
	w.completed("thief", lsv1alpha1.PhaseSucceeded)
}
