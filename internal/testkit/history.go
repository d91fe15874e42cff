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

// Change says how a revision came about.
type Change string

// The kinds of change. What was there when the recorder began is no write, so it has a kind of its own.
const (
	Existing Change = "existing"
	Added    Change = "added"
	Modified Change = "modified"
	Deleted  Change = "deleted"
)

// Revision is one state that an object has had; of a deleted object, the last one.
type Revision struct {
	Change Change
	Object *unstructured.Unstructured
	Seen   time.Time
	// AfterGap says that the server was restarted before this revision and that states before it may be missing.
	AfterGap bool
}

// ID tells which object the revision belongs to.
func (r Revision) ID() ObjectID {
	return ObjectID{Kind: r.Object.GetKind(), Namespace: r.Object.GetNamespace(), Name: r.Object.GetName()}
}

// Version is the point in the history of the whole server at which the revision was stored.
func (r Revision) Version() uint64 { return versionNumber(r.Object.GetResourceVersion()) }

// versionNumber reads a resourceVersion, which of a server with a single etcd is a number that only grows.
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

// ObjectID names an object as people do.
type ObjectID struct{ Kind, Namespace, Name string }

func (id ObjectID) String() string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return fmt.Sprintf("%s %s/%s", id.Kind, id.Namespace, id.Name)
}

// History is a list of revisions in the order in which they were stored, of one object or of many.
type History []Revision

// Where keeps the revisions for which the predicate holds.
func (h History) Where(holds func(Revision) bool) History {
	return slices.DeleteFunc(slices.Clone(h), func(r Revision) bool { return !holds(r) })
}

// Writes counts the revisions that somebody wrote while the recorder was running.
func (h History) Writes() int {
	return len(h.Where(func(r Revision) bool { return r.Change != Existing }))
}

// Objects sorts the history by object.
func (h History) Objects() map[ObjectID]History {
	objects := map[ObjectID]History{}
	for _, revision := range h {
		objects[revision.ID()] = append(objects[revision.ID()], revision)
	}
	return objects
}

// Transitions are the values that a field has had, without repetitions: ["", "Init", "Succeeded"]. It is meant for the history of
// one object.
func (h History) Transitions(path string) []string {
	var values []string
	for _, revision := range h {
		values = append(values, revision.Field(path))
	}
	return slices.Compact(values)
}

// Last is the newest revision, or nil of an empty history.
func (h History) Last() *Revision {
	if len(h) == 0 {
		return nil
	}
	return &h[len(h)-1]
}

// String tells the history, a write per paragraph, with the fields that each changed. Secrets are masked.
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
