// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/controller/resourcequota"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/run"
)

// PropagateJob makes a job the current one of a child. The caller must have read or written the child: if it has changed since,
// the API server returns a conflict.
func PropagateJob(ctx context.Context, c client.Client, child client.Object, jobID string, now time.Time) error {
	at := metav1.NewTime(now)
	status := map[string]any{
		"jobID":           jobID,
		"transitionTimes": map[string]any{"triggerTime": at, "initTime": nil, "waitTime": nil, "finishedTime": nil},
	}
	if _, ok := child.(*lsv1alpha1.DeployItem); ok {
		status["jobIDGenerationTime"] = at
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": child.GetResourceVersion(), "uid": child.GetUID()},
		"status":   status,
	})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	answer, err := loop.PatchStatus(ctx, c, child, patch)
	if err != nil {
		return fmt.Errorf("pass the job to %s: %w", child.GetName(), err)
	}
	child.SetResourceVersion(answer.GetResourceVersion())
	return nil
}

// Delete deletes a child, unless its deletion was requested before. It does not delete another object that has
// taken the name meanwhile.
func Delete(ctx context.Context, c client.Writer, child client.Object) error {
	if !child.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid := child.GetUID()
	err := c.Delete(ctx, child, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", child.GetName(), err)
	}
	return nil
}

// TellOfDeletion annotates a child in progress: the tree is being deleted and, if withoutUninstall is set, what was installed stays.
func TellOfDeletion(ctx context.Context, c client.Client, child client.Object, withoutUninstall bool) error {
	return loop.PatchMetadata(ctx, c, child, func(m metav1.Object) {
		annotations := m.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[run.DeletionAnnotation] = string(m.GetUID())
		if withoutUninstall {
			annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] = "true"
		}
		m.SetAnnotations(annotations)
	})
}

// Annotate sets an annotation on a child.
func Annotate(ctx context.Context, c client.Client, child client.Object, name, value string) error {
	return loop.PatchMetadata(ctx, c, child, func(m metav1.Object) {
		annotations := m.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = value
		m.SetAnnotations(annotations)
	})
}

// Gone reports whether an object that the cache does not show is really gone. It reads from the API server.
func Gone(ctx context.Context, live client.Reader, key client.ObjectKey, object client.Object) (bool, error) {
	err := live.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// parallel is how many children are written concurrently.
const parallel = 8

// Each calls do for all items, several at a time, and returns all errors together. After a failure, it starts no further items.
func Each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	if len(items) == 1 {
		return do(ctx, items[0])
	}
	var (
		group  errgroup.Group
		failed atomic.Bool
	)
	group.SetLimit(parallel)
	all := make([]error, len(items))
	for i, item := range items {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			all[i] = do(ctx, item)
			failed.CompareAndSwap(false, all[i] != nil)
			return nil
		})
	}
	_ = group.Wait() // always nil: the errors are in all
	return errors.Join(all...)
}

// NoRoom turns the error that a namespace accepts no objects, or no further ones, into a wait.
func NoRoom(err error) error { return ending.Refused(resourcequota.Refused(err)) }
