// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

// warnings waits for an event about an item and returns the Warnings up to it, as "REASON: NOTE", one for each occurrence.
func (w *world) warnings(item *lsv1alpha1.DeployItem, until string) (told []string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), testkit.Patience)
	defer cancel()
	stream, err := w.APIServer.Client().Watch(ctx, &eventsv1.EventList{}, client.InNamespace(w.Namespace))
	if err != nil {
		w.Fatal(err)
	}
	defer stream.Stop()
	for e := range stream.ResultChan() {
		event, ok := e.Object.(*eventsv1.Event)
		if !ok || event.Regarding.UID != item.UID {
			continue
		}
		if event.Type == corev1.EventTypeWarning {
			told = append(told, event.Reason+": "+event.Note)
		}
		if event.Reason == until {
			return told
		}
	}
	w.Fatalf("nobody is told of %s", until)
	return nil
}

func TestPeopleAreWarnedOnceOfWhatIsMissingWhileTheItemWaits(t *testing.T) {
	w := newWorld(t)
	missing := failure.NewRetryable(failure.Details{Operation: "FetchChart", Reason: "RegistryNotFound"}, errors.New("no chart web:1.0.0"))
	d := &scripted{}
	d.deploy = func(context.Context, deployer.Work) (deployer.Progress, error) {
		if d.counted("deploy web") < 4 {
			return deployer.Progress{}, missing
		}
		return deployer.Progress{Done: true}, nil
	}
	w.run(d, deployer.Options{})
	item := w.item("web")
	told := w.warnings(item, string(lsv1alpha1.PhaseSucceeded))
	if len(told) != 1 || !strings.HasPrefix(told[0], "RegistryNotFound: ") || !strings.Contains(told[0], "no chart web:1.0.0") {
		t.Errorf("people are warned of %q", told)
	}
}

func TestPeopleAreWarnedOfATargetThatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	w.run(&scripted{}, deployer.Options{})
	item := w.item("web", on("nowhere"))
	told := w.warnings(item, lsv1alpha1.ReasonNoTargetFound)
	if len(told) != 1 || !strings.Contains(told[0], "Target "+w.Namespace+"/nowhere does not exist") {
		t.Errorf("people are warned of %q", told)
	}
	w.Create(testkit.Target(w.Namespace, "nowhere").Type("example.org/other").Config(map[string]any{}).Build())
	if told := w.warnings(item, string(lsv1alpha1.PhaseSucceeded)); len(told) != 1 {
		t.Errorf("people are warned of %q", told)
	}
}

// Without an execution, nothing else reports that the item has succeeded.
func TestTheSuccessOfAnItemByHandIsAnEvent(t *testing.T) {
	w := newWorld(t)
	w.run(&scripted{}, deployer.Options{})
	w.tells(w.succeeds(w.item("alone")), string(lsv1alpha1.PhaseSucceeded), "everything is deployed")
}
