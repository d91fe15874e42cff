// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// NotTaken is the error for an operation that stands on an installation and keeps another one from being asked for.
type NotTaken struct {
	Installation string
	Pending      lsv1alpha1.Operation
}

func (e *NotTaken) Error() string {
	return fmt.Sprintf(
		"the controllers have not taken the operation %q that installation %s was asked for before: they do not run, or do not see this namespace",
		e.Pending,
		e.Installation,
	)
}

// ReadInstallation reads one as it is now.
func (a Asker) ReadInstallation(ctx context.Context, key client.ObjectKey) (*lsv1alpha1.Installation, error) {
	current := &lsv1alpha1.Installation{}
	err := a.Client.Get(ctx, key, current)
	return current, failed(err, "read installation %s", key.Name)
}

// readAgain reads an installation as it is now, after somebody else has written to it.
func (a Asker) readAgain(ctx context.Context, seen *lsv1alpha1.Installation) (*lsv1alpha1.Installation, error) {
	current, err := a.ReadInstallation(ctx, client.ObjectKeyFromObject(seen))
	if err != nil {
		return nil, err
	}
	return current, failed(sameObject(seen, current, lsv1alpha1.Resource("installations")), "read installation %s", seen.Name)
}

// Reconcile asks a root for a job. It returns the revision that carries the request, and whether the same was asked for
// already: then both requests are one. An operation that the controllers have not taken yet is awaited, because there
// is room for one only.
func (a Asker) Reconcile(ctx context.Context, root *lsv1alpha1.Installation) (asked *lsv1alpha1.Installation, already bool, err error) {
	return a.operate(ctx, root, lsv1alpha1.OperationReconcile, "ask for a job of installation "+root.Name)
}

// Force asks for an update of everything below a root of the continuous flow at once, in the same way.
func (a Asker) Force(ctx context.Context, root *lsv1alpha1.Installation) (asked *lsv1alpha1.Installation, already bool, err error) {
	return a.operate(ctx, root, lsv1alpha1.OperationForceReconcile, "force an update of installation "+root.Name)
}

func (a Asker) operate(
	ctx context.Context,
	root *lsv1alpha1.Installation,
	operation lsv1alpha1.Operation,
	attempted string,
) (asked *lsv1alpha1.Installation, already bool, err error) {
	current, value := root.DeepCopy(), string(operation)
	for {
		switch pending := operationOf(current); {
		case pending == operation:
			return current, true, nil
		case pending != "":
			if current, err = a.untilTaken(ctx, current); err != nil {
				return nil, false, err
			}
		default:
			err := a.annotate(ctx, current, lsv1alpha1.OperationAnnotation, &value)
			if err == nil {
				return current, false, nil
			}
			if !apierrors.IsConflict(err) {
				return nil, false, &Error{Attempted: attempted, Err: err}
			}
			if current, err = a.readAgain(ctx, root); err != nil {
				return nil, false, err
			}
		}
	}
}

// Interrupt asks for the end of the running job, or of the work in the continuous flow. A request for another job, which was
// to come after it, makes room; dropped tells so.
func (a Asker) Interrupt(ctx context.Context, root *lsv1alpha1.Installation) (dropped bool, err error) {
	operation := lsv1alpha1.OperationInterrupt
	if installation.FlowOf(root) == lsv1alpha1.FlowContinuous {
		operation = lsv1alpha1.OperationAbort
	}
	mark := annotation{lsv1alpha1.OperationAnnotation, string(operation)}
	before, err := a.set(ctx, root, mark, "interrupt installation "+root.Name)
	return err == nil && before == string(lsv1alpha1.OperationReconcile), err
}

// Delete asks for the deletion of a tree. The UID keeps it from hitting an installation that has taken the name since.
func (a Asker) Delete(ctx context.Context, root *lsv1alpha1.Installation, withoutUninstall bool) error {
	if withoutUninstall {
		mark := annotation{lsv1alpha1.DeleteWithoutUninstallAnnotation, "true"}
		if _, err := a.set(ctx, root, mark, "mark installation "+root.Name); err != nil {
			return err
		}
	}
	uid := root.UID
	err := a.Client.Delete(ctx, root.DeepCopy(), client.Preconditions{UID: &uid})
	return failed(err, "delete installation %s", root.Name)
}

type annotation struct{ name, value string }

// set writes an annotation, whatever its value was, and returns that.
func (a Asker) set(ctx context.Context, root *lsv1alpha1.Installation, mark annotation, attempted string) (before string, err error) {
	current := root.DeepCopy()
	for {
		before := current.Annotations[mark.name]
		err := a.annotate(ctx, current, mark.name, &mark.value)
		if err == nil {
			return before, nil
		}
		if !apierrors.IsConflict(err) {
			return "", &Error{Attempted: attempted, Err: err}
		}
		if current, err = a.readAgain(ctx, root); err != nil {
			return "", err
		}
	}
}

func operationOf(installation *lsv1alpha1.Installation) lsv1alpha1.Operation {
	return lsv1alpha1.Operation(installation.Annotations[lsv1alpha1.OperationAnnotation])
}

// untilTaken waits until the controllers have removed the operation that stands on an installation.
func (a Asker) untilTaken(parent context.Context, installation *lsv1alpha1.Installation) (*lsv1alpha1.Installation, error) {
	pending := operationOf(installation)
	notTaken := &NotTaken{Installation: installation.Name, Pending: pending}
	if a.Patience <= 0 {
		return nil, notTaken
	}
	ctx, cancel := context.WithTimeout(parent, a.Patience)
	defer cancel()
	a.tell("Waiting until the controllers have taken the operation %q of installation %s ...", string(pending), installation.Name)
	for {
		watcher, err := a.Client.Watch(ctx, &lsv1alpha1.InstallationList{}, &client.ListOptions{
			Namespace: installation.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", installation.Name),
		})
		if err != nil && ctx.Err() == nil {
			return nil, &Error{Attempted: "watch installation " + installation.Name, Err: err}
		}
		if err == nil {
			current, err := a.taken(ctx, watcher, installation)
			watcher.Stop()
			if current != nil || err != nil {
				return current, err
			}
		}
		if ctx.Err() != nil {
			return nil, notTaken
		}
	}
}

// taken follows an installation until its operation is another one; nil if the watch ends before that. What was deleted before the watch
// began is not in it, so it is read once more.
func (a Asker) taken(ctx context.Context, watcher watch.Interface, seen *lsv1alpha1.Installation) (*lsv1alpha1.Installation, error) {
	pending := operationOf(seen)
	current, err := a.readAgain(ctx, seen)
	if err != nil && ctx.Err() == nil || err == nil && operationOf(current) != pending {
		return current, err
	}
	for event := range watcher.ResultChan() {
		current, ok := event.Object.(*lsv1alpha1.Installation)
		if ok && (event.Type == watch.Deleted || current.UID != seen.UID || operationOf(current) != pending) {
			return a.readAgain(ctx, seen)
		}
	}
	return nil, nil
}
