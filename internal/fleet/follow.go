// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/target"
)

// defaultPage is the page size of lists, so that a large cluster does not need much memory.
const defaultPage = 250

var (
	errStreamFailed = errors.New("the watch failed")
	errEndedAtOnce  = errors.New("the watch ended at once")
	errNoNamespaces = errors.New("the kind is cluster-scoped")
)

// follower fills a feed, in one goroutine: it lists all objects of the kind, watches them from then on, and keeps the health of each.
// When a watch ends, the next one continues from its version. If that is impossible, the feed fails with the problem, and everything is
// listed again once the problem is over, so that outdated state never counts as current.
type follower struct {
	session *session
	feed    *feed
	key     feedKey
	timing  timing

	version string // from which to continue; empty if everything must be listed
}

// run follows until the context ends, the credential is rejected, or other feeds take over.
func (f *follower) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		lasted, err := f.stretch(ctx)
		if ctx.Err() != nil {
			return
		}
		if lasted >= f.timing.stable {
			failures = 0
		}
		if err == nil {
			continue
		}
		failures++
		f.version = ""
		if apierrors.IsForbidden(err) && f.session.link.fleet.narrow(f.feed, f.session) {
			return
		}
		f.fail(err)
		if apierrors.IsUnauthorized(err) {
			f.session.refuse(ctx)
			return
		}
		if !wait(ctx, f.pause(failures, err), nil) {
			return
		}
	}
}

// pause returns how long to wait after a failure: at most as long as requests are certain to fail.
func (f *follower) pause(failures int, err error) time.Duration {
	length := f.timing.pauseFor(failures, err)
	var unreachable *target.Unreachable
	if errors.As(err, &unreachable) {
		if left := time.Until(unreachable.Until); left > 0 {
			length = min(length, left)
		}
	}
	return length
}

func (f *follower) fail(err error) {
	problem := followProblem(f.key, err)
	f.update(func(now time.Time) []types.NamespacedName {
		if !f.feed.fail(problem, now) {
			return nil
		}
		return f.feed.wantedKeys()
	})
}

func (f *follower) update(change func(now time.Time) []types.NamespacedName) {
	f.session.link.fleet.update(f.feed, f.session, change)
}

// stretch runs one watch until it ends, and returns how long it lasted. The error is nil if the watch can be continued, or if everything
// can be listed again at once.
func (f *follower) stretch(ctx context.Context) (time.Duration, error) {
	length := f.timing.stream + jitter(f.timing.stream)/2
	ctx, cancel := context.WithTimeout(ctx, length+streamGrace)
	defer cancel()
	fresh := f.version == ""
	stream, err := f.begin(ctx, length)
	if !fresh && isExpired(err) {
		f.version = ""
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer stream.Stop()
	began := time.Now()
	err = f.read(ctx, stream)
	lasted := time.Since(began)
	if continues := f.version != "" || fresh; err == nil && continues && lasted < f.timing.stable {
		err = errEndedAtOnce
	}
	return lasted, err
}

//espalier:rights pipelines
//	list,watch installations: applications of pipelines in this cluster
//	list,watch kustomizations.kustomize.toolkit.fluxcd.io,helmreleases.helm.toolkit.fluxcd.io: applications of pipelines in this cluster
//	list,watch terraforms.infra.contrib.fluxcd.io: applications of pipelines in this cluster

// begin opens a watch from where the last one ended. If there was none, it lists everything before, and hands over the list once the watch
// is open: a list without a watch is soon outdated.
func (f *follower) begin(ctx context.Context, length time.Duration) (watch.Interface, error) {
	if err := f.checkKind(); err != nil {
		return nil, err
	}
	if f.version != "" {
		return f.open(ctx, length)
	}
	everything, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := f.open(ctx, length)
	if err != nil {
		return nil, err
	}
	f.replace(ctx, everything)
	return stream, nil
}

// checkKind ensures that the cluster serves the kind and that its objects are namespaced, as targets of pipelines require.
func (f *follower) checkKind() error {
	mapping, err := f.session.mapper.RESTMapping(f.key.gvk.GroupKind(), f.key.gvk.Version)
	if err != nil {
		return fmt.Errorf("find the kind %s: %w", f.key.gvk.Kind, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return errNoNamespaces
	}
	return nil
}

// list lists all objects of the kind, and determines their health, page by page.
func (f *follower) list(ctx context.Context) (map[types.NamespacedName]record, error) {
	all := map[types.NamespacedName]record{}
	for token := ""; ; {
		objects, err := f.listPage(ctx, token)
		if isExpired(err) && token != "" {
			token = ""
			clear(all)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", f.key.gvk.Kind, err)
		}
		for i := range objects.Items {
			all[client.ObjectKeyFromObject(&objects.Items[i])] = newRecord(&objects.Items[i])
		}
		f.version = objects.GetResourceVersion()
		if token = objects.GetContinue(); token == "" {
			return all, nil
		}
	}
}

func (f *follower) listPage(ctx context.Context, token string) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timing.answer)
	defer cancel()
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(f.listKind())
	err := f.session.client.List(
		ctx,
		objects,
		client.InNamespace(f.key.namespace),
		client.Limit(f.session.link.fleet.page),
		client.Continue(token),
	)
	return objects, err
}

