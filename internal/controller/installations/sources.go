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
	"espalier.dev/internal/gitprovider"
)

const reasonNotVerified = "VerificationUnavailable"

// subject finds the blueprint and the components of an installation. A blueprint that the present job has found already is read again at
// its revision.
func (k *kind) subject(ctx context.Context, inst *lsv1alpha1.Installation, revision string) (blueprint.Input, error) {
	if inst.Spec.Verification != nil {
		return blueprint.Input{}, catalog.Invalid(reasonNotVerified,
			errors.New("spec.verification: signatures of components cannot be checked yet; remove the field to install without a check"))
	}
	request := catalog.Request{Installation: inst, Repository: k.repository, Pinned: revision}
	request.Repository.Artifacts = artifacts{kind: k, namespace: inst.Namespace}
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

// artifacts reads the blueprints of a namespace that are no part of a component.
type artifacts struct {
	kind      *kind
	namespace string
}

// Git implements catalog.Artifacts.
func (a artifacts) Git(ctx context.Context, at lsv1alpha1.GitBlueprint, revision string) (catalog.Artifact, error) {
	credentials, err := a.credentials(ctx, at.SecretReference)
	if err != nil {
		return catalog.Artifact{}, err
	}
	return a.kind.git.Read(ctx, at, credentials, revision)
}

func (a artifacts) credentials(ctx context.Context, secret *lsv1alpha1.LocalObjectReference) (gitprovider.Credentials, error) {
	if secret == nil {
		return gitprovider.Credentials{}, nil
	}
	found, err := a.kind.contents.all(ctx, kindSecret, a.namespace, []string{secret.Name})
	if err != nil {
		return gitprovider.Credentials{}, err
	}
	data, exists := found[secret.Name]
	if !exists {
		return gitprovider.Credentials{}, catalog.NotFoundf("secretRef: there is no Secret %s/%s: create it", a.namespace, secret.Name)
	}
	credentials, err := gitprovider.ReaderCredentialsFrom(data)
	if err != nil {
		return credentials, catalog.Absent(catalog.ReasonBlueprintInvalid, fmt.Errorf("secretRef: Secret %s: %w", secret.Name, err))
	}
	return credentials, nil
}

// OCI implements catalog.Artifacts.
func (a artifacts) OCI(_ context.Context, at lsv1alpha1.OCIBlueprint, _ string) (catalog.Artifact, error) {
	return catalog.Artifact{}, catalog.Invalid(catalog.ReasonBlueprintInvalid,
		fmt.Errorf("reference %s: blueprints cannot be read from OCI registries yet; give the blueprint inline or by git", at.Reference))
}
