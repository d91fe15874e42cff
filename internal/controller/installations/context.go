// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/dataflow"
)

//espalier:rights installations
//	list,watch contexts,componentversionoverwrites: where the components of an installation come from

// readContext reads the settings for components from the Context of an installation, and opens the repositories with them.
func (k *kind) readContext(ctx context.Context, r *catalog.Request, run dataflow.Run) (artifact.View, error) {
	inst := r.Installation
	key := client.ObjectKey{Namespace: inst.Namespace, Name: cmp.Or(inst.Spec.Context, lsv1alpha1.DefaultContextName)}
	r.Context = &lsv1alpha1.Context{}
	switch err := k.cluster.Get(ctx, key, r.Context); {
	case apierrors.IsNotFound(err) && inst.Spec.Context == "" && !catalog.NamesComponent(inst):
		// A standalone blueprint needs at most credentials from a Context.
		r.Context.Namespace, r.Context.Name = key.Namespace, key.Name
	case apierrors.IsNotFound(err):
		return artifact.View{}, catalog.Absent(catalog.ReasonContextNotFound, fmt.Errorf("spec.context: Context %s does not exist: create it", key))
	case err != nil:
		return artifact.View{}, fmt.Errorf("read Context %s: %w", key, err)
	}
	if err := k.readOverwrites(ctx, r); err != nil {
		return artifact.View{}, err
	}
	view, err := k.openRepositories(ctx, r, run)
	if err != nil {
		return artifact.View{}, err
	}
	return view, k.readTrust(ctx, r)
}

func (k *kind) readOverwrites(ctx context.Context, r *catalog.Request) error {
	key := client.ObjectKey{Namespace: r.Context.Namespace, Name: r.Context.ComponentVersionOverwritesReference}
	if key.Name == "" {
		return nil
	}
	overwrites := &lsv1alpha1.ComponentVersionOverwrites{}
	err := k.cluster.Get(ctx, key, overwrites)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ComponentVersionOverwrites %s: %w", key, err)
	}
	r.Overwrites = overwrites
	return nil
}

// openRepositories gives a request the repositories with the Context's credentials. They stay the same for a whole job.
func (k *kind) openRepositories(ctx context.Context, r *catalog.Request, run dataflow.Run) (artifact.View, error) {
	view, err := k.registries.Of(r.Context, k.contentsIn(ctx, r.Context.Namespace), r.Installation.UID, run.Version)
	if err != nil {
		return artifact.View{}, catalog.Absent(catalog.ReasonContextInvalid, catalog.AboutContext(r.Context, err))
	}
	r.Repository = catalog.Repository{
		Name:       hex.EncodeToString(view.Fingerprint[:]),
		Default:    view.Default(),
		Source:     view,
		Resources:  view,
		Signatures: view,
	}
	return view, nil
}

// readTrust reads the key or the certificates for the signature check that an installation requires.
func (k *kind) readTrust(ctx context.Context, r *catalog.Request) (err error) {
	verification := r.Policy.Wants(r.Installation)
	if verification == nil {
		return nil
	}
	r.Trust, err = credentials.TrustOf(r.Context, verification.SignatureName, k.contentsIn(ctx, r.Context.Namespace))
	if err != nil {
		return catalog.Absent(catalog.ReasonContextInvalid, catalog.AboutContext(r.Context, err))
	}
	return nil
}

// contentsIn returns a reader of the Secrets and ConfigMaps of a namespace.
func (k *kind) contentsIn(ctx context.Context, namespace string) credentials.Contents {
	return func(kind, name string) (map[string][]byte, error) {
		found, err := k.contents.all(ctx, dataflow.ObjectKind(kind), namespace, []string{name})
		data, exists := found[name]
		if exists && data == nil {
			data = map[string][]byte{}
		}
		return data, err
	}
}
