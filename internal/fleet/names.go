// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// names watches single objects of the management cluster by name: only their metadata, and no other objects of the kind. It must be used by
// one goroutine only.
type names struct {
	host    client.WithWatch
	timing  timing
	changed func()

	running map[objectName]context.CancelFunc
	group   sync.WaitGroup
}

//espalier:rights pipelines
//	watch gitopsclusters,targets,secrets: the clusters of pipelines, each by its name

// follow watches exactly the given objects. Each is reported as changed once it is watched, so that no change since the last read is
// missed.
func (n *names) follow(ctx context.Context, objects []objectName) {
	if n.running == nil {
		n.running = map[objectName]context.CancelFunc{}
	}
	for name, stop := range n.running {
		if !slices.Contains(objects, name) {
			stop()
			delete(n.running, name)
		}
	}
	for _, name := range objects {
		if n.running[name] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		n.running[name] = stop
		n.group.Go(func() {
			defer stop()
			n.run(ctx, name)
		})
	}
}

// close ends all watches and waits for them.
func (n *names) close() {
	for _, stop := range n.running {
		stop()
	}
	n.group.Wait()
}

func (n *names) run(ctx context.Context, name objectName) {
	for failures := 0; ctx.Err() == nil; {
		seen, err := n.stretch(ctx, name)
		if failures++; err == nil && seen {
			failures = 1
		}
		if !wait(ctx, n.timing.pauseFor(failures, err), nil) {
			return
		}
	}
}

// stretch runs one watch until it ends, and reports whether it has received anything.
func (n *names) stretch(ctx context.Context, name objectName) (seen bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, jitter(2*n.timing.stream))
	defer cancel()
	stream, err := openStream(ctx, n.timing.answer, func(ctx context.Context) (watch.Interface, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(name.gvk.GroupVersion().WithKind(name.gvk.Kind + "List"))
		return n.host.Watch(ctx, list, &client.ListOptions{
			Namespace: name.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name.Name),
		})
	})
	if err != nil {
		return false, err
	}
	defer stream.Stop()
	n.changed() // the watch does not report a deletion before its start
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			return seen, errStreamFailed
		}
		seen = true
		n.changed()
	}
	return seen, nil
}
