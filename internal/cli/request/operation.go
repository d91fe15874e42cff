// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/installation"
)

// takingTime is how long controllers have to take an operation before another can be asked for.
const takingTime = 15 * time.Second

// Reconcile asks a root for a job. It returns the revision that carries the request, and whether the same was asked for
// already: then both requests are one. An operation that the controllers have not taken yet is awaited, because there
// is room for one only.
func (r *Requester) Reconcile(
	ctx context.Context,
	root *lsv1alpha1.Installation,
) (asked *lsv1alpha1.Installation, already bool, err error) {
	current := root.DeepCopy()
	for {
		switch pending := operationOf(current); {
		case pending == lsv1alpha1.OperationReconcile:
			return current, true, nil
		case pending != "":
			if current, err = r.untilTaken(ctx, current); err != nil {
				return nil, false, err
			}
		default:
			err := r.annotate(ctx, current, annotation{lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile)})
			if err == nil {
				return current, false, nil
			}
			if !apierrors.IsConflict(err) {
				return nil, false, r.Access.Explain(err, "ask for a job of installation "+root.Name, r.Namespace)
			}
			if current, err = r.read(ctx, root.Name); err != nil {
				return nil, false, err
			}
		}
	}
}

// Interrupt asks for the end of the running job, or of the work in the continuous flow. A request for another job, which was
// to come after it, makes room; dropped tells so.
func (r *Requester) Interrupt(ctx context.Context, root *lsv1alpha1.Installation) (dropped bool, err error) {
	mark := annotation{lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt)}
	if installation.FlowOf(root) == lsv1alpha1.FlowContinuous {
		mark.value = string(lsv1alpha1.OperationAbort)
	}
	before, err := r.set(ctx, root, mark, "interrupt installation "+root.Name)
	return err == nil && before == string(lsv1alpha1.OperationReconcile), err
}

// Delete asks for the deletion of a tree. The UID keeps it from hitting an installation that has taken the name since.
func (r *Requester) Delete(ctx context.Context, root *lsv1alpha1.Installation, withoutUninstall bool) error {
	if withoutUninstall {
		mark := annotation{lsv1alpha1.DeleteWithoutUninstallAnnotation, "true"}
		if _, err := r.set(ctx, root, mark, "mark installation "+root.Name); err != nil {
			return err
		}
	}
	uid := root.UID
	err := r.Client.Delete(ctx, root.DeepCopy(), client.Preconditions{UID: &uid})
	return r.Access.Explain(err, "delete installation "+root.Name, r.Namespace)
}

type annotation struct{ name, value string }

// set writes an annotation, whatever its value was, and returns that.
func (r *Requester) set(ctx context.Context, root *lsv1alpha1.Installation, mark annotation, attempted string) (before string, err error) {
	current := root.DeepCopy()
	for {
		before := current.Annotations[mark.name]
		err := r.annotate(ctx, current, mark)
		if err == nil {
			return before, nil
		}
		if !apierrors.IsConflict(err) {
			return "", r.Access.Explain(err, attempted, r.Namespace)
		}
		if current, err = r.read(ctx, root.Name); err != nil {
			return "", err
		}
	}
}

func operationOf(installation *lsv1alpha1.Installation) lsv1alpha1.Operation {
	return lsv1alpha1.Operation(installation.Annotations[lsv1alpha1.OperationAnnotation])
}

// annotate carries the version that the caller has looked at, and brings the object to what the server has stored.
func (r *Requester) annotate(ctx context.Context, installation *lsv1alpha1.Installation, mark annotation) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": installation.ResourceVersion, "uid": installation.UID, "annotations": map[string]string{mark.name: mark.value},
	}})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	return r.Client.Patch(ctx, installation, client.RawPatch(types.MergePatchType, patch))
}

// untilTaken waits until the controllers have removed the operation that stands on an installation.
func (r *Requester) untilTaken(parent context.Context, installation *lsv1alpha1.Installation) (*lsv1alpha1.Installation, error) {
	ctx, cancel := context.WithTimeout(parent, takingTime)
	defer cancel()
	pending := operationOf(installation)
	r.Access.Tell(
		"Waiting until the controllers have taken the operation %q of installation %s ...",
		display.Clean(string(pending)),
		installation.Name,
	)
	for {
		watcher, err := r.Client.Watch(ctx, &lsv1alpha1.InstallationList{}, &client.ListOptions{
			Namespace: r.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", installation.Name),
		})
		if err != nil && ctx.Err() == nil {
			return nil, r.Access.Explain(err, "watch installation "+installation.Name, r.Namespace)
		}
		if err == nil {
			for event := range watcher.ResultChan() {
				if current, ok := event.Object.(*lsv1alpha1.Installation); ok && operationOf(current) != pending {
					watcher.Stop()
					return current, nil
				}
			}
			watcher.Stop()
		}
		if ctx.Err() != nil {
			return nil, r.notTaken(ctx, installation, pending)
		}
	}
}

func (r *Requester) notTaken(ctx context.Context, installation *lsv1alpha1.Installation, pending lsv1alpha1.Operation) error {
	return &cli.Problem{
		Code:  cli.ExitError,
		Where: r.Access.Where(r.Namespace),
		Cause: errors.Join(ctx.Err()),
		What: fmt.Sprintf(
			"the controllers have not taken the operation %q that installation %s was asked for before: they do not run, or do not see this namespace",
			pending,
			installation.Name,
		),
		Next: []string{r.Access.Suggest(r.Namespace, "get", installation.Name, "-o", "yaml")},
	}
}
