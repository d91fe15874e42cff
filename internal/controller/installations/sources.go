// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
)

// subject finds the blueprint and the components of an installation. A blueprint that the present job has found already is read again at
// its revision.
func (k *kind) subject(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	run dataflow.Run,
	revision string,
) (blueprint.Input, error) {
	request := catalog.Request{Installation: inst, Policy: k.policy, Pinned: revision}
	if inst.Spec.Verification != nil && inst.Spec.Blueprint.Inline != nil {
		hasher, err := k.keys.get(ctx)
		if err != nil {
			return blueprint.Input{}, err
		}
		request.Vouched = installation.Sealed(hasher, inst)
	}
	outside := &artifact.Blueprints{Servers: k.git, Namespace: inst.Namespace, Contents: k.contentsIn(ctx, inst.Namespace)}
	if catalog.NamesComponent(inst) || inst.Spec.Blueprint.OCI != nil {
		var err error
		if outside.Repositories, err = k.readContext(ctx, &request, run); err != nil {
			return blueprint.Input{}, err
		}
	}
	request.Repository.Artifacts = outside
	return k.catalog.Find(ctx, request)
}
