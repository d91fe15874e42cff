// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timing of watches; tests shorten it.
type timing struct {
	// recheck is how often subscribers are woken while nothing can be watched.
	recheck time.Duration
	// stable is how long a watch must have lasted for the next one to begin at once.
	stable time.Duration
	// answer is how long the cluster may take to begin a watch.
	answer time.Duration
	// pause is how long to wait after that many failures in a row.
	pause func(failures int) time.Duration
}

var defaultTiming = timing{recheck: 30 * time.Second, stable: 5 * time.Second, answer: 30 * time.Second, pause: pauseAfter}

const (
	minStream = 5 * time.Minute // a watch is renewed after this time or up to twice of it
	// streamGrace is what a watch may last beyond its time, before it counts as stuck.
	streamGrace = time.Minute
)

// follower runs one watch, in one goroutine. It keeps no objects. As changes can only be missed where a watch does not continue the one
// before it, it says so then, and whoever subscribes looks for himself.
type follower struct {
	client  client.WithWatch
	key     watchKey
	timing  timing
	changed func(name string)
	unsure  func() // something may have changed that was not seen

	version   string // from which to go on; empty if unknown
	disturbed bool   // the last stretch ended in an error
}

// run follows until the context ends.
func (f *follower) run(ctx context.Context) {
	failures := 0
	sure := time.Now() // until when nothing was missed, or since when subscribers know that it may have been
	for ctx.Err() == nil {
		lasted, err := f.stretch(ctx)
		if lasted > 0 {
			sure = time.Now()
		}
		if lasted >= f.timing.stable {
			failures = 0
		}
		if f.disturbed = err != nil; !f.disturbed {
			continue
		}
		failures++
		if !pause(ctx, min(f.timing.pause(failures), f.timing.recheck)) {
			return
		}
		if time.Since(sure) >= f.timing.recheck {
			sure = time.Now()
			f.unsure()
		}
	}
}

func pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// stretch watches once, until the watch ends, and returns how long it lasted. The error is nil if it ended in good order.
func (f *follower) stretch(ctx context.Context) (lasted time.Duration, err error) {
	length := minStream + rand.N(minStream)
	ctx, cancel := context.WithTimeout(ctx, length+streamGrace)
	defer cancel()
	gap := f.disturbed || f.version == ""
	if f.version == "" {
		if err := f.findVersion(ctx); err != nil {
			return 0, err
		}
	}
	stream, err := f.open(ctx, cancel, length)
	if err != nil {
		return 0, err
	}
	defer stream.Stop()
	began := time.Now()
	if gap {
		f.unsure()
	}
	err = f.read(stream)
	lasted = time.Since(began)
	if err == nil && lasted < f.timing.stable {
		err = errors.New("the watch ended at once")
	}
	return lasted, err
}

// findVersion learns from where to watch. It asks for one object only, since nothing but the version of the list is of interest.
func (f *follower) findVersion(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.timing.answer)
	defer cancel()
	list := f.list()
	if err := f.client.List(ctx, list, client.InNamespace(f.key.namespace), client.Limit(1)); err != nil {
		return fmt.Errorf("list %s: %w", f.key.gvk.Kind, err)
	}
	f.version = list.ResourceVersion
	return nil
}

func (f *follower) list() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(f.key.gvk.GroupVersion().WithKind(f.key.gvk.Kind + "List"))
	return list
}

// open begins the watch. Its answer must come in time, although the watch itself may last.
func (f *follower) open(ctx context.Context, giveUp func(), length time.Duration) (watch.Interface, error) {
	timer := time.AfterFunc(f.timing.answer, giveUp)
	defer timer.Stop()
	seconds := int64(length / time.Second)
	stream, err := f.client.Watch(ctx, f.list(), client.InNamespace(f.key.namespace), &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: f.version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds},
	})
	if err != nil {
		f.forgetIfAnswered(err)
		return nil, fmt.Errorf("watch %s: %w", f.key.gvk.Kind, err)
	}
	return stream, nil
}

// forgetIfAnswered lets the next stretch list again if the API server did not like the version, or anything else. If it was not reached,
// the watch can go on from where it was.
func (f *follower) forgetIfAnswered(err error) {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) || meta.IsNoMatchError(err) {
		f.version = ""
	}
}

// read passes on what the stream tells, until it ends.
func (f *follower) read(stream watch.Interface) error {
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			f.version = ""
			return apierrors.FromObject(event.Object)
		}
		object, err := meta.Accessor(event.Object)
		if err != nil {
			f.version = ""
			return fmt.Errorf("watch %s: %w", f.key.gvk.Kind, err)
		}
		f.version = object.GetResourceVersion()
		if event.Type != watch.Bookmark {
			f.changed(object.GetName())
		}
	}
	return nil
}
