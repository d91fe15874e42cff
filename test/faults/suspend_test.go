// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// pauseWorkloads suspend roots of both flows, and have them wait with one spec and work with another.
var pauseWorkloads = []workload{
	{"suspend", []act{doze, disturb, wake, drowse, rouse}},
	{"revise", []act{draft, revise}},
}

// winter is a tree that deploys a value.
func (s *scene) winter(value, configMap string) blueprint {
	return blueprint{subs: []any{sub("den", blueprint{items: []any{manifestItem("sleep", s.namespace, value, configMap)}}, wiring{})}}
}

// night has a deploy item that users must finish.
func (s *scene) night(items ...any) blueprint {
	return blueprint{items: append(items, endlessItem("snore"))}
}

// doze suspends a root of each flow at rest, and one whose job is running: that job finishes.
func doze(t *testing.T, s *scene) {
	s.create(t, s.root("bear", s.winter("old", "honey")).Reconcile().Build(), s.flow("mouse", s.winter("old", "grain")).Build())
	s.succeeds(t, "bear")
	s.calm(t, "mouse", lsv1alpha1.PhaseSucceeded)
	s.create(t, s.snail("old"))
	s.calm(t, "snail", lsv1alpha1.PhaseSucceeded)
	s.create(t, s.root("badger", s.night()).Reconcile().Build())
	s.until(t, "snore", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	for _, root := range []string{"bear", "mouse", "badger"} {
		s.patch(t, s.installation(root), `{"metadata":{"annotations":{%q:"true"}}}`, lsv1alpha1.SuspendAnnotation)
	}
	s.ask(t, "badger", lsv1alpha1.OperationReconcile)
	s.finishItem(t, "snore")
	testkit.Eventually(t, s.APIServer, s.installation("badger"), testkit.Is("done with its job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.JobID != "" && i.Status.IsFinished() && i.Status.Phase == lsv1alpha1.PhaseSucceeded
	}))
	s.rest(t, "asleep")
}

// disturb changes specs and requests jobs and updates. Nothing starts; the rules say so of each write.
func disturb(t *testing.T, s *scene) {
	s.replace(t, s.root("bear", s.winter("new", "honey")).Build())
	s.replace(t, s.flow("mouse", s.winter("new", "grain")).Build())
	s.replace(t, s.root("badger", s.night(mockItem("dream", succeeds, nil))).Build())
	s.ask(t, "bear", lsv1alpha1.OperationReconcile)
	s.ask(t, "mouse", lsv1alpha1.OperationForceReconcile)
	s.rest(t, "disturbed")
	s.holds(t, "honey", "old")
	s.holds(t, "grain", "old")
	for _, root := range []string{"bear", "mouse", "badger"} {
		inst := s.installation(root)
		if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(inst), inst); err != nil {
			t.Fatal(err)
		}
		if inst.Annotations[lsv1alpha1.OperationAnnotation] == "" || inst.Status.Phase != lsv1alpha1.PhaseSucceeded {
			t.Errorf("%s does not wait: annotations %v, phase %s", root, inst.Annotations, inst.Status.Phase)
		}
	}
}

// wake resumes the roots: what was requested starts once.
func wake(t *testing.T, s *scene) {
	for _, root := range []string{"bear", "mouse", "badger"} {
		s.patch(t, s.installation(root), `{"metadata":{"annotations":{%q:null}}}`, lsv1alpha1.SuspendAnnotation)
	}
	s.finishItem(t, "snore")
	s.succeeds(t, "badger")
	s.succeeds(t, "bear")
	s.holds(t, "honey", "new")
	s.holds(t, "grain", "new")
	s.calm(t, "mouse", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "awake")
}

