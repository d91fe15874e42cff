// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// DeleteAnyway requests a deletion that nothing blocks as long as the controllers work: it leaves what was deployed, does not wait for
// installations that import from this one, and takes place even if the installation is frozen. The controllers pass the first to
// everything below. The UID keeps it from affecting an installation that has taken the name since.
//
// It unfreezes the installation last: before its deletion, that could start the update that the freeze was to prevent.
func (a Asker) DeleteAnyway(ctx context.Context, root *lsv1alpha1.Installation) error {
	err := a.deleteMarked(ctx, root, lsv1alpha1.DeleteWithoutUninstallAnnotation, lsv1alpha1.DeleteIgnoreSuccessorsAnnotation)
	if err != nil {
		return err
	}
	return a.Thaw(ctx, root, root)
}

// Thaw removes the annotation that freezes an object of a tree whose deletion was requested. A deleted object no longer needs that.
func (a Asker) Thaw(ctx context.Context, root *lsv1alpha1.Installation, object client.Object) error {
	patch := []byte(`{"metadata":{"uid":"` + string(object.GetUID()) + `","annotations":{"` + lsv1alpha1.IgnoreAnnotation + `":null}}}`)
	err := a.Client.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, patch))
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	case object.GetUID() == root.UID:
		return failed(err, "unfreeze installation %s, whose deletion has started", root.Name)
	default:
		return failed(err, "unfreeze %s %s of installation %s, whose deletion has started", kindOf(object), object.GetName(), root.Name)
	}
}