func newRecord(object *unstructured.Unstructured) record {
	health, problem := HealthOf(object)
	return record{health: health, problem: problem}
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

func (f *follower) open(ctx context.Context, length time.Duration) (watch.Interface, error) {
	seconds := int64(length / time.Second)
	stream, err := openStream(ctx, f.timing.answer, func(ctx context.Context) (watch.Interface, error) {
		objects := &unstructured.UnstructuredList{}
		objects.SetGroupVersionKind(f.listKind())
		return f.session.client.Watch(ctx, objects, &client.ListOptions{
			Namespace: f.key.namespace,
			Raw:       &metav1.ListOptions{ResourceVersion: f.version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", f.key.gvk.Kind, err)
	}
	return stream, nil
}

// read handles events from the stream until it ends.
func (f *follower) read(ctx context.Context, stream watch.Interface) error {
	again := time.NewTicker(f.timing.absence)
	defer again.Stop()
	for {
		select {
		case event, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if err := f.take(event); err != nil {
				return err
			}
			if f.version == "" {
				return nil
			}
		case <-f.feed.look:
			f.checkNamespaces(ctx)
		case <-again.C:
			f.checkNamespaces(ctx)
		}
	}
}

// take handles one event. If the stream cannot be continued, it clears the version.
func (f *follower) take(event watch.Event) error {
	if event.Type == watch.Error {
		err := apierrors.FromObject(event.Object)
		if isExpired(err) {
			f.version = ""
			return nil
		}
		return fmt.Errorf("watch %s: %w", f.key.gvk.Kind, err)
	}
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return errStreamFailed
	}
	f.version = object.GetResourceVersion()
	if event.Type == watch.Bookmark {
		return nil
	}
	key := client.ObjectKeyFromObject(object)
	next := newRecord(object)
	f.update(func(now time.Time) []types.NamespacedName {
		if event.Type == watch.Deleted && f.feed.remove(key, now) || event.Type != watch.Deleted && f.feed.put(key, next, now) {
			return []types.NamespacedName{key}
		}
		return nil
	})
	return nil
}

// openStream starts a watch. The response must arrive within the limit, although the watch itself may last longer.
func openStream(ctx context.Context, limit time.Duration, open func(context.Context) (watch.Interface, error)) (watch.Interface, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { giveUp(context.DeadlineExceeded) })
	stream, err := open(ctx)
	if !timer.Stop() && err == nil {
		stream.Stop()
		err = context.DeadlineExceeded
	}
	if err != nil {
		giveUp(err)
		return nil, err
	}
	return &boundStream{Interface: stream, release: func() { giveUp(nil) }}, nil
}

// boundStream ends the context of a stream together with the stream.
type boundStream struct {
	watch.Interface
	release func()
}

// Stop ends the stream.
func (s *boundStream) Stop() {
	s.Interface.Stop()
	s.release()
}

func (f *follower) listKind() schema.GroupVersionKind {
	return f.key.gvk.GroupVersion().WithKind(f.key.gvk.Kind + "List")
}
