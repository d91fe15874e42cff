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
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/template"
)

// loadStates reads what templates have left, and gives them what they can generate further values from: always the same for
// a job, so that a pass that was cut off generates nothing else when it is repeated. Whoever deletes the state gets other
// values from the next job.
func (k *kind) loadStates(ctx context.Context, in *input, from trust) error {
	inst := in.Installation
	secrets, err := k.contents.reader(bool(from)).all(ctx, kindSecret, inst.Namespace, in.Blueprint.StateSecrets(inst.Name))
	if err != nil {
		return err
	}
	if in.States, err = in.Blueprint.LoadStates(inst.Name, secrets); err != nil {
		return err
	}
	hasher, err := k.keys.get(ctx)
	if err != nil {
		return err
	}
	since := inst.CreationTimestamp
	if inst.Status.PhaseTransitionTime != nil {
		since = *inst.Status.PhaseTransitionTime
	}
	in.Entropy = template.NewEntropy(hasher.Seed(string(inst.UID)+"/"+in.run.Version), since.Time)
	return nil
}

// render renders a blueprint. If that generates values, what the cache shows of the states may be too old to know that there
// are some: then they are read from the API server.
func (k *kind) render(ctx context.Context, in input) (*blueprint.Output, error) {
	out, err := k.engine.Render(in.Input)
	if err != nil || !in.Entropy.Used() || out.States.Within(in.States) {
		return out, err
	}
	if err := k.loadStates(ctx, &in, fromServer); err != nil {
		return nil, err
	}
	return k.engine.Render(in.Input)
}

// renderExports is render for exports.
func (k *kind) renderExports(ctx context.Context, in input, values blueprint.ExportValues) (*dataflow.Exports, blueprint.States, error) {
	exports, states, err := k.engine.Exports(in.Input, values)
	if err != nil || !in.Entropy.Used() || states.Within(in.States) {
		return exports, states, err
	}
	if err := k.loadStates(ctx, &in, fromServer); err != nil {
		return nil, nil, err
	}
	return k.engine.Exports(in.Input, values)
}

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
