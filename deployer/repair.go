// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/loop"
)

// repair calls the deployer's Repair. It first reads from the API server, because a job that the cache does not show yet takes
// precedence. In a suspended tree, it skips a repair that has not started.
func (k *kind) repair(ctx context.Context, item *lsv1alpha1.DeployItem, o *deployitem.Observed) error {
	if err := k.proveNewest(ctx, item); err != nil {
		return err
	}
	if !k.isRepairing(item) {
		suspended, err := k.isSuspended(ctx, item)
		if err != nil {
			return fmt.Errorf("find out whether the root of %s is suspended: %w", item.Name, err)
		}
		if suspended {
			k.repaired(item, o)
			return nil
		}
	}
	var progress Progress
	err := k.inside(ctx, item, *o, func(ctx context.Context, work Work) (err error) {
		progress, err = k.repairer.Repair(ctx, work)
		return err
	}, "Repair")
	remember, bad := providerStatus(progress.ProviderStatus)
	o.Remember = remember
	if err == nil {
		err = bad
	}
	k.tellOfRepair(ctx, item, progress, err)
	if err != nil && failure.KindOf(err) != failure.Terminal {
		return err
	}
	if err == nil && !progress.Done && progress.Recheck > 0 {
		k.memory.repair(item.UID)
		o.RepairAt = o.Now.Add(progress.Recheck)
		return nil
	}
	k.repaired(item, o)
	return nil
}

// isRepairing reports whether an earlier call has started a repair that is still in progress.
func (k *kind) isRepairing(item *lsv1alpha1.DeployItem) bool {
	if long, ok := k.repairer.(LongRepairer); ok && long.IsRepairing(item) {
		return true
	}
	return k.memory.repairing(item.UID)
}

// repaired ends a repair, or one that is skipped, and schedules the next one.
func (k *kind) repaired(item *lsv1alpha1.DeployItem, o *deployitem.Observed) {
	k.memory.repaired(item.UID, o.Now)
	o.RepairAt = k.repairAt(item)
}

//espalier:rights deployer-manifest,deployer-helm,deployer-container
//	get deployitems: before a repair, to check live whether the deploy item has changed

func (k *kind) proveNewest(ctx context.Context, item *lsv1alpha1.DeployItem) error {
	newest := &metav1.PartialObjectMetadata{}
	newest.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("DeployItem"))
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(item), newest); err != nil {
		return fmt.Errorf("read the newest version of the deploy item: %w", err)
	}
	if newest.ResourceVersion == item.ResourceVersion {
		return nil
	}
	resource := schema.GroupResource{Group: lsv1alpha1.GroupName, Resource: "deployitems"}
	return apierrors.NewConflict(resource, item.Name, fmt.Errorf("it has changed"))
}

// tellOfRepair announces what was repaired, and a failure the first time it occurs.
func (k *kind) tellOfRepair(ctx context.Context, item *lsv1alpha1.DeployItem, progress Progress, err error) {
	if progress.Repaired != "" {
		k.recorder.Eventf(item, nil, corev1.EventTypeNormal, "Repaired", "Repair", "%s", progress.Repaired)
	}
	if err == nil {
		k.memory.complain(item.UID, "")
		return
	}
	err = k.confidential(ctx, item).Error(err)
	log.FromContext(ctx).Info("Repair failed", "error", err.Error())
	if k.memory.complain(item.UID, failure.DetailsOf(err).Reason) {
		k.recorder.Eventf(item, nil, corev1.EventTypeWarning, "RepairFailed", "Repair", "%s", loop.Note(err.Error()))
	}
}
