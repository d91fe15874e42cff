// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// SuspendChange suspends a root installation or a pipeline, or resumes it.
type SuspendChange struct {
	// Reason is for other users; it may be empty.
	Reason string
	Resume bool
}

// Suspend makes the change, and reports whether that has changed anything; a different reason has. The object is an Installation or a
// Pipeline. An installation gets an annotation, because a field of its spec would start a run; a pipeline has such a field.
func (a Asker) Suspend(ctx context.Context, object client.Object, change SuspendChange) (changed bool, err error) {
	verb, reason := "resume", ""
	if !change.Resume {
		verb, reason = "suspend", run.SuspendReason(a.User(ctx), change.Reason)
	}
	attempted := fmt.Sprintf("%s %s %s", verb, kindOf(object), object.GetName())
	current := object.DeepCopyObject().(client.Object)
	for {
		if change.isMade(current, reason) {
			return false, nil
		}
		patch, err := change.patch(current, reason)
		if err != nil {
			return false, err
		}
		err = a.Client.Patch(ctx, current, client.RawPatch(types.MergePatchType, patch))
		if err == nil {
			return true, nil
		}
		if !apierrors.IsConflict(err) {
			return false, &Error{Attempted: attempted, Err: err}
		}
		if current, err = a.readObjectAgain(ctx, object); err != nil {
			return false, err
		}
	}
}

// isMade reports whether nothing needs to change. Without a reason, the existing one stays.
func (c SuspendChange) isMade(object client.Object, reason string) bool {
	annotations := object.GetAnnotations()
	if c.Resume {
		_, marked := annotations[lsv1alpha1.SuspendAnnotation]
		_, explained := annotations[lsv1alpha1.SuspendReasonAnnotation]
		return !IsSuspended(object) && !marked && !explained
	}
	return IsSuspended(object) && (c.Reason == "" || annotations[lsv1alpha1.SuspendReasonAnnotation] == reason)
}

// IsSuspended reports whether an installation or a pipeline is suspended.
func IsSuspended(object client.Object) bool {
	if p, ok := object.(*pipelines.Pipeline); ok {
		return p.Spec.Suspend
	}
	return installation.SuspensionOf(object).On
}

func (c SuspendChange) patch(object client.Object, reason string) ([]byte, error) {
	annotations := map[string]*string{lsv1alpha1.SuspendReasonAnnotation: nil}
	if reason != "" {
		annotations[lsv1alpha1.SuspendReasonAnnotation] = &reason
	}
	patch := map[string]any{}
	on, mark := new(bool), "true"
	*on = true
	if c.Resume {
		on = nil
	}
	if _, ok := object.(*pipelines.Pipeline); ok {
		patch["spec"] = map[string]any{"suspend": on}
	} else if annotations[lsv1alpha1.SuspendAnnotation] = &mark; c.Resume {
		annotations[lsv1alpha1.SuspendAnnotation] = nil
	}
	patch["metadata"] = map[string]any{
		"resourceVersion": object.GetResourceVersion(), "uid": object.GetUID(), "annotations": annotations,
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("write the patch: %w", err)
	}
	return text, nil
}

func (a Asker) readObjectAgain(ctx context.Context, seen client.Object) (client.Object, error) {
	if p, ok := seen.(*pipelines.Pipeline); ok {
		return a.readPipelineAgain(ctx, p)
	}
	inst, ok := seen.(*lsv1alpha1.Installation)
	if !ok {
		return nil, fmt.Errorf("%T cannot be suspended", seen)
	}
	return a.readAgain(ctx, inst)
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *pipelines.Pipeline:
		return "pipeline"
	case *lsv1alpha1.Execution:
		return "execution"
	case *lsv1alpha1.DeployItem:
		return "deploy item"
	default:
		return "installation"
	}
}
