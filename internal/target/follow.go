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

// timing contains the durations of watches; tests shorten them.
type timing struct {
	// recheck is how often subscribers are woken while nothing can be watched.
	recheck time.Duration
	// stable is how long a watch must last for the next one to start at once.
	stable time.Duration
	// answer is how long the cluster may take to start a watch.
	answer time.Duration
	// pause is how long to wait after a number of consecutive failures.
	pause func(failures int) time.Duration
}

var defaultTiming = timing{recheck: 30 * time.Second, stable: 5 * time.Second, answer: 30 * time.Second, pause: pauseAfter}

const (
	minStream = 5 * time.Minute // a watch is renewed after this time or up to twice as long
	// streamGrace is how long a watch may exceed its time before it counts as stuck.
	streamGrace = time.Minute
)

// follower runs one watch, in one goroutine. It stores no objects. Changes can only be missed if a watch does not continue the
// previous one: then it reports that, and the subscribers read the objects themselves.
type follower struct {
	client  client.WithWatch
	key     watchKey
	timing  timing
	changed func(name string)
	unsure  func() // changes may have been missed

	version   string // from which to continue; empty if unknown
	disturbed bool   // the last stretch ended in an error
}

// run follows until the context ends.
func (f *follower) run(ctx context.Context) {
	failures := 0
	sure := time.Now() // when changes were last known to be complete, or subscribers were last told that they may not be
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

// stretch watches once, until the watch ends, and returns how long it lasted. The error is nil if the watch ended normally.
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

// findVersion determines the version to watch from. It lists one object only, because only the version of the list matters.
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

// open starts the watch. The answer must arrive in time, although the watch itself may last.
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

// forgetIfAnswered makes the next stretch list again if the API server rejected the version, or anything else. If the API server was not
// reached, the watch can continue where it stopped.
func (f *follower) forgetIfAnswered(err error) {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) || meta.IsNoMatchError(err) {
		f.version = ""
	}
}

// read passes on the events of the stream until it ends.
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
