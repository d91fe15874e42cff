// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is far more than anything takes, even on a machine that others use: only a broken test waits this long.
var Patience = patienceOf(os.Getenv(PatienceVariable))

// PatienceVariable shortens Patience for tests that are expected to fail, as those of a mutant.
const PatienceVariable = "ESPALIER_TEST_PATIENCE"

func patienceOf(variable string) time.Duration {
	if set, err := time.ParseDuration(variable); err == nil && set > 0 {
		return set
	}
	return 6 * time.Minute
}

const reportTime = 5 * time.Second // reserved before the test binary's deadline, to report what was awaited

// Condition checks one revision of an object. It returns nil when the test's wait is over, and otherwise what is missing.
type Condition[T client.Object] func(T) error

// Is returns a Condition from a predicate and its description.
func Is[T client.Object](what string, holds func(T) bool) Condition[T] {
	return func(object T) error {
		if !holds(object) {
			return fmt.Errorf("it is not %s", what)
		}
		return nil
	}
}

// WaitOption changes how Eventually waits.
type WaitOption func(*time.Duration)

// Within replaces Patience. It is a limit for broken tests, not a measure of speed: be generous.
func Within(limit time.Duration) WaitOption { return func(d *time.Duration) { *d = limit } }

// errHeld stops following an object once the condition holds.
var errHeld = errors.New("the condition holds")

// Eventually watches the object until a revision meets the condition, and returns that revision. The object need not exist yet. On a
// timeout, the test fails and shows what was missing, the object, and how it changed meanwhile.
func Eventually[T client.Object](t testing.TB, server *APIServer, object T, condition Condition[T], options ...WaitOption) T {
	t.Helper()
	var found T
	w := newWaiting(t, server, object)
	w.check = func(current *unstructured.Unstructured) error {
		if current == nil {
			return errors.New("it does not exist")
		}
		typed, err := typedCopy(current, object)
		if err != nil {
			return err
		}
		if err := condition(typed); err != nil {
			return err
		}
		found = typed
		return nil
	}
	w.run(t, options)
	return found
}

// EventuallyGone watches the object until it no longer exists. If it has a UID, a successor of the same name does not count.
func EventuallyGone(t testing.TB, server *APIServer, object client.Object, options ...WaitOption) {
	t.Helper()
	w := newWaiting(t, server, object)
	w.check = func(current *unstructured.Unstructured) error {
		if current == nil || object.GetUID() != "" && current.GetUID() != object.GetUID() {
			return nil
		}
		return errors.New("it still exists")
	}
	w.run(t, options)
}

// waiting is one call of Eventually.
type waiting struct {
	follower follower
	subject  string
	check    func(current *unstructured.Unstructured) error

	started time.Time
	current *unstructured.Unstructured
	missing error
	history []string
}

func newWaiting(t testing.TB, server *APIServer, object client.Object) *waiting {
	t.Helper()
	mapping, err := server.resourceOf(object)
	if err != nil {
		t.Fatal(err)
	}
	w := &waiting{started: time.Now()}
	w.follower = follower{server: server, resource: mapping.Resource, name: object.GetName(), expired: func() error { return nil }}
	w.subject = mapping.GroupVersionKind.Kind + " " + object.GetName()
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		w.follower.namespace = object.GetNamespace()
		w.subject = fmt.Sprintf("%s %s/%s", mapping.GroupVersionKind.Kind, object.GetNamespace(), object.GetName())
	}
	return w
}

func (w *waiting) run(t testing.TB, options []WaitOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience(t, options))
	defer cancel()
	w.follower.listed = func(items []unstructured.Unstructured) error {
		if len(items) == 0 {
			return w.see("listed", nil)
		}
		return w.see("listed", &items[0])
	}
	w.follower.event = func(kind watch.EventType, object *unstructured.Unstructured) error {
		if kind == watch.Deleted {
			object = nil
		}
		return w.see(strings.ToLower(string(kind)), object)
	}
	if err := w.follower.run(ctx); !errors.Is(err, errHeld) {
		t.Fatal(w.failure(err))
	}
}

// see records a revision, nil for none, and returns errHeld if the condition holds now.
func (w *waiting) see(how string, object *unstructured.Unstructured) error {
	if object != nil || w.current != nil {
		line := fmt.Sprintf("%7s  %-8s", "+"+time.Since(w.started).Round(time.Millisecond).String(), how)
		if object != nil && w.current != nil {
			line += "  " + strings.Join(changes(w.current, object), "\n"+strings.Repeat(" ", 19))
		}
		w.history = append(w.history, line)
	}
	w.current = object
	if w.missing = w.check(object); w.missing == nil {
		return errHeld
	}
	return nil
}

func (w *waiting) failure(cause error) string {
	var text strings.Builder
	fmt.Fprintf(&text, "waited %s for %s: ", time.Since(w.started).Round(time.Second), w.subject)
	if w.missing != nil {
		fmt.Fprintln(&text, w.missing)
	}
	if !errors.Is(cause, context.DeadlineExceeded) {
		fmt.Fprintf(&text, "the wait was cut short: %v\n", cause)
	}
	fmt.Fprintf(&text, "--- as last seen\n%s--- what happened meanwhile\n%s", toYAML(w.current), strings.Join(w.history, "\n"))
	return text.String()
}

// patience returns how long a wait may take. It ends a little before the test binary's own deadline, which would print stacks instead.
func patience(t testing.TB, options []WaitOption) time.Duration {
	limit := Patience
	for _, option := range options {
		option(&limit)
	}
	if test, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, set := test.Deadline(); set {
			limit = min(limit, time.Until(deadline)-reportTime)
		}
	}
	return limit
}

// typedCopy converts a revision to the type of the test's object.
func typedCopy[T client.Object](revision *unstructured.Unstructured, like T) (T, error) {
	if _, ok := any(like).(*unstructured.Unstructured); ok {
		return any(revision.DeepCopy()).(T), nil
	}
	typed := reflect.New(reflect.TypeOf(like).Elem()).Interface().(T)
	content, err := revision.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(content, typed)
	}
	if err != nil {
		return typed, fmt.Errorf("read it as a %T: %w", like, err)
	}
	return typed, nil
}
