// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/fleet"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/tenancy"
)

// PromotionKeyAnnotation on an Installation is the key of the last promotion that changed it.
const PromotionKeyAnnotation = "pipelines.espalier.dev/promotion-key"

const installationKind = "Installation"

const (
	reasonWrongKind     = "NotAnInstallation"
	reasonNoRevision    = "RevisionMissing"
	reasonNotWritten    = "InstallationNotWritten"
	reasonNotConnected  = "ClusterNotConnected"
	reasonNotInstalled  = "InstallationNotFound"
	reasonRefusedChange = "InstallationRefused"
)

// installer promotes by writing the revision into Installations.
type installer struct {
	clientFor func(fleet.ClusterKey) (client.Client, error)
	// permitted checks at the API server whether a reference into another namespace is permitted now.
	permitted func(context.Context, pipeline.Reference) error
	tenancy   *tenancy.Strict
}

//espalier:rights pipelines
//	get,patch installations: a promotion by the strategy installation sets the version and starts the job

// install changes the Installation on each target. An Installation with the key of the promotion was changed by an earlier attempt.
func (i *installer) install(ctx context.Context, p *pipelines.Pipeline, e pipeline.Promote) (pipeline.Result, error) {
	if p.Spec.AppRef.Kind != installationKind {
		return pipeline.Result{}, failure.Terminalf(
			failure.Details{Reason: reasonWrongKind},
			"spec.appRef.kind is %s, but the strategy installation changes objects of kind %s: choose another strategy",
			p.Spec.AppRef.Kind,
			installationKind,
		)
	}
	ctx = i.tenancy.Within(ctx, p.Namespace)
	var problems []error
	for _, target := range e.Targets {
		problems = append(problems, tenancy.Explain(ctx, i.changeTarget(ctx, p, target, e)))
	}
	return pipeline.Result{}, errors.Join(problems...)
}

func (i *installer) changeTarget(ctx context.Context, p *pipelines.Pipeline, target pipelines.Target, e pipeline.Promote) error {
	application, err := fleet.ApplicationOf(p, target)
	if err != nil {
		return err
	}
	if reference, foreign := pipeline.ReferenceOf(p.Namespace, p.Spec.AppRef, target); foreign {
		if err := i.permitted(ctx, reference); err != nil {
			return err
		}
	}
	return i.change(ctx, application, e)
}

func (i *installer) change(ctx context.Context, at fleet.Application, e pipeline.Promote) error {
	cluster, err := i.clientFor(at.Cluster)
	if err != nil {
		return failure.NewRetryable(failure.Details{Reason: reasonNotConnected}, fmt.Errorf("change %s: %w", at, err))
	}
	var existing lsv1alpha1.Installation
	if err := cluster.Get(ctx, types.NamespacedName{Namespace: at.Namespace, Name: at.Name}, &existing); err != nil {
		reason := reasonNotWritten
		if apierrors.IsNotFound(err) {
			reason = reasonNotInstalled
		}
		return failure.NewRetryable(failure.Details{Reason: reason}, fmt.Errorf("read %s: %w", at, err))
	}
	if existing.Annotations[PromotionKeyAnnotation] == e.ID.Key {
		return nil
	}
	changed := existing.DeepCopy()
	if err := promote(changed, e); err != nil {
		return failure.NewTerminal(failure.Details{Reason: reasonNoRevision}, fmt.Errorf("change %s: %w", at, err))
	}
	err = cluster.Patch(ctx, changed, client.MergeFromWithOptions(&existing, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsInvalid(err) {
		return failure.NewTerminal(failure.Details{Reason: reasonRefusedChange}, fmt.Errorf("change %s: %w", at, err))
	}
	if err != nil {
		return failure.NewRetryable(failure.Details{Reason: reasonNotWritten}, fmt.Errorf("change %s: %w", at, err))
	}
	return nil
}

// promote sets revision, trigger and key in one write. In the continuous flow, a changed revision is a sufficient trigger.
func promote(inst *lsv1alpha1.Installation, e pipeline.Promote) error {
	before, err := inst.Spec.Revision()
	if err == nil {
		err = inst.Spec.SetRevision(e.Value)
	}
	if err != nil {
		return err
	}
	if inst.Annotations == nil {
		inst.Annotations = map[string]string{}
	}
	inst.Annotations[PromotionKeyAnnotation] = e.ID.Key
	if inst.Spec.Flow != lsv1alpha1.FlowContinuous || before == e.Value {
		inst.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationReconcile)
	}
	return nil
}
