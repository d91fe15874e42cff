// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Recorder records every state of the objects of a namespace, over its own connection without faults.
//
// It misses nothing: it watches from the revision of its first list on and resumes a closed watch from the last revision seen. If the
// server has discarded the next revisions, the test fails, unless the test itself has restarted the server. The only thing that a query may
// not show yet is an object that was created and deleted again in the last instant before it.
type Recorder struct {
	t       testing.TB
	server  *APIServer
	records []*record

	mutex   sync.Mutex
	history History
	newest  time.Time     // when the newest write was seen
	changed chan struct{} // closed and replaced after each record
}

// Selection chooses what to record.
type Selection struct {
	kinds           []client.Object
	groups          []string
	namespace, name string // empty for the namespace that is recorded, and for all names
}

// In chooses the same in another namespace than the one that is recorded.
func (s Selection) In(namespace string) Selection {
	s.namespace = namespace
	return s
}

// Named chooses only the objects with a name: of a kind without namespaces, there would be those of all tests.
func (s Selection) Named(name string) Selection {
	s.name = name
	return s
}

// Kinds chooses the kinds of the given objects.
func Kinds(objects ...client.Object) Selection { return Selection{kinds: objects} }

// Groups chooses all namespaced resources of the given API groups, such as landscaper.gardener.cloud.
func Groups(groups ...string) Selection { return Selection{groups: groups} }

// Record records a namespace, or all of them for "", until the end of the test, and prints the history if the test fails. It records
// everything that is written after Record has returned.
func Record(t testing.TB, server *APIServer, namespace string, selections ...Selection) *Recorder {
	t.Helper()
	r := &Recorder{t: t, server: server, changed: make(chan struct{}), newest: time.Now()}
	places, err := server.selected(namespace, selections)
	if err != nil {
		t.Fatalf("choose what to record: %v", err)
	}
	if len(places) == 0 {
		t.Fatal("nothing was chosen to be recorded")
	}
	for _, place := range places {
		r.records = append(r.records, newRecord(r, place))
	}
	for _, record := range r.records {
		if err := record.follower.listOnce(t.Context()); err != nil {
			t.Fatalf("begin to record: %v", err)
		}
	}
	r.start()
	return r
}

func (r *Recorder) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	for _, record := range r.records {
		running.Go(func() {
			if err := record.follower.run(ctx); !errors.Is(err, context.Canceled) {
				r.t.Errorf("the recorder gave up: %v", err)
			}
		})
	}
	r.t.Cleanup(func() {
		cancel()
		running.Wait()
		if r.t.Failed() {
			r.t.Log("what happened meanwhile:\n" + r.snapshot().String())
		}
	})
}

// place is where objects to record are found.
type place struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (p place) compare(other place) int {
	return cmp.Or(
		strings.Compare(p.resource.String(), other.resource.String()),
		strings.Compare(p.namespace, other.namespace),
		strings.Compare(p.name, other.name),
	)
}

func (s *APIServer) selected(namespace string, selections []Selection) ([]place, error) {
	var places []place
	for _, selection := range selections {
		selection.namespace = cmp.Or(selection.namespace, namespace)
		found, err := s.placesOf(selection)
		if err != nil {
			return nil, err
		}
		places = append(places, found...)
	}
	slices.SortFunc(places, place.compare)
	return slices.Compact(places), nil
}

func (s *APIServer) placesOf(selection Selection) ([]place, error) {
	var places []place
	for _, object := range selection.kinds {
		mapping, err := s.resourceOf(object)
		if err != nil {
			return nil, err
		}
		found := place{resource: mapping.Resource, namespace: selection.namespace, name: selection.name}
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			found.namespace = ""
		}
		places = append(places, found)
	}
	for _, group := range selection.groups {
		resources, err := s.resourcesOf(group)
		if err != nil {
			return nil, err
		}
		for _, resource := range resources {
			places = append(places, place{resource: resource, namespace: selection.namespace, name: selection.name})
		}
	}
	return places, nil
}

