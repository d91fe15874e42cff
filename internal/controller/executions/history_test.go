// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// record records every state of the objects in the namespace.
func (s *stage) record(t *testing.T) *testkit.Recorder {
	t.Helper()
	return testkit.Record(t, s.APIServer, s.ns, testkit.Kinds(&lsv1alpha1.Execution{}, &lsv1alpha1.DeployItem{}, &lsv1alpha1.DataObject{}))
}

// examine checks what must hold in each state.
func examine(t *testing.T, recorder *testkit.Recorder) {
	t.Helper()
	history := recorder.History()
	if err := newWitness().examine(history); err != nil {
		t.Errorf("%v\n%s", err, history)
	}
}

// witness has seen the newest revision of each deploy item, by its object's name.
type witness struct {
	items map[string]testkit.Revision
	// deleting is set once the deletion of the execution is requested.
	deleting bool
}

func newWitness() *witness { return &witness{items: map[string]testkit.Revision{}} }

// examine checks a history in the server's order.
func (w *witness) examine(history testkit.History) error {
	sorted := slices.Clone(history)
	slices.SortStableFunc(sorted, func(a, b testkit.Revision) int { return int(a.Version()) - int(b.Version()) })
	for _, revision := range sorted {
		var err error
		switch revision.ID().Kind {
		case "Execution":
			err = w.seeExecution(revision)
		case "DeployItem":
			err = w.seeItem(revision)
		}
		if err != nil {
			return fmt.Errorf("version %d of %s: %w", revision.Version(), revision.ID(), err)
		}
	}
	return nil
}

func (w *witness) seeExecution(r testkit.Revision) error {
	w.deleting = r.Field("metadata.deletionTimestamp") != ""
	if r.Change == testkit.Deleted {
		if len(w.items) > 0 {
			return fmt.Errorf("JOB-44: it is gone before its %d deploy items", len(w.items))
		}
		return nil
	}
	job := r.Field("status.jobID")
	if job == "" || job != r.Field("status.jobIDFinished") {
		return nil
	}
	if phase := lsv1alpha1.Phase(r.Field("status.phase")); !phase.IsFinal() {
		return fmt.Errorf("JOB-03: it has finished in phase %q", phase)
	}
	for name, item := range w.items {
		if item.Field("status.jobID") == job && item.Field("status.jobIDFinished") != job {
			return fmt.Errorf("JOB-04: it has finished before %s", name)
		}
	}
	return nil
}

func (w *witness) seeItem(r testkit.Revision) error {
	name := r.Object.GetName()
	before, known := w.items[name]
	if r.Change == testkit.Deleted {
		delete(w.items, name)
		return nil
	}
	w.items[name] = r
	job := r.Field("status.jobID")
	started := known && job != before.Field("status.jobID") && job != r.Field("status.jobIDFinished")
	asked := r.Field("metadata.deletionTimestamp") != "" && (!known || before.Field("metadata.deletionTimestamp") == "")
	switch {
	case started && r.Field("metadata.deletionTimestamp") == "":
		return w.mayStart(r, job)
	case asked && w.deleting:
		return w.mayGo(r)
	}
	return nil
}

func (w *witness) mayStart(r testkit.Revision, job string) error {
	for _, needed := range dependsOn(r) {
		if !w.any(func(item testkit.Revision) bool {
			return nameOf(item) == needed && item.Field("status.jobIDFinished") == job &&
				item.Field("status.phase") == string(lsv1alpha1.PhaseSucceeded)
		}) {
			return fmt.Errorf("JOB-70: it is started before %s has succeeded", needed)
		}
	}
	return nil
}

func (w *witness) mayGo(r testkit.Revision) error {
	if w.any(func(item testkit.Revision) bool { return slices.Contains(dependsOn(item), nameOf(r)) }) {
		return fmt.Errorf("JOB-72: it is deleted while something depends on it")
	}
	return nil
}

func (w *witness) any(holds func(testkit.Revision) bool) bool {
	for _, item := range w.items {
		if holds(item) {
			return true
		}
	}
	return false
}

func nameOf(r testkit.Revision) string {
	return r.Object.GetLabels()[lsv1alpha1.ExecutionManagedNameLabel]
}

func dependsOn(r testkit.Revision) []string {
	annotation := r.Object.GetAnnotations()[lsv1alpha1.ExecutionDependsOnAnnotation]
	return strings.FieldsFunc(annotation, func(r rune) bool { return r == ',' })
}
