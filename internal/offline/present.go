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

// Present returns those of the wanted objects that exist in a cluster. It is called for each installation right before it is rendered, and
// again for the Secrets in which its templates keep states.
type Present func(ctx context.Context, wanted Wanted) (*Manifests, error)

// Wanted is the input of an installation, apart from the manifests and what was rendered before it.
type Wanted struct {
	dataflow.Needs
	// Installation is the one to render next: its nested installations are wanted, and what determines the source of its blueprint. It is nil
	// if only the needs are wanted.
	Installation *lsv1alpha1.Installation
	// Scope is where the imports of the installation are.
	Scope dataflow.Scope
}

// presentError is an error of a Present. Rendering does not continue without the missing objects.
type presentError struct{ cause error }

func (e *presentError) Error() string { return e.cause.Error() }
func (e *presentError) Unwrap() error { return e.cause }

// survives records that a nested installation cannot be rendered, and reports whether rendering continues with the others.
func (r *renderer) survives(n node, err error) bool {
	if !r.KeepGoing || n.path == n.Name || r.ctx.Err() != nil || errors.As(err, new(*presentError)) {
		return false
	}
	r.result.Failed = append(r.result.Failed, r.result.secrets.Error(err).Error())
	return true
}

// bring adds the objects of a cluster from which an installation is rendered. Rendered objects take precedence.
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

// lacking returns the names of unknown objects.
func lacking[T any](known map[objectKey]T, namespace string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, exists := known[named(namespace, name)]
		return exists
	})
}

// take adds objects of a cluster.
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

// assume records which imports of an installation are exports taken from a cluster, although the job would write new ones.
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