func (s *APIServer) resourcesOf(group string) ([]schema.GroupVersionResource, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfig(s.Config())
	if err != nil {
		return nil, fmt.Errorf("find the resources of group %q: %w", group, err)
	}
	found, err := discoverer.ServerPreferredNamespacedResources()
	if err != nil {
		return nil, fmt.Errorf("find the resources of group %q: %w", group, err)
	}
	var resources []schema.GroupVersionResource
	for _, list := range found {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("find the resources of group %q: %w", group, err)
		}
		for _, resource := range list.APIResources {
			if version.Group == group && watchable(resource) {
				resources = append(resources, version.WithResource(resource.Name))
			}
		}
	}
	if len(resources) == 0 {
		return nil, fmt.Errorf("the server has no group %q", group)
	}
	return resources, nil
}

func watchable(resource metav1.APIResource) bool {
	return slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "watch")
}

// add is called for each revision, by one goroutine per resource.
func (r *Recorder) add(revisions ...Revision) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, revision := range revisions {
		if revision.Change != Existing {
			r.newest = revision.Seen
		}
	}
	r.history = append(r.history, revisions...)
	close(r.changed)
	r.changed = make(chan struct{})
}

// snapshot returns everything recorded so far, in the order of the server's revisions.
func (r *Recorder) snapshot() History {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	history := slices.Clone(r.history)
	slices.SortStableFunc(history, func(a, b Revision) int { return cmp.Compare(a.Version(), b.Version()) })
	return history
}

// History returns everything recorded up to now.
func (r *Recorder) History() History {
	r.t.Helper()
	r.catchUp(r.t)
	return r.snapshot()
}

// Of returns the history of one object, up to now.
func (r *Recorder) Of(object client.Object) History {
	r.t.Helper()
	kind, err := apiutil.GVKForObject(object, r.server.Client().Scheme())
	if err != nil {
		r.t.Fatalf("find the kind of a %T: %v", object, err)
	}
	id := ObjectID{Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	return r.History().Where(func(revision Revision) bool { return revision.ID() == id })
}

// Since returns the part of the history that came after the given one, as of now: what a quiet world has written.
//
//	before := recorder.History()
//	...
//	if writes := recorder.Since(before); len(writes) > 0 { ...
func (r *Recorder) Since(earlier History) History {
	r.t.Helper()
	type state struct {
		id      ObjectID
		version uint64
		change  Change
	}
	old := map[state]bool{}
	for _, revision := range earlier {
		old[state{revision.ID(), revision.Version(), revision.Change}] = true
	}
	return r.History().Where(func(revision Revision) bool {
		return !old[state{revision.ID(), revision.Version(), revision.Change}]
	})
}

// quietRounds is the number of parts into which Quiet divides its period. After each, it reads the server's state: a machine that pauses,
// together with the code under test, covers at most one part.
const quietRounds = 3

// Quiet waits until nothing is written for the given period, which takes longer with a slow server. A world that keeps writing fails the
// test.
func (r *Recorder) Quiet(t testing.TB, period time.Duration, options ...WaitOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience(t, options))
	defer cancel()
	began := r.snapshot()
	newest, changed := r.newestWrite()
	for calm := 0; calm < quietRounds; {
		select {
		case <-changed:
		case <-time.After(period / quietRounds):
			r.catchUp(t)
			calm++
		case <-ctx.Done():
			t.Fatalf("the world did not come to rest for %s:\n%s", period, r.Since(began))
		}
		before := newest
		if newest, changed = r.newestWrite(); !newest.Equal(before) {
			calm = 0
		}
	}
}

// newestWrite returns when the newest write was seen, and a channel that is closed at the next one.
func (r *Recorder) newestWrite() (time.Time, <-chan struct{}) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.newest, r.changed
}

// catchUp waits until everything that the server currently holds has been recorded.
func (r *Recorder) catchUp(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience(t, nil))
	defer cancel()
	for _, record := range r.records {
		if err := record.catchUp(ctx); err != nil {
			t.Fatalf("the recorder lags behind: %v", err)
		}
	}
}
