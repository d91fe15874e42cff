// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// What a user may do at a write of the controllers, in the workloads "tended" and "minded".
const (
	userInterrupts processFault = "interrupt"
	userAsksAgain  processFault = "ask"
	userAlters     processFault = "alter"
	userRemoves    processFault = "remove"
)

// What only a user of the continuous flow may do.
const (
	userAborts processFault = "abort"
	userForces processFault = "force"
)

// userEnds deletes the namespace. The workload "raze" can handle it.
const userEnds processFault = "end"

var (
	userFaults       = []processFault{userInterrupts, userAsksAgain, userAlters, userRemoves}
	continuousFaults = []processFault{userAborts, userForces, userAsksAgain, userAlters, userRemoves}
)

// tend is a tree whose user interferes while it is deployed, and finally wants it as it was at first.
func tend(t *testing.T, s *scene) {
	wanted := func() *testkit.InstallationBuilder {
		return s.root("garden", tree(s.namespace), "size").ExportData("crop", "harvest").Reconcile()
	}
	s.create(t, s.sized("small"), wanted().Build())
	s.settles(t, "garden")
	s.recorder.Quiet(t, restLength)
	s.mark = len(s.processes.Log().Writes())
	s.wantAgain(t, wanted().Build())
	s.succeeds(t, "garden")
	s.rest(t, "as wanted")
}

// mind is the same in the continuous flow.
func mind(t *testing.T, s *scene) {
	s.continuous = true
	wanted := s.flow("garden", tree(s.namespace), "size").ExportData("crop", "harvest")
	s.create(t, s.sized("small"), wanted.Build())
	s.atRest(t)
	s.mark = len(s.processes.Log().Writes())
	s.wantAgain(t, wanted.Build())
	s.holds(t, "basket", "small-soil-crop")
	s.exported(t, "harvest", "small-soil-crop")
	s.calm(t, "garden", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "as wanted")
}

// wantAgain restores the first spec of an installation and requests a job, or recreates it if it is gone.
func (s *scene) wantAgain(t *testing.T, wanted *lsv1alpha1.Installation) {
	t.Helper()
	err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(wanted), &lsv1alpha1.Installation{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		s.create(t, wanted)
		return
	}
	s.patch(t, wanted.DeepCopy(), `{"spec":%s}`, mustJSON(map[string]any{"blueprint": wanted.Spec.Blueprint, "exports": wanted.Spec.Exports}))
	s.ask(t, wanted.Name, lsv1alpha1.OperationReconcile)
}

// settles waits until an installation has finished a job, in any phase, or is gone.
func (s *scene) settles(t testing.TB, name string) {
	t.Helper()
	begun := testkit.Eventually(
		t,
		s.APIServer,
		s.installation(name),
		testkit.Is("there", func(*lsv1alpha1.Installation) bool { return true }),
	)
	events, err := s.Client().
		Watch(t.Context(), &lsv1alpha1.InstallationList{}, client.InNamespace(s.namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatalf("watch installation %s: %v", name, err)
	}
	defer events.Stop()
	deadline, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	for {
		select {
		case event, open := <-events.ResultChan():
			now, ok := event.Object.(*lsv1alpha1.Installation)
			if !open || ok && (event.Type == "DELETED" || now.UID != begun.UID || now.Status.JobID != "" && now.Status.IsFinished()) {
				return
			}
		case <-deadline.Done():
			t.Fatalf("installation %s neither finishes nor goes", name)
		}
	}
}

// interfere does what the user does. The controllers wait meanwhile.
func (d disturbance) interfere(t *testing.T, s *scene) {
	operation := func(o lsv1alpha1.Operation) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, lsv1alpha1.OperationAnnotation, o)
	}
	var err error
	garden := s.installation("garden")
	switch d.processFault {
	case userInterrupts:
		err = s.try(garden, operation(lsv1alpha1.OperationInterrupt))
	case userAborts:
		err = s.try(garden, operation(lsv1alpha1.OperationAbort))
	case userForces:
		err = s.try(garden, operation(lsv1alpha1.OperationForceReconcile))
	case userAsksAgain:
		err = s.try(garden, operation(lsv1alpha1.OperationReconcile))
	case userAlters:
		smaller := s.root("garden", blueprint{imports: []string{"size"}, items: []any{mockItem("mow", succeeds, nil)}}).Build()
		if s.continuous {
			smaller = s.root("garden", blueprint{imports: []string{"size"}, subs: tree(s.namespace).subs[:2]}).Build()
		}
		err = s.try(garden, string(mustJSON(map[string]any{"spec": map[string]any{"blueprint": smaller.Spec.Blueprint, "exports": nil}})))
	case userRemoves:
		err = s.Client().Delete(context.Background(), garden)
	case userEnds:
		err = s.end(t)
	}
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("%s: %v", d, err)
	}
}

func (s *scene) try(object client.Object, patch string) error {
	return s.Client().Patch(context.Background(), object, mergePatch(patch))
}

// A user who interrupts, requests again, changes the spec or deletes while the first request is being processed, at any write, finally gets
// what he wants.
func TestUserInterferes(t *testing.T) {
	t.Parallel()
	processFaultsOf := map[string][]processFault{"tended": userFaults, "minded": continuousFaults}
	for number, name := range slices.Sorted(maps.Keys(processFaultsOf)) {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		processFaults := processFaultsOf[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workloadNamed(t, name)
			// The number of writes differs a little from run to run: at the last ones the user may have finished already.
			mark := reference(t, w).mark * 3 / 4
			var all []disturbance
			// Before the first write, nothing has started that could be interfered with.
			for write := 2; write <= mark; write++ {
				for j, d := range processFaults {
					if *full || write == 2+(mark-2)*j/len(processFaults) || write == mark-(mark-2)*j/len(processFaults) {
						all = append(all, disturbance{processFault: d, at: write})
					}
				}
			}
			sweep(t, w, all)
		})
	}
}
