// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package mirror keeps what the pages of the web UI show: one watch per kind, shared by all readers. It never holds a value: the contents
// of imports, exports, targets and deploy items are removed when objects arrive.
//
// Kinds that the cluster does not serve, or that the account may not list, are empty; they are retried until they can be read.
package mirror

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options say what to mirror.
type Options struct {
	Client client.WithWatch
	// Namespaces are those to mirror; empty means all of them, with one watch per kind.
	Namespaces []string
	// Changed is called with the namespace of each change, or an empty one if everything has changed. It must not block.
	Changed func(namespace string)
	Log     logr.Logger
}

// Mirror holds the objects of the cluster. Run fills it.
type Mirror struct {
	options Options
	shelves []*shelf

	mutex      sync.Mutex
	namespaces map[string]bool
	grown      chan struct{}
}

// New returns an empty mirror.
func New(options Options) *Mirror {
	m := &Mirror{options: options, namespaces: map[string]bool{}, grown: make(chan struct{})}
	wanted := options.Namespaces
	if len(wanted) == 0 {
		wanted = []string{""}
	}
	for _, kind := range kinds {
		for _, namespace := range wanted {
			m.shelves = append(m.shelves, newShelf(m, kind, namespace))
		}
	}
	return m
}

// The delays between attempts to read.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
	retrySteps = 8
)

// Run follows the cluster until the context is done.
func (m *Mirror) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, m.options.Log.V(1))
	var running sync.WaitGroup
	for _, s := range m.shelves {
		reflector := cache.NewReflectorWithOptions(s, s.kind.object, s, cache.ReflectorOptions{
			Name:    "web-ui-" + s.kind.Resource.Resource,
			Backoff: &wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 1, Steps: retrySteps, Cap: lastRetry},
		})
		running.Go(func() { reflector.RunWithContext(ctx) })
	}
	running.Wait()
}

// Problem is why the mirror may be outdated.
type Problem struct {
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// Problem returns the oldest problem with reading; nil if there is none.
func (m *Mirror) Problem() *Problem {
	var oldest *Problem
	for _, s := range m.shelves {
		if p := s.problem(); p != nil && (oldest == nil || p.Since.Before(oldest.Since)) {
			oldest = p
		}
	}
	return oldest
}

// Ready reports whether everything that can be read has been read once.
func (m *Mirror) Ready() bool {
	return !slices.ContainsFunc(m.shelves, func(s *shelf) bool { return s.current() == unread })
}

// Lists reports whether the account of the mirror can list the objects of a resource, as far as is known.
func (m *Mirror) Lists(group, resource string) bool {
	known, may := false, true
	for _, s := range m.shelves {
		if s.kind.Group == group && s.kind.Resource.Resource == resource {
			known, may = true, may && s.current() != forbidden
		}
	}
	return known && may
}

// Namespaces returns the namespaces that contain or contained objects, sorted.
func (m *Mirror) Namespaces() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Sorted(maps.Keys(m.namespaces))
}

// Grown returns a channel that is closed when another namespace appears.
func (m *Mirror) Grown() <-chan struct{} {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.grown
}

func (m *Mirror) sees(namespace string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.namespaces[namespace] {
		m.namespaces[namespace] = true
		close(m.grown)
		m.grown = make(chan struct{})
	}
}

// Resource identifies the objects of a kind, as in rights.
type Resource struct{ Group, Resource string }

// Resources returns all mirrored resources.
func Resources() []Resource {
	var all []Resource
	for _, kind := range kinds {
		all = append(all, kind.Resource)
	}
	return all
}

// Each calls visit for all objects in a namespace, or in all if it is empty, that see allows. They are shared and must not be changed.
func (m *Mirror) Each(namespace string, see func(r Resource, namespace string) bool, visit func(client.Object)) {
	for _, s := range m.shelves {
		s.each(namespace, see, visit)
	}
}
