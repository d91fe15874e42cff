// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/installation"
)

// subject finds the blueprint and the components of an installation. If the current job has already found a blueprint, it is read again at
// the same revision.
func (k *kind) subject(ctx context.Context, inst *lsv1alpha1.Installation, in *installation.Inputs, revision string) (err error) {
	request := catalog.Request{Installation: inst, Policy: k.policy, Pinned: revision}
	if inst.Spec.Verification != nil && inst.Spec.Blueprint.Inline != nil {
		hasher, err := k.keys.get(ctx)
		if err != nil {
			return err
		}
		request.Vouched = installation.Sealed(hasher, inst)
	}
	outside := &artifact.Blueprints{Servers: k.git, Namespace: inst.Namespace, Contents: k.contentsIn(ctx, inst.Namespace)}
	if catalog.NamesComponent(inst) || inst.Spec.Blueprint.OCI != nil {
		view, err := k.readContext(ctx, &request, in.Run)
		if err != nil {
			return err
		}
		outside.Repositories = view.Repositories
		in.Ignored = ignored(&request, view)
	}
	request.Repository.Artifacts = outside
	in.Input, err = k.catalog.Find(ctx, request)
	return err
}

// ignored returns the settings of the Context that have no effect. Nested installations use the Context of their root, which reports this
// for all.
func ignored(r *catalog.Request, view artifact.View) []string {
	if !installation.IsRoot(r.Installation) {
		return nil
	}
	var told []string
	for _, one := range view.Ignored {
		told = append(told, fmt.Sprintf("Context %s: %s", r.Context.Name, one))
	}
	return told
}
