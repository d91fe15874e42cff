// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/tenancy"
)

func exportsOf(progress Progress) ([]byte, error) {
	if len(progress.Exports) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(progress.Exports)
	if err != nil {
		return nil, internalProblem("StoreExports", fmt.Errorf("the exports cannot be converted to JSON: %w", err))
	}
	return raw, nil
}

//espalier:rights deployer-*
//	get,create,update,delete secrets: what deploy items export

// storeExports writes exports to the item's Secret. It tries to create the Secret first, without reading it, because speed matters in the
// first job.
func (k *kind) storeExports(ctx context.Context, item *lsv1alpha1.DeployItem, exports []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: item.Namespace, Name: deployitem.ExportSecretName(item.Name),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "DeployItem", Name: item.Name, UID: item.UID,
			}},
		},
		Data: map[string][]byte{lsv1alpha1.ExportSecretKey: exports},
	}
	err := k.client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		err = k.replaceExports(ctx, item, secret)
	}
	if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
		return configurationProblem(fmt.Errorf("the API server rejects Secret %s", secret.Name))
	}
	if err != nil {
		return fmt.Errorf("store the exports in Secret %s: %w", secret.Name, err)
	}
	return nil
}

func (k *kind) replaceExports(ctx context.Context, item *lsv1alpha1.DeployItem, secret *corev1.Secret) error {
	before := &corev1.Secret{}
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(secret), before); err != nil {
		return err
	}
	if !belongs(before, item) {
		return configurationProblem(fmt.Errorf("the Secret %s exists and does not belong to the deploy item: rename or delete it", secret.Name))
	}
	secret.ResourceVersion = before.ResourceVersion
	secret.Labels, secret.Annotations = before.Labels, before.Annotations
	return k.client.Update(ctx, secret)
}

// belongs reports whether a Secret contains the exports of an item: the item owns it, or the item refers to it, as items of
// earlier controllers do.
func belongs(secret *corev1.Secret, item *lsv1alpha1.DeployItem) bool {
	ref := item.Status.ExportReference
	named := ref != nil && ref.Name == secret.Name && (ref.Namespace == "" || ref.Namespace == secret.Namespace)
	return named || slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == item.UID })
}

func configurationProblem(cause error) error {
	return failure.NewTerminal(failure.Details{
		Operation: "StoreExports", Reason: "ExportsRefused", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, cause)
}

// DropExports deletes the Secret with the exports of an item, if it exists and belongs to the item.
func DropExports(ctx context.Context, live client.Reader, writer client.Writer, item *lsv1alpha1.DeployItem) error {
	ctx = tenancy.Own(ctx) // objects of an item are deleted with it, regardless of the rights that remain in its namespace
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: item.Namespace, Name: deployitem.ExportSecretName(item.Name)}
	if err := live.Get(ctx, key, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !belongs(secret, item) {
		return nil
	}
	if err := writer.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the exports in Secret %s: %w", secret.Name, err)
	}
	return nil
}
