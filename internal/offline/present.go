// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// Present returns objects of a cluster, those of the wanted ones that exist. It is asked for each installation right before that is
// rendered, and once more for the Secrets in which its templates keep states.
type Present func(ctx context.Context, wanted Wanted) (*Manifests, error)

// Wanted is what an installation is rendered from, apart from what the manifests have and what was rendered before it.
type Wanted struct {
	dataflow.Needs
	// Installation is the one that will be rendered: the installations that are nested in it are wanted, and what says where its
	// blueprint comes from. It is nil if only the needs are wanted.
	Installation *lsv1alpha1.Installation
	// Scope is where the imports of the installation are.
	Scope dataflow.Scope
}

// presentError is that of a Present. No rendering goes on without what it would have brought.
type presentError struct{ cause error }

func (e *presentError) Error() string { return e.cause.Error() }
func (e *presentError) Unwrap() error { return e.cause }

// survives notes that a nested installation cannot be rendered, and reports whether the others are rendered nevertheless.
func (r *renderer) survives(n node, err error) bool {
	if !r.KeepGoing || n.path == n.Name || r.ctx.Err() != nil || errors.As(err, new(*presentError)) {
		return false
	}
	r.result.Failed = append(r.result.Failed, r.result.secrets.Error(err).Error())
	return true
}

// bring adds what a cluster has of what an installation is rendered from. What was rendered counts for more.
func (r *renderer) bring(n node) error {
	if r.Present == nil {
		return nil
	}
	needs := dataflow.NeedsOf(n.scope, n.Spec.Imports)
	needs.DataObjects = lacking(r.world.dataObjects, n.Namespace, needs.DataObjects)
	needs.Targets = lacking(r.world.targets, n.Namespace, needs.Targets)
	needs.Elements = slices.DeleteFunc(needs.Elements, func(reference string) bool {
		known := map[string]*lsv1alpha1.Target{}
		r.world.addElements(n.scope, reference, known)
		return len(known) > 0
	})
	needs.Secrets = lacking(r.world.secrets, n.Namespace, needs.Secrets)
	needs.ConfigMaps = lacking(r.world.configMaps, n.Namespace, needs.ConfigMaps)
	return r.take(Wanted{Installation: n.Installation, Scope: n.scope, Needs: needs})
}

func (r *renderer) bringStates(n node, secrets []string) error {
	names := lacking(r.world.secrets, n.Namespace, secrets)
	if r.Present == nil || len(names) == 0 {
		return nil
	}
	return r.take(Wanted{Scope: n.scope, Needs: dataflow.Needs{Secrets: names}})
}

// lacking are the names of objects that are not known.
func lacking[T any](known map[objectKey]T, namespace string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, exists := known[named(namespace, name)]
		return exists
	})
}

// take adds what a cluster has.
func (r *renderer) take(wanted Wanted) error {
	found, err := r.Present(r.ctx, wanted)
	if err != nil {
		return &presentError{cause: err}
	}
	m := r.manifests
	m.Installations = slices.Concat(m.Installations, found.Installations)
	m.Contexts = slices.Concat(m.Contexts, found.Contexts)
	m.Overwrites = slices.Concat(m.Overwrites, found.Overwrites)
	r.world.add(dataflow.Objects{DataObjects: found.DataObjects, Targets: found.Targets})
	for _, object := range found.DataObjects {
		r.brought[objectKey{string(dataflow.KindDataObject), object.Namespace, object.Name}] = true
	}
	for _, object := range found.Targets {
		r.brought[objectKey{string(dataflow.KindTarget), object.Namespace, object.Name}] = true
	}
	r.world.addContents(found.Secrets, found.ConfigMaps)
	return nil
}

// assume notes which imports of an installation are exports as a cluster has them, though the job would write them anew.
func (r *renderer) assume(n node, family []node) {
	needs := dataflow.NeedsOf(n.scope, n.Spec.Imports)
	for _, sibling := range family {
		for reference, id := range exportsOf(sibling) {
			names := needs.DataObjects
			if id.Kind == dataflow.KindTarget {
				names = needs.Targets
			}
			if slices.Contains(names, id.Name) && r.brought[objectKey{string(id.Kind), n.Namespace, id.Name}] {
				r.result.Assumed = append(r.result.Assumed, fmt.Sprintf("export %s of %s", reference, sibling.path))
			}
		}
	}
	slices.Sort(r.result.Assumed)
	r.result.Assumed = slices.Compact(r.result.Assumed)
}

// addContents stores Secrets and ConfigMaps.
func (w *world) addContents(secrets []*corev1.Secret, configMaps []*corev1.ConfigMap) {
	for _, secret := range secrets {
		w.secrets[named(secret.Namespace, secret.Name)] = secretContent(secret)
	}
	for _, configMap := range configMaps {
		w.configMaps[named(configMap.Namespace, configMap.Name)] = dataflow.ConfigMapContent(configMap.Data, configMap.BinaryData)
	}
}