// drowse suspends a root of the continuous flow as soon as something below it has another spec. Then an update has started, whether or not
// the status of the root says so, and it finishes.
func drowse(t *testing.T, s *scene) {
	den := s.nested(t, "mouse")
	s.replace(t, s.flow("mouse", s.winter("newer", "grain")).Build())
	testkit.Eventually(t, s.APIServer, den.DeepCopy(), testkit.Is("updated", func(i *lsv1alpha1.Installation) bool {
		return i.Generation > den.Generation
	}))
	s.patch(t, s.installation("mouse"), `{"metadata":{"annotations":{%q:"true"}}}`, lsv1alpha1.SuspendAnnotation)
	s.calm(t, "mouse", lsv1alpha1.PhaseSucceeded)
	s.holds(t, "grain", "newer")
	s.hide(t)
	s.rest(t, "drowsy")
}

// snail imports nothing, so that an update writes nothing but its execution.
func (s *scene) snail(shell string) *lsv1alpha1.Installation {
	b := blueprint{alone: true, items: []any{mockItem("crawl", succeeds, map[string]any{"shell": shell})}}
	return testkit.Installation(s.namespace, "snail").Blueprint(b.text()).Continuous().Build()
}

// hide does to the snail what drowse does to the mouse: only the mark on the execution shows that an update has started.
func (s *scene) hide(t *testing.T) {
	t.Helper()
	s.replace(t, s.snail("new"))
	testkit.Eventually(t, s.APIServer, testkit.Execution(s.namespace, "snail").Build(), testkit.Is("updated", func(e *lsv1alpha1.Execution) bool {
		return e.Generation > 1
	}))
	s.patch(t, s.installation("snail"), `{"metadata":{"annotations":{%q:"true"}}}`, lsv1alpha1.SuspendAnnotation)
	s.calm(t, "snail", lsv1alpha1.PhaseSucceeded)
}

// nested returns the only installation below a root.
func (s *scene) nested(t testing.TB, root string) *lsv1alpha1.Installation {
	t.Helper()
	var list lsv1alpha1.InstallationList
	below := client.MatchingLabels{lsv1alpha1.EncompassedByLabel: root}
	if err := s.Client().List(t.Context(), &list, client.InNamespace(s.namespace), below); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d installations below %s: %v", len(list.Items), root, err)
	}
	return &list.Items[0]
}

// rouse resumes that root, with yet another spec.
func rouse(t *testing.T, s *scene) {
	s.replace(t, s.flow("mouse", s.winter("newest", "grain")).Build())
	s.patch(t, s.installation("mouse"), `{"metadata":{"annotations":{%q:null}}}`, lsv1alpha1.SuspendAnnotation)
	s.holds(t, "grain", "newest")
	s.calm(t, "mouse", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "roused")
}

// draft has a job succeed.
func draft(t *testing.T, s *scene) {
	s.create(t, s.ink("black"), s.root("letter", s.letter("Dear"), "ink").Reconcile().Build())
	s.succeeds(t, "letter")
	s.holds(t, "page", "Dear black")
	s.rest(t, "drafted")
}

// revise has the next job wait with the spec of the first one, until there is another: the first keeps its result.
func revise(t *testing.T, s *scene) {
	s.drop(t, s.ink(""))
	s.ask(t, "letter", lsv1alpha1.OperationReconcile)
	testkit.Eventually(t, s.APIServer, s.installation("letter"), testkit.Is("waiting for ink", func(i *lsv1alpha1.Installation) bool {
		return !i.Status.IsFinished() && i.Status.LastError != nil
	}))
	s.replace(t, s.root("letter", s.letter("Hello"), "ink").Build())
	s.create(t, s.ink("blue"))
	s.succeeds(t, "letter")
	s.holds(t, "page", "Hello blue")
	s.rest(t, "revised")
}

func (s *scene) letter(greeting string) blueprint {
	return blueprint{imports: []string{"ink"}, items: []any{manifestItem("write", s.namespace, greeting+" {{ .imports.ink }}", "page")}}
}

func (s *scene) ink(colour string) *lsv1alpha1.DataObject {
	return testkit.DataObject(s.namespace, "ink", colour).Build()
}
