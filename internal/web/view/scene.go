// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/objecttree"
)

// Scene is the input of all documents. It contains no objects that the reader may not list.
type Scene struct {
	// Objects are installations, executions and deploy items; nil means none.
	Objects     *objecttree.Objects
	Pipelines   []*pipelinesv1alpha1.Pipeline
	Targets     []*lsv1alpha1.Target
	DataObjects []*lsv1alpha1.DataObject
	// Events are those of events.k8s.io, which the controllers write.
	Events []*eventsv1.Event
	// Checks are the results of checking targets.
	Checks map[Ref]*TargetCheck
	// Rights are those of the reader; nil means all.
	Rights Rights
	Now    time.Time

	uses func() map[Ref]map[Ref]bool
}

// Shared returns a scene whose copies compute the uses of targets only once, which takes a walk through all trees.
func (s Scene) Shared() Scene {
	s.uses = sync.OnceValue(s.findUses)
	return s
}

func (s Scene) forest() *objecttree.Forest {
	if s.Objects == nil {
		return (&objecttree.Objects{}).Forest()
	}
	return s.Objects.Forest()
}

func refOf(node *objecttree.Node) Ref {
	return Ref{Kind: string(node.Kind), Namespace: node.Namespace(), Name: node.Name()}
}

// idOf returns the ID of a row or a node of a graph in documents.
func idOf(ref Ref) string { return ref.Kind + "/" + ref.Namespace + "/" + ref.Name }

// timeOf returns nil for an unknown time.
func timeOf(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// orEmpty keeps lists from becoming null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// stamp converts a time of a status.
func stamp(at *metav1.Time) *time.Time {
	if at == nil {
		return nil
	}
	return timeOf(at.Time)
}
