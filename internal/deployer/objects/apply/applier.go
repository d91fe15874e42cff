// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/api/deployer"
	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
)

// attempts is how often an object is reread because another client changed it concurrently.
const attempts = 4

// Applier applies single objects for one owner.
type Applier struct {
	Cluster  cluster.Cluster
	Owner    inventory.Owner
	Strategy Strategy
	// SameManifests reports whether the manifests are those of the last job, so that no field can have been removed from
	// them.
	SameManifests bool
	// Rehearsal reports whether the cluster only checks requests and stores nothing, so that a request cannot build on the
	// previous one.
	Rehearsal bool
}

// Verdict is the result of applying an object.
type Verdict int

// Verdicts.
const (
	// Unchanged means that the object already satisfied the manifest.
	Unchanged Verdict = iota
	// Created means that the object is new.
	Created
	// Changed means that the object existed and was updated.
	Changed
	// Released means that the object must not be changed: because of its policy, or because another client created it.
	Released
	// Held means that the object is being deleted and can only be recreated once it is gone.
	Held
)

// Outcome is the result of applying an object, and its current state.
type Outcome struct {
	Verdict Verdict
	// Live is the object as the API server last returned it; nil if it was released or not read.
	Live *unstructured.Unstructured
	// Before is the object before the change, in a rehearsal; nil if it does not exist.
	Before *unstructured.Unstructured
	// FieldsHash is the hash of the manifest to store in the inventory.
	FieldsHash string
	// TakenFrom is the deploy item that managed the object before the write; empty if none did.
	TakenFrom string
}

// Apply applies one object to the cluster. The entry is its entry in the inventory.
func (a Applier) Apply(ctx context.Context, o Object, entry inventory.Entry) (Outcome, error) {
	if o.Policy == deployer.PolicyIgnore {
		return Outcome{Verdict: Released}, nil
	}
	attempt := attempt{Applier: a, object: o, entry: entry, desired: o.Desired(a.Owner)}
	mayExist := entry.Resource.UID != ""
	for range attempts {
		outcome, err := attempt.once(ctx, mayExist)
		if !errors.Is(err, errChanged) {
			outcome.FieldsHash = attempt.fieldsHash(outcome.Verdict)
			return outcome, err
		}
		mayExist = true
	}
	return Outcome{}, cluster.Refused("apply", attempt.subject(), apierrors.NewConflict(attempt.resource(), o.Manifest.GetName(), errChanged))
}

// errChanged is the error of an object that has changed since it was last read.
var errChanged = errors.New("it was changed at the same time")

// attempt is the application of one object.
type attempt struct {
	Applier
	object  Object
	entry   inventory.Entry
	desired *unstructured.Unstructured
}

func (a *attempt) subject() cluster.Subject { return cluster.SubjectOf(a.Cluster, a.object.Manifest) }

func (a *attempt) once(ctx context.Context, mayExist bool) (Outcome, error) {
	if !mayExist {
		return a.create(ctx)
	}
	live, err := a.subject().Read(ctx)
	if apierrors.IsNotFound(err) {
		return a.create(ctx)
	}
	if err != nil {
		return Outcome{}, cluster.Refused("read", a.subject(), err)
	}
	outcome, err := a.adjust(ctx, live)
	if a.Rehearsal {
		outcome.Before = live
	}
	return outcome, err
}

// adjust handles an existing object, according to its policy.
func (a *attempt) adjust(ctx context.Context, live *unstructured.Unstructured) (Outcome, error) {
	if !a.mayTouch(live) {
		return Outcome{Verdict: Released}, nil
	}
	if live.GetDeletionTimestamp() != nil {
		return Outcome{Verdict: Held, Live: live}, nil
	}
	if a.object.Policy == deployer.PolicyImmutable || !a.differs(live) {
		return Outcome{Verdict: Unchanged, Live: live}, nil
	}
	written, err := a.write(ctx, live)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return Outcome{}, errChanged
	case err != nil:
		return Outcome{}, cluster.Refused("update", a.subject(), fmt.Errorf("by the strategy %s: %w", a.strategyName(), err))
	case written.GetResourceVersion() == live.GetResourceVersion():
		return Outcome{Verdict: Unchanged, Live: written}, nil
	}
	return Outcome{Verdict: Changed, Live: written, TakenFrom: a.Owner.Other(live)}, nil
}

// partly replaces the hash if the object still has fields of an earlier manifest.
const partly = "partly"

// fieldsHash returns the hash of the manifest to store in the inventory.
func (a *attempt) fieldsHash(verdict Verdict) string {
	if a.SameManifests && a.entry.FieldsHash != "" {
		return a.entry.FieldsHash
	}
	current := FieldsHash(a.desired)
	if verdict == Created || a.takesAway() || a.entry.FieldsHash == current {
		return current
	}
	return partly
}

// takesAway reports whether to remove fields that are no longer in the manifest.
func (a *attempt) takesAway() bool {
	adds := a.Strategy == manifest.UpdateStrategyMerge || a.Strategy == manifest.UpdateStrategyMergeOverwrite
	return !adds && a.object.Policy != deployer.PolicyImmutable
}

// mayTouch reports whether an existing object may be changed. An object that another client created stays theirs under two policies:
// fallback, and immutable, which does not change objects and must not delete this one either.
func (a *attempt) mayTouch(live *unstructured.Unstructured) bool {
	switch a.object.Policy {
	case deployer.PolicyFallback, deployer.PolicyImmutable:
		return a.Owner.Created(live) || a.Owner.Has(a.entry, live)
	}
	return true
}
