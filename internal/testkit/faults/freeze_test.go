// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestBeforeInterferesAtItsWrite(t *testing.T) {
	w := newWorld(t, "")
	w.transport.Before(2, func() { w.write("second", "theirs") })
	if err := w.faulty.Create(t.Context(), w.configMap("first")); err != nil {
		t.Fatal(err)
	}
	if w.stored("second") {
		t.Error("it interfered too early")
	}
	if err := w.faulty.Create(t.Context(), w.configMap("second")); client.IgnoreAlreadyExists(err) != nil || err == nil {
		t.Errorf("the second write: %v, want that others were first", err)
	}
}

func TestBeforeNthCountsOnlyWhatMatches(t *testing.T) {
	w := newWorld(t, "")
	w.transport.BeforeNth(2, "create/configmaps", func() { w.write("second", "theirs") })
	first := w.configMap("first")
	for _, write := range []func() error{
		func() error { return w.faulty.Create(t.Context(), first) },
		func() error { return w.faulty.Update(t.Context(), first) },
		func() error { return w.faulty.Delete(t.Context(), first) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if w.stored("second") {
		t.Error("it interfered too early")
	}
	if err := w.faulty.Create(t.Context(), w.configMap("second")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the second creation: %v, want that others were first", err)
	}
}

// Requests that a frozen process was about to send are sent after the thaw, although the world has changed.
func TestAFrozenProcessSendsOldRequestsLater(t *testing.T) {
	w := newWorld(t, "")
	w.write("a", "1")
	old := w.configMap("a")
	if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(old), old); err != nil {
		t.Fatal(err)
	}
	reached, told := make(chan struct{}), make(chan error)
	w.transport.Before(1, func() { w.transport.Freeze(); close(reached) })
	go func() { told <- w.faulty.Update(t.Context(), old) }()
	<-reached
	w.write("a", "2")
	w.transport.Thaw()
	if err := <-told; err == nil || client.IgnoreNotFound(err) == nil {
		t.Errorf("the old write: %v, want a conflict", err)
	}
}

func TestAFrozenRequestCanBeGivenUp(t *testing.T) {
	w := newWorld(t, "")
	w.transport.Freeze()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.faulty.Create(ctx, w.configMap("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	told := make(chan error)
	go func() { told <- w.faulty.Create(t.Context(), w.configMap("a")) }()
	w.transport.Crash()
	if err := <-told; !isReset(err) && !isRefused(err) {
		t.Errorf("after a crash: %v", err)
	}
	if w.stored("a") {
		t.Error("a frozen write went through")
	}
}

func TestOpenWatchesAreCounted(t *testing.T) {
	w := newWorld(t, "")
	watcher, err := w.faulty.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	if open := w.transport.OpenWatches(); open != 1 {
		t.Errorf("%d watches are open, want 1", open)
	}
	watcher.Stop()
	for range watcher.ResultChan() { // until the client has closed it
	}
	if open := w.transport.OpenWatches(); open != 0 {
		t.Errorf("%d watches are open after the end", open)
	}
}
