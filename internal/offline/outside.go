// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/signature"
)

// Outside opens repositories of components and blueprints for a reader, as controllers use registries. It also returns warnings.
type Outside func(Reader) (catalog.Repository, []string, error)

// Reader is the installation on whose behalf repositories are read.
type Reader struct {
	Namespace string
	// Context is that of the installation, nil if the manifests do not contain it.
	Context *lsv1alpha1.Context
	// Contents provides the Secrets and ConfigMaps of the namespace from the manifests.
	Contents credentials.Contents
}

// find looks up the components and the blueprint of an installation.
func (r *renderer) find(n node) (blueprint.Input, error) {
	request := r.manifests.request(n.Installation)
	reader := Reader{Namespace: n.Namespace, Context: request.Context, Contents: r.world.contents(n.Namespace)}
	outside, err := r.outside(n, reader)
	if err != nil {
		return blueprint.Input{}, err
	}
	request.Repository = r.Library.repository(outside)
	request.Vouched = !n.scope.IsRoot()
	if n.Spec.Verification != nil {
		if err := r.trust(&request, reader); err != nil {
			request.Repository.Signatures = unchecked(func() {
				r.result.warn("installation %s: spec.verification: the signature %s was not checked: %v",
					n.path, n.Spec.Verification.SignatureName, err)
			})
		}
	}
	in, err := r.catalog.Find(r.ctx, request)
	// Only the controllers of a cluster can seal what comes from a signed blueprint.
	in.Verified = false
	return in, err
}

// outside opens outside repositories, if the installation may need them.
func (r *renderer) outside(n node, reader Reader) (catalog.Repository, error) {
	if r.Outside == nil || !catalog.ReadsOutside(n.Installation) {
		return catalog.Repository{}, nil
	}
	repository, warnings, err := r.Outside(reader)
	for _, warning := range warnings {
		r.result.warn("%s", warning)
	}
	return repository, err
}

// trust finds the keys for the signature that an installation requires. If there are none, it says why.
func (r *renderer) trust(request *catalog.Request, reader Reader) (err error) {
	switch {
	case request.Repository.Signatures == nil:
		return errors.New("that takes a registry or an archive")
	case request.Context == nil:
		return errors.New("its Context is not among the manifests")
	}
	request.Trust, err = credentials.TrustOf(request.Context, request.Installation.Spec.Verification.SignatureName, reader.Contents)
	return err
}

// unchecked accepts every signature as valid, and reports that.
type unchecked func()

// Verify implements catalog.Signatures.
func (u unchecked) Verify(context.Context, *component.Set, string, signature.Trust) error {
	u()
	return nil
}

// contents provides the Secrets and ConfigMaps of a namespace.
func (w *world) contents(namespace string) credentials.Contents {
	return func(kind, name string) (map[string][]byte, error) {
		if kind == credentials.KindConfigMap {
			return w.configMaps[named(namespace, name)], nil
		}
		return w.secrets[named(namespace, name)], nil
	}
}
