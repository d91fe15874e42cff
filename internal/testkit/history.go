// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Change is how a revision came about.
type Change string

// The kinds of change. An object that existed when the recorder started is not a write, so it has its own kind.
const (
	Existing Change = "existing"
	Added    Change = "added"
	Modified Change = "modified"
	Deleted  Change = "deleted"
)

// Revision is one state of an object; for a deleted object, the last one.
type Revision struct {
	Change Change
	Object *unstructured.Unstructured
	Seen   time.Time
	// AfterGap reports whether the server was restarted before this revision, so that earlier states may be missing.
	AfterGap bool
}

// ID returns the object of the revision.
func (r Revision) ID() ObjectID {
	return ObjectID{Kind: r.Object.GetKind(), Namespace: r.Object.GetNamespace(), Name: r.Object.GetName()}
}

// Version returns the point in the history of the whole server at which the revision was stored.
func (r Revision) Version() uint64 { return versionNumber(r.Object.GetResourceVersion()) }

// versionNumber parses a resourceVersion, which is an increasing number on a server with a single etcd.
func versionNumber(resourceVersion string) uint64 {
	number, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// Field returns the value at a field path, such as status.phase or status.conditions[type=Ready].status; empty if there is none.
func (r Revision) Field(path string) string {
	value, found := lookup(r.Object.Object, path)
	if !found {
		return ""
	}
	return render(value)
}

// ObjectID identifies an object.
type ObjectID struct{ Kind, Namespace, Name string }

func (id ObjectID) String() string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return fmt.Sprintf("%s %s/%s", id.Kind, id.Namespace, id.Name)
}

// History is a list of revisions in the order in which they were stored, of one or more objects.
type History []Revision

// Where returns the revisions for which the predicate holds.
func (h History) Where(holds func(Revision) bool) History {
	return slices.DeleteFunc(slices.Clone(h), func(r Revision) bool { return !holds(r) })
}

// Writes counts the revisions that were written while the recorder was running.
func (h History) Writes() int {
	return len(h.Where(func(r Revision) bool { return r.Change != Existing }))
}

// Objects groups the history by object.
func (h History) Objects() map[ObjectID]History {
	objects := map[ObjectID]History{}
	for _, revision := range h {
		objects[revision.ID()] = append(objects[revision.ID()], revision)
	}
	return objects
}

// Transitions returns the consecutive values of a field, without repetitions: ["", "Init", "Succeeded"]. It is meant for the history of one
// object.
func (h History) Transitions(path string) []string {
	var values []string
	for _, revision := range h {
		values = append(values, revision.Field(path))
	}
	return slices.Compact(values)
}

// Last returns the newest revision, nil for an empty history.
func (h History) Last() *Revision {
	if len(h) == 0 {
		return nil
	}
	return &h[len(h)-1]
}

// String returns the history, one write per paragraph, with the fields that each changed. Secrets are masked.
func (h History) String() string {
	var text strings.Builder
	latest := map[ObjectID]*unstructured.Unstructured{}
	for _, revision := range h {
		id := revision.ID()
		since := revision.Seen.Sub(h[0].Seen).Round(time.Millisecond)
		fmt.Fprintf(&text, "%8s  %7d  %-8s  %s\n", "+"+since.String(), revision.Version(), revision.Change, id)
		if revision.AfterGap {
			fmt.Fprintf(&text, "%s(the server was restarted; states may be missing before this one)\n", indent)
		}
		if before := latest[id]; before != nil && revision.Change == Modified {
			for _, change := range changes(before, revision.Object) {
				fmt.Fprintf(&text, "%s%s\n", indent, change)
			}
		}
		latest[id] = revision.Object
	}
	return text.String()
}

const indent = "                             "
