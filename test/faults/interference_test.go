// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// What a user may do at a write of the controllers. The workload "tended" can take it.
const (
	userInterrupts deed = "interrupt"
	userAsksAgain  deed = "ask"
	userAlters     deed = "alter"
	userRemoves    deed = "remove"
)

var userDeeds = []deed{userInterrupts, userAsksAgain, userAlters, userRemoves}

// tend is a tree whose user interferes while it grows, and in the end wants it after all as it was.
func tend(t *testing.T, s *scene) {
	wanted := func() *testkit.InstallationBuilder {
		return s.root("garden", tree(s.namespace), "size").ExportData("crop", "harvest").Reconcile()
	}
	s.create(t, s.sized("small"), wanted().Build())
	s.settles(t, "garden")
	s.recorder.Quiet(t, restLength)
	s.mark = len(s.processes.log().Writes())
	err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(s.installation("garden")), &lsv1alpha1.Installation{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err == nil {
		spec := wanted().Build().Spec
		s.patch(t, s.installation("garden"), `{"spec":%s}`, mustJSON(map[string]any{"blueprint": spec.Blueprint, "exports": spec.Exports}))
		s.ask(t, "garden", lsv1alpha1.OperationReconcile)
	} else {
		s.create(t, wanted().Build())
	}
	s.succeeds(t, "garden")
	s.rest(t, "as wanted")
}

// settles waits until an installation has finished a job, however it went, or is gone.
func (s *scene) settles(t testing.TB, name string) {
	t.Helper()
	begun := testkit.Eventually(t, s.APIServer, s.installation(name), testkit.Is("there", func(*lsv1alpha1.Installation) bool { return true }))
	events, err := s.Client().Watch(t.Context(), &lsv1alpha1.InstallationList{}, client.InNamespace(s.namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatalf("watch installation %s: %v", name, err)
	}
	defer events.Stop()
	deadline, cancel := context.WithTimeout(t.Context(), patience)
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

// interfere does what the user does. It is called while the controllers wait for it.
func (d disturbance) interfere(t *testing.T, s *scene) {
	operation := func(o lsv1alpha1.Operation) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, lsv1alpha1.OperationAnnotation, o)
	}
	var err error
	garden := s.installation("garden")
	switch d.deed {
	case userInterrupts:
		err = s.try(garden, operation(lsv1alpha1.OperationInterrupt))
	case userAsksAgain:
		err = s.try(garden, operation(lsv1alpha1.OperationReconcile))
	case userAlters:
		smaller := s.root("garden", blueprint{imports: []string{"size"}, items: []any{mockItem("mow", succeeds, nil)}}).Build()
		err = s.try(garden, string(mustJSON(map[string]any{"spec": map[string]any{"blueprint": smaller.Spec.Blueprint, "exports": nil}})))
	case userRemoves:
		err = s.Client().Delete(context.Background(), garden)
	}
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("%s: %v", d, err)
	}
}

func (s *scene) try(object client.Object, patch string) error {
	return s.Client().Patch(context.Background(), object, mergePatch(patch))
}

// A user who, during the first job, interrupts, asks again, changes his mind or deletes, at any write, gets what he wants in the end.
func TestUserInterferesAtEveryWrite(t *testing.T) {
	w := workloadNamed(t, "tended")
	var all []disturbance
	for i, entry := range reference(t, w).log.Writes()[:reference(t, w).mark] {
		for j, d := range userDeeds {
			if *full || i%len(userDeeds) == j {
				all = append(all, disturbance{deed: d, at: entry.Write})
			}
		}
	}
	sweep(t, w, sample(all, 11, 3))
}
