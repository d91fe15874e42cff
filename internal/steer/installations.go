// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// NotTaken is the error for a pending operation on an installation that prevents another request.
type NotTaken struct {
	Installation string
	Pending      lsv1alpha1.Operation
}

func (e *NotTaken) Error() string {
	return fmt.Sprintf(
		"operation %q of installation %s is still pending: the controllers are not running or do not watch this namespace",
		e.Pending,
		e.Installation,
	)
}

// ReadInstallation reads the current state of an installation.
func (a Asker) ReadInstallation(ctx context.Context, key client.ObjectKey) (*lsv1alpha1.Installation, error) {
	current := &lsv1alpha1.Installation{}
	err := a.Client.Get(ctx, key, current)
	return current, failed(err, "read installation %s", key.Name)
}

// readAgain rereads an installation after another writer has changed it.
func (a Asker) readAgain(ctx context.Context, seen *lsv1alpha1.Installation) (*lsv1alpha1.Installation, error) {
	current, err := a.ReadInstallation(ctx, client.ObjectKeyFromObject(seen))
	if err != nil {
		return nil, err
	}
	return current, failed(sameObject(seen, current, lsv1alpha1.Resource("installations")), "read installation %s", seen.Name)
}

// Reconcile requests a job of a root. It returns the revision that carries the request, and whether the same was already requested: then
// both requests are one. It waits until the controllers have accepted another pending operation, because there is room for only one.
// Operations that a suspension holds back are not accepted before it ends: force, which includes everything else, takes their place.
func (a Asker) Reconcile(ctx context.Context, root *lsv1alpha1.Installation) (asked *lsv1alpha1.Installation, already bool, err error) {
	return a.operate(ctx, root, lsv1alpha1.OperationReconcile, "request a job of installation "+root.Name)
}

// Force requests an immediate update of everything below a root in the continuous flow, in the same way.
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
		switch pending, held := operationOf(current), isHeldBack(current); {
		case pending == operation, held && pending == lsv1alpha1.OperationForceReconcile:
			return current, true, nil
		case pending != "" && !held:
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

// isHeldBack reports whether the pending operation of an installation waits until a user resumes it. In the job flow, that can only be a
// request for a job.
func isHeldBack(root *lsv1alpha1.Installation) bool {
	updates := []lsv1alpha1.Operation{lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile}
	return installation.SuspensionOf(root).On && installation.FlowOf(root) == lsv1alpha1.FlowContinuous &&
		root.DeletionTimestamp.IsZero() && slices.Contains(updates, operationOf(root))
}

// Interrupt requests the end of the running job, or of the work in the continuous flow. It replaces a pending request for another job;
// dropped reports that.
func (a Asker) Interrupt(ctx context.Context, root *lsv1alpha1.Installation) (dropped bool, err error) {
	operation := lsv1alpha1.OperationInterrupt
	if installation.FlowOf(root) == lsv1alpha1.FlowContinuous {
		operation = lsv1alpha1.OperationAbort
	}
	mark := annotation{lsv1alpha1.OperationAnnotation, string(operation)}
	before, err := a.set(ctx, root, mark, "interrupt installation "+root.Name)
	return err == nil && before == string(lsv1alpha1.OperationReconcile), err
}

// Delete requests the deletion of a tree. The UID keeps it from affecting an installation that has taken the name since.
func (a Asker) Delete(ctx context.Context, root *lsv1alpha1.Installation, withoutUninstall bool) error {
	if withoutUninstall {
		return a.deleteMarked(ctx, root, lsv1alpha1.DeleteWithoutUninstallAnnotation)
	}
	if err := a.dropMarks(ctx, root); err != nil {
		return err
	}
	return a.delete(ctx, root)
}

// mayDelete returns the error with which the API server would reject a deletion. It is called before anything is marked: a mark outlasts a
// rejected deletion, and would apply to a later one.
func (a Asker) mayDelete(ctx context.Context, root *lsv1alpha1.Installation) error {
	return a.delete(ctx, root, client.DryRunAll)
}

func (a Asker) delete(ctx context.Context, root *lsv1alpha1.Installation, options ...client.DeleteOption) error {
	uid := root.UID
	err := a.Client.Delete(ctx, root.DeepCopy(), append(options, client.Preconditions{UID: &uid})...)
	return failed(err, "delete installation %s", root.Name)
}

type annotation struct{ name, value string }

// set writes an annotation, whatever its value was, and returns the previous value.
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

// untilTaken waits until the controllers have removed the pending operation of an installation.
func (a Asker) untilTaken(parent context.Context, installation *lsv1alpha1.Installation) (*lsv1alpha1.Installation, error) {
	pending := operationOf(installation)
	notTaken := &NotTaken{Installation: installation.Name, Pending: pending}
	if a.Patience <= 0 {
		return nil, notTaken
	}
	ctx, cancel := context.WithTimeout(parent, a.Patience)
	defer cancel()
	a.tell("Waiting for the controllers to accept operation %q of installation %s ...", string(pending), installation.Name)
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

// taken follows an installation until its operation changes; nil if the watch ends before that. The watch does not show a deletion before
// its start, so the installation is read again.
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
