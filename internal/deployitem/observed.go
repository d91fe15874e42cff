// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// Role is what a deployer is responsible for, and who it is.
type Role struct {
	Type      lsv1alpha1.DeployItemType
	Selectors []TargetSelector
	Info      lsv1alpha1.DeployerInformation
}

// Snapshot is what was read about an item, and what the deployer's process remembers of it.
type Snapshot struct {
	Item *lsv1alpha1.DeployItem
	// Target is what spec.target names; nil if that is nothing, or does not exist.
	Target *lsv1alpha1.Target
	Role   Role
	// Intended says that the deployer's intention for this job and this generation of the item was stored by this process.
	Intended bool
	// RepairAt is when the deployer wants to look after the item next; zero if it does not, or the item is not Repairable.
	RepairAt time.Time
	Now      time.Time
}

// TargetState is what is known of an item's Target.
type TargetState string

// States of an item's Target.
const (
	TargetNone    TargetState = "none"
	TargetMissing TargetState = "missing"
	TargetThere   TargetState = "there"
)

// Observed is everything that a decision about an item depends on.
type Observed struct {
	// Name and TargetName are for messages.
	Name, TargetName string

	Phase lsv1alpha1.Phase
	Job   run.Job
	// Continuous is set if the item follows the continuous flow. Then Due says that there is something to do about it that
	// has not begun; Restart, that its spec has changed since the work began; Operation, that an annotation asks for work.
	Continuous, Due, Restart, Operation bool
	// Mine is set if this deployer is the one for the item.
	Mine bool
	// Deleting is set once the deletion was asked for; WithoutUninstall, if nothing in the target shall be touched.
	Deleting, WithoutUninstall bool
	// DeletionAsked is set once the deletion of the item was asked for, or of what is above it.
	DeletionAsked bool
	// Finalizer is set if the item is kept until its deployer lets it go.
	Finalizer bool
	// Unchanged is set if the item succeeded before with the same spec and asks to be left out then.
	Unchanged bool
	Target    TargetState
	// ClusterMayBeGone is set if a missing Target means that there is nothing to uninstall.
	ClusterMayBeGone bool
	// Exported is set if the item has exported something before.
	Exported bool
	// Root is the root installation of the item, empty if nobody knows. It serves to tell people the way out of a deletion.
	Root string
	// Problem is what is wrong with the item itself, in a way that no retry mends.
	Problem error

	// Intended is set once the deployer has said what it is going to do in this job.
	Intended bool
	// Stored is set while the API server knows of the pick-up and of the intention.
	Stored bool
	// Answer is what the deployer came back with in this pass; nil before it was asked.
	Answer *Answer
	// Remember is a new provider status that is not in the status yet.
	Remember *runtime.RawExtension
	// ExportsStored is set once the exports of the answer are in their Secret; ExportsDropped, once it is gone.
	ExportsStored, ExportsDropped bool

	// RepairAt is when the deployer wants to look after a finished item; zero if it does not.
	RepairAt time.Time
	// Ended is set if the job has come to its end in this pass, and the API server does not know yet.
	Ended bool
	// Deadline is when the time of the current job is up; zero if it has no limit.
	Deadline time.Time
	Now      time.Time
	Deployer lsv1alpha1.DeployerInformation
}

// Answer is what a call of a deployer came to.
type Answer struct {
	Done    bool
	Waiting decision.Reason
	Recheck time.Duration
	// Exports is the JSON of what to export; empty for nothing.
	Exports []byte
	Err     error
	// Unreachable says that the error is that the target cannot be reached at present.
	Unreachable bool
}

// NewObserved turns what was read into facts.
func NewObserved(s Snapshot) Observed {
	item, status := s.Item, &s.Item.Status
	o := Observed{
		Name:             item.Namespace + "/" + item.Name,
		Phase:            status.Phase,
		Job:              run.JobOf(&status.RunStatus),
		Deleting:         !item.DeletionTimestamp.IsZero(),
		DeletionAsked:    run.DeletionAsked(item),
		WithoutUninstall: item.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true",
		Finalizer:        slices.Contains(item.Finalizers, lsv1alpha1.Finalizer),
		Unchanged: item.Spec.UpdateOnChangeOnly && status.Phase == lsv1alpha1.PhaseSucceeded &&
			status.ObservedGeneration == item.Generation,
		ClusterMayBeGone: neverTouched(status) || item.Spec.OnDelete != nil && item.Spec.OnDelete.SkipUninstallIfClusterRemoved,
		Exported:         status.ExportReference != nil,
		Intended:         s.Intended,
		Stored:           PickedUp(status),
		RepairAt:         s.RepairAt,
		Now:              s.Now,
		Deployer:         s.Role.Info,
	}
	o.lookContinuously(item)
	o.Target, o.TargetName, o.Problem = targetOf(item, s.Target)
	o.Mine = mine(s)
	deadline, err := DeadlineOf(item, beganOr(status, s.Now))
	if err != nil {
		o.Problem = invalid(fmt.Errorf("spec.timeout: %w", err))
	}
	o.Deadline = deadline
	return o
}

// beganOr returns when the deployer that works on the item began, or the time at which this one is about to begin.
func beganOr(status *lsv1alpha1.DeployItemStatus, now time.Time) time.Time {
	began := Began(status)
	atTheGate := status.Phase == lsv1alpha1.PhaseInit || status.Phase == lsv1alpha1.PhaseInitDelete
	if !PickedUp(status) || atTheGate || began.IsZero() {
		return now
	}
	return began
}

// neverTouched reports whether no deployer has ever got as far as to touch the target for this item.
func neverTouched(status *lsv1alpha1.DeployItemStatus) bool {
	return status.ObservedGeneration == 0 && status.ProviderStatus == nil
}

func targetOf(item *lsv1alpha1.DeployItem, target *lsv1alpha1.Target) (TargetState, string, error) {
	ref := item.Spec.Target
	switch {
	case ref == nil:
		return TargetNone, "", nil
	case ref.Namespace != "" && ref.Namespace != item.Namespace:
		return TargetMissing, ref.Namespace + "/" + ref.Name, invalid(fmt.Errorf(
			"spec.target: Target %s/%s is in another namespace; name one in namespace %s", ref.Namespace, ref.Name, item.Namespace))
	case target == nil:
		return TargetMissing, item.Namespace + "/" + ref.Name, nil
	default:
		return TargetThere, item.Namespace + "/" + ref.Name, nil
	}
}

func invalid(cause error) error {
	return failure.NewTerminal(failure.Details{
		Operation: "PickUp", Reason: "InvalidDeployItem", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, cause)
}

// mine reports whether the deployer is the one for the item. With selectors that depends on the Target: without one, the
// item belongs to a deployer without selectors, and to the one that has worked on it before.
func mine(s Snapshot) bool {
	switch {
	case s.Item.Spec.Type != s.Role.Type:
		return false
	case len(s.Role.Selectors) == 0:
		return true
	case s.Target != nil:
		return Selects(s.Role.Selectors, s.Target)
	default:
		before := s.Item.Status.Deployer
		return s.Item.Spec.Target != nil && before.Identity == s.Role.Info.Identity && before.Name == s.Role.Info.Name
	}
}

// Repairable reports whether a deployer may look after what the item has deployed while no job runs: the last job
// succeeded, and the spec is still the one that was deployed.
func Repairable(item *lsv1alpha1.DeployItem) bool {
	status := &item.Status
	return status.IsFinished() && status.Phase == lsv1alpha1.PhaseSucceeded && status.ObservedGeneration == item.Generation &&
		item.DeletionTimestamp.IsZero() && !HasWork(item)
}
