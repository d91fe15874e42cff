// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/gitprovider"
)

// Blueprints reads the blueprints of a namespace that are not part of a component. It implements catalog.Artifacts.
type Blueprints struct {
	// Repositories are those of registries; without them there are no blueprints from OCI. Servers are those of Git.
	Repositories *Repositories
	Servers      *Git
	Namespace    string
	// Contents provides the Secrets of the namespace.
	Contents credentials.Contents
}

// Repository returns a catalog.Repository that reads components and blueprints with these.
func (b *Blueprints) Repository(name string) catalog.Repository {
	return catalog.Repository{
		Name:       name,
		Default:    b.Repositories.Default(),
		Source:     b.Repositories,
		Resources:  b.Repositories,
		Signatures: b.Repositories,
		Artifacts:  b,
	}
}

// OCI implements catalog.Artifacts.
func (b *Blueprints) OCI(ctx context.Context, at lsv1alpha1.OCIBlueprint, revision string) (catalog.Artifact, error) {
	files, digest, err := b.Repositories.BlueprintArtifact(ctx, at.Reference, revision)
	return catalog.Artifact{Files: files, Revision: digest}, err
}

// Git implements catalog.Artifacts.
func (b *Blueprints) Git(ctx context.Context, at lsv1alpha1.GitBlueprint, revision string) (catalog.Artifact, error) {
	login, err := b.login(at.SecretReference)
	if err != nil {
		return catalog.Artifact{}, err
	}
	return b.Servers.Read(ctx, at, login, revision)
}

func (b *Blueprints) login(secret *lsv1alpha1.LocalObjectReference) (gitprovider.Credentials, error) {
	if secret == nil {
		return gitprovider.Credentials{}, nil
	}
	data, err := b.Contents(credentials.KindSecret, secret.Name)
	if err != nil {
		return gitprovider.Credentials{}, err
	}
	if data == nil {
		return gitprovider.Credentials{}, catalog.NotFoundf("secretRef: Secret %s/%s does not exist: create it", b.Namespace, secret.Name)
	}
	login, err := gitprovider.ReaderCredentialsFrom(data)
	if err != nil {
		return login, catalog.Absent(catalog.ReasonBlueprintInvalid, fmt.Errorf("secretRef: Secret %s: %w", secret.Name, err))
	}
	return login, nil
}
