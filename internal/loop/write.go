// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"espalier.dev/internal/tenancy"
)

// PatchStatus sends a merge patch to the status of object, and returns the resulting metadata. The response contains only the metadata:
// the caller has the rest.
func PatchStatus(ctx context.Context, c client.Client, object client.Object, patch []byte) (metav1.Object, error) {
	answer, err := metadataOf(c, object)
	if err != nil {
		return nil, err
	}
	if err := c.Status().Patch(tenancy.Own(ctx), answer, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, err
	}
	return answer, nil
}

// patchObject is PatchStatus for everything except the status.
func patchObject(ctx context.Context, c client.Client, object client.Object, patch []byte) (metav1.Object, error) {
	answer, err := metadataOf(c, object)
	if err != nil {
		return nil, err
	}
	if err := c.Patch(tenancy.Own(ctx), answer, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, err
	}
	return answer, nil
}

// metadataOf returns the part of object that identifies it in requests.
func metadataOf(c client.Client, object client.Object) (*metav1.PartialObjectMetadata, error) {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find the kind of %T: %w", object, err)
	}
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
	answer.SetGroupVersionKind(kind)
	return answer, nil
}
