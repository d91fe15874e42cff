// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watchdog

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/run"
)

// Snapshot is what was read about an item.
type Snapshot struct {
	Item *lsv1alpha1.DeployItem
	// PickupTimeout is how long an item may wait for a deployer; zero means no limit.
	PickupTimeout time.Duration
	// NewJobID is an unused UUID for a requested job.
	NewJobID string
	// NamespaceEnds means that the namespace is being deleted. It only matters for an item that is being deleted.
	NamespaceEnds bool
	Now           time.Time
}

// Observed contains everything that a decision depends on.
type Observed struct {
	// Name and Type are for messages.
	Name string
	Type lsv1alpha1.DeployItemType
	// Deployer is the one that has picked up the item, and Target is what spec.target names, for messages.
	Deployer, Target string
	// LastWord is the last report of the deployer that has picked up the item: what it waits for, or how it failed.
	LastWord LastWord

	Phase lsv1alpha1.Phase
	Job   run.Job
	// Request is set while a separate job of the item is requested.
	Request run.Request
	// Announced is set unless the status shows the result of a job that could be mistaken for that of a requested one.
	Announced bool
	// NewJobID is the job that a request gets.
	NewJobID string
	// Idle is an operation on the item that has no effect there.
	Idle lsv1alpha1.Operation
	// Continuous is set for items in the continuous flow, which have no jobs.
	Continuous bool
	// Deleting is set once the deletion was requested; WithoutUninstall, if nothing in the target may be touched.
	Deleting, WithoutUninstall bool
	// NamespaceEnds is set once the namespace is being deleted: the item's Target and everything that a deployer needs is deleted with it.
	NamespaceEnds bool
	Finalizer     bool
	// Damaged is set if another client has removed the finalizer of an item that an execution has created.
	Damaged bool
	// Exported is set if the item has exported something.
	Exported bool

	// PickedUp is set if a deployer works on the current job. Due is set in the continuous flow if a deployer has work to do on the item.
	PickedUp, Due bool
	// Unasked is set if the item was created by hand, never had a job, and its conditions do not report that.
	Unasked bool
	// Told is set if the conditions report that no deployer has picked up the item.
	Told bool
	// Since is when the current wait started, for a deployer or for the end of its work; zero if that was not recorded.
	Since time.Time
	// Deadline is when it times out; zero if it does not.
	Deadline time.Time
	Now      time.Time

	pickupTimeout time.Duration
}

// LastWord is what the status reports about the work on an item.
type LastWord struct {
	// Text names the object and what is missing, or what went wrong. It is empty if the deployer has reported nothing.
	Text string
	// Failed is set if it is an error rather than a wait.
	Failed bool
	// Since is when it was first reported.
	Since time.Time
}

// NewObserved derives the facts from what was read.
func NewObserved(s Snapshot) Observed {
	item, status := s.Item, &s.Item.Status
	operation := lsv1alpha1.Operation(item.Annotations[lsv1alpha1.OperationAnnotation])
	o := Observed{
		Name:     item.Namespace + "/" + item.Name,
		Type:     item.Spec.Type,
		Deployer: status.Deployer.Name,
		Phase:    status.Phase,
		Job:      run.JobOf(&status.RunStatus),
		Request: run.Request{
			Asked:     operation == lsv1alpha1.OperationTestReconcile,
			GrantedID: run.ParseGrant(item.Annotations[run.GrantAnnotation], string(item.UID)),
		},
		Announced:        run.Announced(&status.RunStatus),
		NewJobID:         s.NewJobID,
		Continuous:       deployitem.FlowOf(item) == lsv1alpha1.FlowContinuous,
		Deleting:         !item.DeletionTimestamp.IsZero(),
		WithoutUninstall: item.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true",
		NamespaceEnds:    s.NamespaceEnds,
		Finalizer:        slices.Contains(item.Finalizers, lsv1alpha1.Finalizer),
		Damaged:          damaged(item),
		Exported:         status.ExportReference != nil,
		PickedUp:         deployitem.PickedUp(status),
		Told:             told(status),
		Unasked:          unasked(item),
		Now:              s.Now,
		pickupTimeout:    s.PickupTimeout,
	}
	if operation == lsv1alpha1.OperationInterrupt || operation == lsv1alpha1.OperationReconcile {
		o.Idle = operation
	}
	if item.Spec.Target != nil {
		o.Target = item.Namespace + "/" + item.Spec.Target.Name
	}
	o.Due = o.Continuous && deployitem.HasWork(item)
	o.Since, o.Deadline = waitOf(item, s.PickupTimeout)
	if o.PickedUp {
		o.LastWord = lastWordOf(status)
	}
	return o
}

