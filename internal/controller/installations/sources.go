// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
)

const reasonNotVerified = "VerificationUnavailable"

// subject finds the blueprint and the components of an installation.
func (k *kind) subject(ctx context.Context, inst *lsv1alpha1.Installation) (blueprint.Input, error) {
	if inst.Spec.Verification != nil {
		return blueprint.Input{}, catalog.Invalid(reasonNotVerified,
			errors.New("spec.verification: signatures of components cannot be checked yet; remove the field to install without a check"))
	}
	request := catalog.Request{Installation: inst, Repository: k.repository}
	if catalog.NamesComponent(inst) {
		if err := k.readContext(ctx, &request); err != nil {
			return blueprint.Input{}, err
		}
	}
	return k.catalog.Find(ctx, request)
}

// readContext reads what the Context of an installation says about components.
func (k *kind) readContext(ctx context.Context, r *catalog.Request) error {
	key := client.ObjectKey{Namespace: r.Installation.Namespace, Name: cmp.Or(r.Installation.Spec.Context, lsv1alpha1.DefaultContextName)}
	r.Context = &lsv1alpha1.Context{}
	err := k.cluster.Get(ctx, key, r.Context)
	if apierrors.IsNotFound(err) {
		return catalog.Absent(catalog.ReasonContextNotFound, fmt.Errorf("spec.context: there is no Context %s: create it", key))
	}
	if err != nil {
		return fmt.Errorf("read Context %s: %w", key, err)
	}
	if key.Name = r.Context.ComponentVersionOverwritesReference; key.Name == "" {
		return nil
	}
	overwrites := &lsv1alpha1.ComponentVersionOverwrites{}
	err = k.cluster.Get(ctx, key, overwrites)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ComponentVersionOverwrites %s: %w", key, err)
	}
	r.Overwrites = overwrites
	return nil
}
