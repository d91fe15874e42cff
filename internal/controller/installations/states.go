// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
)

// stateWrites are the writes of what templates keep for the next job.
func (k *kind) stateWrites(inst *lsv1alpha1.Installation, states blueprint.States) ([]write, error) {
	secrets, err := states.Secrets(inst.Name)
	if err != nil {
		return nil, err
	}
	var writes []write
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: inst.Namespace, Name: name,
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: installationKind, Name: inst.Name, UID: inst.UID,
				}},
			},
			Data: secrets[name],
		}
		writes = append(writes, func(ctx context.Context) error { return k.writeState(ctx, secret) })
	}
	return writes, nil
}

func (k *kind) writeState(ctx context.Context, wanted *corev1.Secret) error {
	existing, err := k.contents.all(ctx, kindSecret, wanted.Namespace, []string{wanted.Name})
	if err != nil {
		return err
	}
	data, found := existing[wanted.Name]
	if found && equality.Semantic.DeepEqual(data, wanted.Data) {
		return nil
	}
	if !found {
		var present corev1.Secret
		if found, err = k.create(ctx, wanted, &present); err != nil || !found {
			return err
		}
	}
	// The state has one writer, and the last run counts.
	patch := client.MergeFrom(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.Namespace, Name: wanted.Name}})
	if err := k.cluster.Patch(ctx, wanted.DeepCopy(), patch); err != nil {
		return fmt.Errorf("update the state in Secret %s: %w", wanted.Name, err)
	}
	return nil
}

// removeStates deletes the states of an installation's templates.
func (k *kind) removeStates(ctx context.Context, inst *lsv1alpha1.Installation) error {
	if inst.Spec.Blueprint.Inline == nil {
		return nil
	}
	b, err := k.engine.ParseInline(inst.Spec.Blueprint.Inline.Filesystem)
	if err != nil {
		// A blueprint that cannot be read must not hold a deletion. The garbage collector knows the owner.
		return nil
	}
	for _, name := range b.StateSecrets(inst.Name) {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(kindSecret)))
		key := client.ObjectKey{Namespace: inst.Namespace, Name: name}
		if err := k.cluster.Get(ctx, key, object); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			continue
		}
		if err := k.cluster.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the state in Secret %s: %w", name, err)
		}
	}
	return nil
}