func told(status *lsv1alpha1.DeployItemStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReconciling && c.Reason == lsv1alpha1.ReasonWaitingForDeployer
	})
}

// lastWordOf finds what a deployer that has picked up the item reports about its work. The report that it has started does not count.
func lastWordOf(status *lsv1alpha1.DeployItemStatus) LastWord {
	if e := status.LastError; e != nil {
		return LastWord{Text: deployitem.WithoutPlans(e.Message), Failed: true, Since: e.LastTransitionTime.Time}
	}
	for _, c := range status.Conditions {
		if c.Type == lsv1alpha1.ConditionReconciling && c.Reason != deployitem.CodePickedUp {
			return LastWord{Text: deployitem.WithoutPlans(c.Message), Since: c.LastUpdateTime.Time}
		}
	}
	return LastWord{}
}

// waitOf returns when the item started to wait, and when that times out.
func waitOf(item *lsv1alpha1.DeployItem, pickupTimeout time.Duration) (since, deadline time.Time) {
	since = handed(&item.Status)
	if deployitem.PickedUp(&item.Status) {
		if began := deployitem.Began(&item.Status); !began.IsZero() {
			since = began
		}
		return since, progressDeadline(item, since)
	}
	if deleted := item.DeletionTimestamp; !deleted.IsZero() && deployitem.FlowOf(item) == lsv1alpha1.FlowContinuous {
		return deleted.Time, time.Time{}
	}
	if since.IsZero() || pickupTimeout == 0 {
		return since, time.Time{}
	}
	return since, since.Add(pickupTimeout)
}

// progressDeadline uses the default for an invalid timeout: the item must not run forever because of it.
func progressDeadline(item *lsv1alpha1.DeployItem, since time.Time) time.Time {
	if since.IsZero() {
		return time.Time{}
	}
	deadline, err := deployitem.DeadlineOf(item, since)
	if err != nil {
		return since.Add(deployitem.DefaultProgressTimeout)
	}
	return deadline
}

// handed returns when the item got its current job; zero if that was not recorded. A user who starts an item by hand writes only the ID of
// the job, and does not change the times of the previous job, which has ended.
func handed(status *lsv1alpha1.DeployItemStatus) time.Time {
	if status.JobIDGenerationTime == nil {
		return time.Time{}
	}
	times := status.TransitionTimes
	if times != nil && times.FinishedTime != nil && !status.JobIDGenerationTime.After(times.FinishedTime.Time) {
		return time.Time{}
	}
	return status.JobIDGenerationTime.Time
}

// damaged reports whether another client has removed the finalizer of an item. Executions create their items with it; other items may
// be released in another way.
func damaged(item *lsv1alpha1.DeployItem) bool {
	return item.DeletionTimestamp.IsZero() && item.Labels[lsv1alpha1.ExecutionManagedByLabel] != "" &&
		!slices.Contains(item.Finalizers, lsv1alpha1.Finalizer)
}

// unasked reports whether no job of an item was requested and its status does not report that. An item of an execution waits for its turn.
func unasked(item *lsv1alpha1.DeployItem) bool {
	status := &item.Status
	silent := !slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Type == lsv1alpha1.ConditionReady })
	return silent && status.JobID == "" && status.Phase == "" && deployitem.FlowOf(item) == lsv1alpha1.FlowJob &&
		item.DeletionTimestamp.IsZero() && metav1.GetControllerOfNoCopy(item) == nil
}

// Concerns reports whether the watchdog may have to act on the item. Most items have finished, and cost only this call.
func Concerns(item *lsv1alpha1.DeployItem) bool {
	_, asked := item.Annotations[lsv1alpha1.OperationAnnotation]
	_, granted := item.Annotations[run.GrantAnnotation]
	return asked || granted || damaged(item) || unasked(item) || !item.Status.IsFinished() || !item.DeletionTimestamp.IsZero() ||
		deployitem.PickedUp(&item.Status) || run.ReadyReason(&item.Status.RunStatus) == run.ReasonRequested
}
