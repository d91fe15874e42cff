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

// attempts is how often an object is read anew because somebody else changed it at the same time.
const attempts = 4

// Applier applies single objects for one owner.
type Applier struct {
	Cluster  cluster.Cluster
	Owner    inventory.Owner
	Strategy Strategy
	// SameManifests says that the manifests are those of the last job, so that no field can have gone from them.
	SameManifests bool
	// Rehearsal says that the cluster checks what it is sent and stores nothing of it, so that no request builds on the one before.
	Rehearsal bool
}

// Verdict is what became of an object.
type Verdict int

// Verdicts.
const (
	// Unchanged means that everything was there already.
	Unchanged Verdict = iota
	// Created means that the object is new.
	Created
	// Changed means that the object existed and was written.
	Changed
	// Released means that the object is not ours to touch: by its policy, or because somebody else made it.
	Released
	// Held means that the object is being deleted; only when it is gone can it be created anew.
	Held
)

// Outcome is what became of an object, and how it is now.
type Outcome struct {
	Verdict Verdict
	// Live is the object as the API server last returned it; nil if it was released or not read.
	Live *unstructured.Unstructured
	// Before is the object as it was found, in a rehearsal; nil if it does not exist.
	Before *unstructured.Unstructured
	// FieldsHash is what to remember of the manifest.
	FieldsHash string
	// TakenFrom is the deploy item that managed the object before it was written; empty if none did.
	TakenFrom string
}

// Apply brings one object to the cluster. The entry is what the inventory knows of it.
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

// errChanged says that the object is no longer what it was when it was last looked at.
var errChanged = errors.New("it was changed at the same time")

// attempt is the work on one object.
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

// adjust deals with an object that exists, by its policy.
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

// partly stands in the place of a hash if the object has fields of an earlier manifest that were not taken away.
const partly = "partly"

// fieldsHash is what to remember of the manifest.
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

// takesAway reports whether fields that are not in the manifest any more are taken away.
func (a *attempt) takesAway() bool {
	adds := a.Strategy == manifest.UpdateStrategyMerge || a.Strategy == manifest.UpdateStrategyMergeOverwrite
	return !adds && a.object.Policy != deployer.PolicyImmutable
}

// mayTouch reports whether an object that exists is one to work with. What somebody else created belongs to him under the
// policies that say so: fallback, and immutable, which would not change it and must not delete it either.
func (a *attempt) mayTouch(live *unstructured.Unstructured) bool {
	switch a.object.Policy {
	case deployer.PolicyFallback, deployer.PolicyImmutable:
		return a.Owner.Created(live) || a.Owner.Has(a.entry, live)
	}
	return true
}
