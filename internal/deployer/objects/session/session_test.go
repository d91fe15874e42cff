// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/cluster"
)

// watched is a cluster that only supports watches. It counts them.
type watched struct {
	cluster.Cluster
	fails bool

	mutex  sync.Mutex
	active map[client.ObjectKey]int
	// stopped receives a value when a watch ends, if it is not nil.
	stopped chan struct{}
}

func (w *watched) Watch(_ schema.GroupVersionKind, key client.ObjectKey, _ func()) (func(), error) {
	if w.fails {
		return nil, errors.New("no watches today")
	}
	w.add(key, 1)
	return func() {
		w.add(key, -1)
		if w.stopped != nil {
			w.stopped <- struct{}{}
		}
	}, nil
}

func (w *watched) add(key client.ObjectKey, number int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.active[key] += number
}

func (w *watched) count() (total int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, n := range w.active {
		total += n
	}
	return total
}

func subjects(w *watched, names ...string) []cluster.Subject {
	var result []cluster.Subject
	for _, name := range names {
		result = append(result, cluster.Subject{Cluster: w, Key: client.ObjectKey{Name: name}})
	}
	return result
}

func item(job string) *lsv1alpha1.DeployItem {
	item := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{UID: "1", Generation: 1}}
	item.Status.JobID = job
	return item
}

func newSessions() *Sessions[map[string]bool] {
	return New(time.Minute, func() map[string]bool { return map[string]bool{} })
}

func TestASessionLastsForAJob(t *testing.T) {
	w := &watched{active: map[client.ObjectKey]int{}}
	sessions := newSessions()
	first := sessions.Of(item("a"))
	first.Memory["done"] = true
	if fresh, err := first.Follow(subjects(w, "x", "y"), func() {}); !fresh || err != nil {
		t.Fatalf("%v, %v", fresh, err)
	}
	if fresh, err := sessions.Of(item("a")).Follow(subjects(w, "y"), func() {}); fresh || err != nil || w.count() != 1 {
		t.Errorf("%v, %v, %d watches", fresh, err, w.count())
	}
	changed := item("a")
	changed.Generation = 2
	for _, other := range []*lsv1alpha1.DeployItem{changed, item("b")} {
		next := sessions.Of(other)
		if next.Memory["done"] || w.count() != 0 {
			t.Errorf("the next job remembers %v and has %d watches", next.Memory, w.count())
		}
		next.Memory["done"] = true
		if _, err := next.Follow(subjects(w, "x"), func() {}); err != nil {
			t.Fatal(err)
		}
	}
	sessions.End(item("b"))
	if sessions.Len() != 0 || w.count() != 0 {
		t.Errorf("after the end: %d sessions, %d watches", sessions.Len(), w.count())
	}
	sessions.End(item("b"))
}

// Time is that of a synctest bubble: it advances while all goroutines wait, here for the end of the session.
func TestAForgottenSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{active: map[client.ObjectKey]int{}, stopped: make(chan struct{}, 1)}
		sessions, begun := newSessions(), time.Now()
		session := sessions.Of(item("a"))
		if _, err := session.Follow(subjects(w, "x"), func() {}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Second, func() { sessions.Of(item("a")) }) //lint:allow patience the time is that of a synctest bubble
		<-w.stopped
		synctest.Wait()
		if lasted := time.Since(begun); lasted != 110*time.Second || sessions.Len() != 0 || w.count() != 0 {
			t.Errorf("it has lasted %s; left are %d sessions, %d watches", lasted, sessions.Len(), w.count())
		}
		// A pass that is still running does not restore watches.
		if fresh, err := session.Follow(subjects(w, "x"), func() {}); fresh || err != nil || w.count() != 0 {
			t.Errorf("%v, %v, %d watches", fresh, err, w.count())
		}
	})
}

func TestAWatchThatFails(t *testing.T) {
	w := &watched{active: map[client.ObjectKey]int{}, fails: true}
	_, err := newSessions().Of(item("a")).Follow(subjects(w, "x"), func() {})
	if err == nil || !strings.Contains(err.Error(), "no watches today") {
		t.Errorf("the error is %v", err)
	}
}
