// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/testkit/faults"
)

// overFaults returns the shared server as seen through a faulty connection. The recorder's own connection has no faults, but the server may
// close a watch at any time, and this is how to make it do so.
func overFaults(t *testing.T) (*APIServer, *faults.Transport) {
	t.Helper()
	transport := faults.New(faults.Plan{})
	faulty := &APIServer{starts: 1}
	var err error
	if faulty.access, err = newAccess(transport.Config(Server(t).Config())); err != nil {
		t.Fatal(err)
	}
	return faulty, transport
}

func TestRecorderResumesAClosedWatch(t *testing.T) {
	server, transport := overFaults(t)
	namespace := Server(t).Namespace(t)
	recorder := Record(t, server, namespace, Kinds(&corev1.ConfigMap{}))
	var want []string
	for round := range 30 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("round-%02d", round)}}
		if err := Server(t).Client().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		want = append(want, object.Name)
		switch round % 3 {
		case 0:
			transport.Cut("configmaps")
		case 2:
			recorder.History() // which needs a new watch
		}
	}
	var got []string
	for _, revision := range recorder.History() {
		got = append(got, revision.ID().Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	watches := transport.Log().Where(func(e faults.Entry) bool { return e.Verb == "watch" })
	if len(watches) < 10 {
		t.Errorf("there were only %d watches, so nothing was cut", len(watches))
	}
}

// withheld creates a config map that the recorder does not see until the hold is released.
func withheld(t *testing.T, transport *faults.Transport, namespace string) {
	t.Helper()
	transport.Hold("configmaps")
	Create(t, Server(t), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "first"}})
	if err := transport.AwaitHeld(t.Context(), "configmaps", 1); err != nil {
		t.Fatal(err)
	}
}

// Watches of different resources may lag differently; the history shows the order in which objects were stored.
func TestHistoryIsInTheServersOrder(t *testing.T) {
	server, transport := overFaults(t)
	namespace := Server(t).Namespace(t)
	recorder := Record(t, server, namespace, Kinds(&corev1.ConfigMap{}, &corev1.Secret{}))
	withheld(t, transport, namespace)
	recorder.mutex.Lock()
	changed := recorder.changed
	recorder.mutex.Unlock()
	Create(t, Server(t), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "second"}})
	receive(t, changed)
	if seen := recorder.snapshot(); len(seen) != 1 || seen[0].ID().Name != "second" {
		t.Fatalf("seen so far: %v", seen)
	}
	transport.Release("configmaps")
	history := recorder.History()
	if len(history) != 2 || history[0].ID().Name != "first" || history[1].ID().Name != "second" {
		t.Errorf("the history is\n%s", history)
	}
}

// A write that the recorder has not seen yet still disturbs the quiet.
func TestQuietHearsWhatIsUnderWay(t *testing.T) {
	server, transport := overFaults(t)
	namespace := Server(t).Namespace(t)
	recorder := Record(t, server, namespace, Kinds(&corev1.ConfigMap{}))
	withheld(t, transport, namespace)
	const period = 500 * time.Millisecond
	time.AfterFunc(2*period, func() { transport.Release("configmaps") })
	recorder.Quiet(t, period)
	history := recorder.snapshot()
	if len(history) != 1 {
		t.Fatalf("quiet before the write was seen: %v", history)
	}
	if rest := time.Since(history[0].Seen); rest < period {
		t.Errorf("quiet %s after a write, not %s", rest, period)
	}
}

// A crashed server ends every wait at once, with its last output.
func TestWaitsEndWithAFallenServer(t *testing.T) {
	server := NewServer(t)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "a"}}
	follower := newWaiting(t, server, object).follower
	listed := make(chan struct{})
	follower.listed = func([]unstructured.Unstructured) error { close(listed); return nil }
	ended := make(chan error, 1)
	go func() { ended <- follower.run(t.Context()) }()
	<-listed
	server.process.Kill() // behind the kit's back
	if err := receive(t, ended); err == nil || !strings.Contains(err.Error(), "ended on its own") {
		t.Errorf("the wait ended with %v", err)
	}
	server.Kill() // so that the end of the test does not complain
}

// receive receives a value from a channel, or fails a test that would otherwise block forever.
func receive[T any](t *testing.T, channel <-chan T) T {
	t.Helper()
	select {
	case value := <-channel:
		return value
	case <-time.After(Patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// lament collects a recorder's messages about a test; it does not end the recorder's goroutine.
type lament struct {
	testing.TB
	said chan string
	once sync.Once
	ctx  context.Context
}

func (l *lament) Context() context.Context  { return l.ctx }
func (l *lament) Errorf(f string, a ...any) { l.once.Do(func() { l.said <- fmt.Sprintf(f, a...) }) }

func TestRecorderDoesNotHideAHole(t *testing.T) {
	server, transport := overFaults(t)
	l := &lament{TB: t, said: make(chan string, 1), ctx: t.Context()}
	namespace := Server(t).Namespace(t)
	Record(l, server, namespace, Kinds(&corev1.ConfigMap{}))
	transport.Hold("configmaps")
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := Server(t).Client().Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if err := transport.AwaitHeld(t.Context(), "configmaps", 1); err != nil {
		t.Fatal(err)
	}
	transport.Expire("configmaps")
	if said := receive(t, l.said); !strings.Contains(said, "configmaps") || !strings.Contains(said, "history has a hole") {
		t.Errorf("it said %q", said)
	}
}
