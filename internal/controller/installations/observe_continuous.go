// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
)

// observeContinuously reads everything that a decision of the continuous flow may depend on.
func (k *kind) observeContinuously(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (installation.Observed, error) {
	s := installation.Snapshot{Installation: inst, Now: now}
	o := installation.NewObserved(s)
	if !o.Finalizer {
		return o, nil
	}
	if o.Frozen() || o.HeldBack() {
		if traces, err := k.hasTraces(ctx, s); err != nil || !traces {
			return o, err
		}
	}
	steps := []func(context.Context, *installation.Snapshot) error{
		k.readSiblings, k.readChildren, k.readWritten, k.readImports, k.readExported,
	}
	for _, read := range steps {
		if err := read(ctx, &s); err != nil {
			return o, err
		}
	}
	return installation.NewObserved(s), nil
}

// hasTraces reports whether a frozen or suspended installation may be in an update that its status does not record. It reads only from the
// cache.
func (k *kind) hasTraces(ctx context.Context, s installation.Snapshot) (bool, error) {
	if _, err := k.readBelow(ctx, &s); err != nil {
		return false, err
	}
	err := k.readWritten(ctx, &s)
	return installation.HasTraces(s), err
}

// readWritten reads the objects that an installation has written for its children.
func (k *kind) readWritten(ctx context.Context, s *installation.Snapshot) (err error) {
	o := installation.NewObserved(*s)
	if o.Ignored || o.Suspension.On {
		s.Context, err = k.ownContext(ctx, s.Installation)
	}
	return err
}

func (k *kind) readSiblings(ctx context.Context, s *installation.Snapshot) (err error) {
	inst := s.Installation
	if s.Successors, err = relatedBy(ctx, k.cluster, inst, importsIndex, installation.ExportsOf(inst)); err != nil ||
		!inst.DeletionTimestamp.IsZero() {
		return err
	}
	if s.Predecessors, err = relatedBy(ctx, k.cluster, inst, exportsIndex, installation.ImportsOf(inst)); err != nil {
		return err
	}
	s.DependencyError, err = k.dependencyError(ctx, inst, s.Predecessors)
	return err
}

// readChildren reads what is below an installation. It asks the API server for what the cache does not show.
func (k *kind) readChildren(ctx context.Context, s *installation.Snapshot) error {
	if nothingLeft, err := k.readBelow(ctx, s); err != nil || nothingLeft {
		return err
	}
	return k.confirmMissing(ctx, s)
}

// readImports finds out the current versions of the imports.
func (k *kind) readImports(ctx context.Context, s *installation.Snapshot) error {
	inst := s.Installation
	run := runOf(inst)
	scope, marks, err := k.expectedScope(ctx, inst, run)
	if err != nil {
		return err
	}
	facts, err := k.importFacts(ctx, scope, inst, asked(inst, run))
	if err != nil {
		return err
	}
	resolved, err := dataflow.Resolve(scope, inst.Spec.Imports, facts)
	if err != nil {
		s.Imports = &installation.ImportsRead{Err: err}
		return nil
	}
	exporters, err := k.exporters(ctx, inst)
	if err != nil {
		return err
	}
	if err := installation.ForeignImports(scope, facts, exporters); err != nil {
		s.Imports = &installation.ImportsRead{Err: err}
		return nil
	}
	hasher, err := k.keys.get(ctx)
	if err != nil {
		return err
	}
	hashes := hasher.Hash(resolved)
	s.Imports = &installation.ImportsRead{Versions: installation.ImportVersions(resolved, hashes, marks), Hash: hashes.All}
	return nil
}

// readExported checks whether the exports of an installation still exist. It asks the API server for those that the cache does not show:
// they may have been written a moment ago. Without its labels or its owner, an export counts as missing, so that it is written again.
func (k *kind) readExported(ctx context.Context, s *installation.Snapshot) error {
	inst := s.Installation
	if inst.Status.Phase != lsv1alpha1.PhaseSucceeded || !inst.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, id := range installation.ExportsOf(inst) {
		object := emptyOf(id)
		key := client.ObjectKey{Namespace: inst.Namespace, Name: id.Name}
		err := k.cluster.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			err = k.live.Get(ctx, key, object)
		}
		marred := err == nil && isMarred(object) && object.GetAnnotations()[lsv1alpha1.DataObjectHashAnnotation] != ""
		switch {
		case marred, apierrors.IsNotFound(err):
			s.ExportsGone = append(s.ExportsGone, fmt.Sprintf("%s %s", id.Kind, id.Name))
		case err != nil:
			return fmt.Errorf("read %s %s, which it exports: %w", id.Kind, id.Name, err)
		}
	}
	return nil
}

// exporters returns the installations of the namespace that export what this one imports, wherever they are.
func (k *kind) exporters(ctx context.Context, inst *lsv1alpha1.Installation) ([]*lsv1alpha1.Installation, error) {
	var all []*lsv1alpha1.Installation
	for _, key := range keysOf(installation.ImportsOf(inst)) {
		var list lsv1alpha1.InstallationList
		err := k.cluster.List(
			ctx,
			&list,
			client.InNamespace(inst.Namespace),
			client.MatchingFields{exportsIndex: key},
			client.UnsafeDisableDeepCopy,
		)
		if err != nil {
			return nil, fmt.Errorf("find who exports %s: %w", key, err)
		}
		all = append(all, pointers(list.Items)...)
	}
	return all, nil
}
