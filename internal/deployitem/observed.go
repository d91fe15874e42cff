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

// Role is what a deployer is responsible for, and its identity.
type Role struct {
	Type      lsv1alpha1.DeployItemType
	Selectors []TargetSelector
	Info      lsv1alpha1.DeployerInformation
}

// Snapshot is what was read about an item, and the facts that the deployer's process has in memory.
type Snapshot struct {
	Item *lsv1alpha1.DeployItem
	// Target is the Target that spec.target names; nil if it names none, or one that does not exist.
	Target *lsv1alpha1.Target
	// Root is the name of the root installation, empty if it was not read.
	Root string
	Role Role
	// Intended means that this process has stored the deployer's intention for this job and this generation of the item.
	Intended bool
	// RepairAt is when the deployer checks the item next; zero if it does not, or the item is not Repairable.
	RepairAt time.Time
	Now      time.Time
}

// TargetState is the state of an item's Target.
type TargetState string

// These are the states of an item's Target.
const (
	TargetNone    TargetState = "none"
	TargetMissing TargetState = "missing"
	TargetThere   TargetState = "there"
)

// Observed contains everything that a decision about an item depends on.
type Observed struct {
	// Name and TargetName are for messages.
	Name, TargetName string

	Phase lsv1alpha1.Phase
	Job   run.Job
	// Continuous is set if the item follows the continuous flow. Then Due says that there is work that has not started; Restart, that its
	// spec has changed since the work started; Operation, that an annotation requests work.
	Continuous, Due, Restart, Operation bool
	// Mine is set if this deployer is responsible for the item.
	Mine bool
	// Deleting is set once the deletion was requested; WithoutUninstall, if nothing in the target may be touched.
	Deleting, WithoutUninstall bool
	// DeletionAsked is set once the deletion of the item, or of an object above it, was requested.
	DeletionAsked bool
	// Finalizer is set if the item is kept until its deployer releases it.
	Finalizer bool
	// Unchanged is set if the item succeeded before with the same spec and is to be skipped in that case.
	Unchanged bool
	Target    TargetState
	// Untouched is set if no deployer has ever changed the target for the item. ClusterMayBeGone is set if a missing Target means that there
	// is nothing to uninstall.
	Untouched, ClusterMayBeGone bool
	// Exported is set if the item has exported something before.
	Exported bool
	// Root is the root installation of the item, empty if unknown. Errors of a deletion name it in the advice.
	Root string
	// Problem is an error in the item itself, which no retry can fix.
	Problem error

	// Intended is set once the deployer has stated what it is about to do in this job.
	Intended bool
	// Stored is set once the pick-up and the intention are in the API server.
	Stored bool
	// Answer is what the deployer returned in this pass; nil before it was called.
	Answer *Answer
	// Remember is a provider status that must be written to the status.
	Remember *runtime.RawExtension
	// ExportsStored is set once the exports of the answer are in their Secret; ExportsDropped, once it is gone.
	ExportsStored, ExportsDropped bool

	// RepairAt is when the deployer checks a finished item; zero if it does not.
	RepairAt time.Time
	// Ended is set if the job has ended in this pass and that is not stored yet.
	Ended bool
	// Deadline is when the current job times out; zero if it has no limit.
	Deadline time.Time
	Now      time.Time
	Deployer lsv1alpha1.DeployerInformation
}

// Answer is the result of a call of a deployer.
type Answer struct {
	Done    bool
	Waiting decision.Reason
	Recheck time.Duration
	// Exports is the JSON to export; empty for nothing.
	Exports []byte
	Err     error
	// Unreachable is set if the error is that the target is currently unreachable.
	Unreachable bool
}

// NewObserved derives the facts from what was read.
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
		Untouched:        neverTouched(status),
		ClusterMayBeGone: neverTouched(status) || item.Spec.OnDelete != nil && item.Spec.OnDelete.SkipUninstallIfClusterRemoved,
		Exported:         status.ExportReference != nil,
		Root:             s.Root,
		Intended:         s.Intended,
		Stored:           PickedUp(status),
		RepairAt:         s.RepairAt,
		Now:              s.Now,
		Deployer:         s.Role.Info,
	}
	o.readContinuousFlow(item)
	o.Target, o.TargetName, o.Problem = targetOf(item, s.Target)
	o.Mine = mine(s)
	deadline, err := DeadlineOf(item, beganOr(status, s.Now))
	if err != nil {
		o.Problem = invalid(fmt.Errorf("spec.timeout: %w", err))
	}
	o.Deadline = deadline
	return o
}

// beganOr returns when the deployer that works on the item started, or the given time if none has.
func beganOr(status *lsv1alpha1.DeployItemStatus, now time.Time) time.Time {
	began := Began(status)
	atTheGate := status.Phase == lsv1alpha1.PhaseInit || status.Phase == lsv1alpha1.PhaseInitDelete
	if !PickedUp(status) || atTheGate || began.IsZero() {
		return now
	}
	return began
}

// neverTouched reports whether no deployer has ever changed the target for this item.
func neverTouched(status *lsv1alpha1.DeployItemStatus) bool {
	ended := status.Phase == lsv1alpha1.PhaseFailed && status.LastError != nil && status.LastError.Operation == operationAwaitTarget
	return (status.ObservedGeneration == 0 || ended) && status.ProviderStatus == nil
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

// mine reports whether the deployer is responsible for the item. With selectors, that depends on the Target: without a Target, a deployer
// without selectors is responsible, and the one that has worked on the item before.
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

// Repairable reports whether a deployer may check and repair what the item has deployed while no job runs: the last job succeeded, and the
// spec is still the deployed one.
func Repairable(item *lsv1alpha1.DeployItem) bool {
	status := &item.Status
	return status.IsFinished() && status.Phase == lsv1alpha1.PhaseSucceeded && status.ObservedGeneration == item.Generation &&
		item.DeletionTimestamp.IsZero() && !HasWork(item)
}
