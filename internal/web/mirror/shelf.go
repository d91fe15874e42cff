// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// state says whether the objects of a shelf can be read.
type state int

const (
	unread state = iota
	live
	absent    // the cluster does not serve the kind
	forbidden // the account may not list it
)

// shelf holds the objects of one kind, in one namespace or in all. It is both source and store of its reflector.
type shelf struct {
	mirror    *Mirror
	kind      kind
	namespace string
	store     cache.Indexer

	mutex sync.Mutex
	state state
	away  *Problem
}

var (
	_ cache.ReflectorStore           = (*shelf)(nil)
	_ cache.ListerWatcherWithContext = (*shelf)(nil)
)

func newShelf(m *Mirror, kind kind, namespace string) *shelf {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	return &shelf{mirror: m, kind: kind, namespace: namespace, store: store}
}

func (s *shelf) current() state {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.state
}

func (s *shelf) problem() *Problem {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.away
}

// each visits the objects of one namespace or of all.
func (s *shelf) each(namespace string, see func(Resource, string) bool, visit func(client.Object)) {
	if namespace != "" && (s.namespace == "" || s.namespace == namespace) {
		if !see(s.kind.Resource, namespace) {
			return
		}
		found, err := s.store.ByIndex(cache.NamespaceIndex, namespace)
		if err != nil {
			panic(err) // The index always exists.
		}
		for _, object := range found {
			visit(object.(client.Object))
		}
		return
	}
	if namespace != "" {
		return
	}
	for _, one := range s.store.ListIndexFuncValues(cache.NamespaceIndex) {
		s.each(one, see, visit)
	}
}

// ListWithContext lists all objects, for the reflector.
func (s *shelf) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list := s.kind.list()
	err := s.mirror.options.Client.List(ctx, list, &client.ListOptions{
		Namespace: s.namespace, Limit: options.Limit, Continue: options.Continue, Raw: &options,
	})
	s.heard(ctx, err)
	return list, err
}

// WatchWithContext watches all objects, for the reflector.
func (s *shelf) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	watcher, err := s.mirror.options.Client.Watch(ctx, s.kind.list(), &client.ListOptions{Namespace: s.namespace, Raw: &options})
	s.heard(ctx, err)
	return watcher, err
}

// List is ListWithContext for callers without a context.
func (s *shelf) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch is WatchWithContext for callers without a context.
func (s *shelf) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// heard records the result of an attempt to read.
func (s *shelf) heard(ctx context.Context, err error) {
	switch {
	case err == nil:
		s.become(s.current(), nil)
	case ctx.Err() != nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err), apierrors.IsInvalid(err):
		// The context has ended, or the reflector restarts by itself.
	case apierrors.IsNotFound(err):
		s.empty(absent)
	case apierrors.IsForbidden(err):
		s.empty(forbidden)
	default:
		s.become(s.current(), &Problem{Message: s.words(err), Since: time.Now()})
	}
}

func (s *shelf) words(err error) string {
	var address *url.Error
	if errors.As(err, &address) {
		return fmt.Sprintf("The API server does not answer: %v. The pages show the last known state.", address.Err)
	}
	return fmt.Sprintf("%s cannot be read: %v. The pages show the last known state.", s.kind.Resource.Resource, err)
}

// become changes the state. A problem keeps its start time.
func (s *shelf) become(next state, away *Problem) {
	s.mutex.Lock()
	changed := s.state != next || (s.away == nil) != (away == nil)
	if s.away == nil || away == nil {
		s.away = away
	}
	s.state = next
	s.mutex.Unlock()
	if changed {
		s.mirror.options.Changed("")
	}
}

func (s *shelf) empty(next state) {
	if len(s.store.ListKeys()) > 0 {
		_ = s.store.Replace(nil, "") // Replacing with nothing cannot fail.
	}
	s.become(next, nil)
}

// take prepares an object for the shelf; false if it is not kept.
func (s *shelf) take(added any) (client.Object, bool) {
	object, ok := added.(client.Object)
	if !ok || !s.kind.strip(object) {
		return nil, false
	}
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations["kubectl.kubernetes.io/last-applied-configuration"] != "" {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	s.mirror.sees(object.GetNamespace())
	return object, true
}

// Add stores a new object.
func (s *shelf) Add(added any) error {
	object, wanted := s.take(added)
	if !wanted {
		return nil
	}
	err := s.store.Add(object)
	s.mirror.options.Changed(object.GetNamespace())
	return err
}

// Update stores a new version of an object.
func (s *shelf) Update(updated any) error { return s.Add(updated) }

// Delete removes an object.
func (s *shelf) Delete(deleted any) error {
	object, ok := deleted.(client.Object)
	if !ok {
		return nil
	}
	err := s.store.Delete(object)
	s.mirror.options.Changed(object.GetNamespace())
	return err
}

// Replace replaces all objects, after a gap.
func (s *shelf) Replace(all []any, version string) error {
	var wanted []any
	for _, one := range all {
		if object, ok := s.take(one); ok {
			wanted = append(wanted, object)
		}
	}
	err := s.store.Replace(slices.Clip(wanted), version)
	s.become(live, nil)
	s.mirror.options.Changed("")
	return err
}

// Resync does nothing.
func (s *shelf) Resync() error { return nil }
