// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// record is a recorder's view of one resource.
type record struct {
	recorder *Recorder
	follower follower
	starts   int // of the server, when the resource was last listed

	// known holds the newest revision of each object, including deleted ones. Guarded by the recorder's lock.
	known map[types.NamespacedName]Revision
}

func newRecord(r *Recorder, p place) *record {
	s := &record{recorder: r, known: map[types.NamespacedName]Revision{}}
	s.follower = follower{
		server: r.server, resource: p.resource, namespace: p.namespace, name: p.name,
		listed: s.listed, event: s.event, expired: s.expired,
	}
	return s
}

// listed records the first list as existing objects. A later list follows a restart of the server: it is compared with the known revisions.
func (s *record) listed(items []unstructured.Unstructured) error {
	first := s.starts == 0
	s.starts = s.recorder.server.startCount()
	present := map[types.NamespacedName]bool{}
	for i := range items {
		item := &items[i]
		present[nameOf(item)] = true
		switch before, known := s.newest(nameOf(item)); {
		case first:
			s.note(Revision{Change: Existing, Object: item})
		case !known || before.Change == Deleted:
			s.note(Revision{Change: Added, Object: item, AfterGap: true})
		case before.Object.GetResourceVersion() != item.GetResourceVersion():
			s.note(Revision{Change: Modified, Object: item, AfterGap: true})
		}
	}
	for _, missing := range s.living() {
		if !present[nameOf(missing)] {
			s.note(Revision{Change: Deleted, Object: missing, AfterGap: true})
		}
	}
	return nil
}

func (s *record) event(kind watch.EventType, object *unstructured.Unstructured) error {
	s.note(Revision{Change: Change(strings.ToLower(string(kind))), Object: object})
	return nil
}

// expired is called when revisions are permanently lost.
func (s *record) expired() error {
	if s.recorder.server.startCount() == s.starts {
		return fmt.Errorf("the server no longer has the revisions of %s that follow %s, so the history has a hole: "+
			"the watch was away for too long, or the server compacted its data", s.follower.resource.Resource, s.follower.seen)
	}
	return nil
}

func (s *record) note(revision Revision) {
	revision.Seen = time.Now()
	s.recorder.mutex.Lock()
	s.known[nameOf(revision.Object)] = revision
	s.recorder.mutex.Unlock()
	s.recorder.add(revision)
}

func (s *record) newest(name types.NamespacedName) (Revision, bool) {
	s.recorder.mutex.Lock()
	defer s.recorder.mutex.Unlock()
	revision, found := s.known[name]
	return revision, found
}

func (s *record) living() []*unstructured.Unstructured {
	s.recorder.mutex.Lock()
	defer s.recorder.mutex.Unlock()
	var objects []*unstructured.Unstructured
	for _, revision := range s.known {
		if revision.Change != Deleted {
			objects = append(objects, revision.Object)
		}
	}
	return objects
}

// catchUp lists the resource and waits until everything in the list, and the absence of everything else, has been recorded.
func (s *record) catchUp(ctx context.Context) error {
	list, err := s.follower.client().List(ctx, s.follower.options())
	if err != nil {
		return fmt.Errorf("list %s: %w", s.follower.resource.Resource, err)
	}
	for {
		s.recorder.mutex.Lock()
		changed := s.recorder.changed
		s.recorder.mutex.Unlock()
		behind := s.behind(list)
		if behind == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s %s is not recorded: %w", s.follower.resource.Resource, behind, ctx.Err())
		}
	}
}

// behind names an object whose current state has not been recorded yet.
func (s *record) behind(list *unstructured.UnstructuredList) string {
	present := map[types.NamespacedName]bool{}
	for i := range list.Items {
		item := &list.Items[i]
		present[nameOf(item)] = true
		noted, known := s.newest(nameOf(item))
		if !known || noted.Version() < versionNumber(item.GetResourceVersion()) {
			return nameOf(item).String()
		}
	}
	for _, object := range s.living() {
		created := versionNumber(object.GetResourceVersion())
		if !present[nameOf(object)] && created <= versionNumber(list.GetResourceVersion()) {
			return nameOf(object).String()
		}
	}
	return ""
}

func nameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
