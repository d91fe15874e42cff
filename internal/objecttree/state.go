// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"cmp"
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// State is the state of an object with regard to the current job of its tree.
type State string

// These are the states of an object.
const (
	// NotStarted means that the object never had a job, and none is requested.
	NotStarted State = "NotStarted"
	// Requested means that a job is requested and has not started.
	Requested State = "Requested"
	// Pending means that the job of the tree has not reached the object.
	Pending State = "Pending"
	// Running means that the object works on its job.
	Running State = "Running"
	// Succeeded means that the object has finished its job successfully.
	Succeeded State = "Succeeded"
	// Failed means that the object has finished its job unsuccessfully.
	Failed State = "Failed"
)

// RequestOf returns what the metadata of an installation request.
func RequestOf(n *Node) run.Request {
	annotations := n.Object.GetAnnotations()
	return run.Request{
		Asked:     annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile),
		GrantedID: run.ParseGrant(annotations[run.GrantAnnotation], string(n.Object.GetUID())),
	}
}

// NodeOf is the node of an installation by itself, without what is above and below it.
func NodeOf(object *lsv1alpha1.Installation) *Node {
	return &Node{Kind: Installation, Object: object, Status: &object.Status.RunStatus}
}

// State returns the state of the object.
func (n *Node) State() State {
	if n.Continuous() {
		return n.continuousState()
	}
	return n.jobState()
}

func (n *Node) jobState() State {
	top := n.Top()
	job := run.JobOf(n.Status)
	switch {
	case top != n && !top.Status.IsFinished() && n.Status.JobID != top.Status.JobID:
		return Pending
	case job.Running() || n.Status.Phase != "" && !n.Status.Phase.IsFinal():
		return Running
	case top == n && job.Open(RequestOf(n)) != run.OpenNot:
		return Requested
	case n.Status.Phase == "":
		return NotStarted
	case n.Status.Phase == lsv1alpha1.PhaseSucceeded:
		return Succeeded
	default:
		return Failed
	}
}

// Triggered replaces the phase of an object that has its job and has not started: its own phase is from the previous job.
const Triggered = "Triggered"

// Phase returns the word that users see: the phase of the status if it belongs to the current job, and the state if it is left over from
// an earlier one.
func (n *Node) Phase() string {
	switch state := n.State(); {
	case state == Pending, state == Requested, state == NotStarted:
		return string(state)
	case state == Running && (n.Status.Phase == "" || n.Status.Phase.IsFinal()):
		return Triggered
	default:
		return string(n.Status.Phase)
	}
}

// Since returns when the object entered its phase; zero if unknown.
func (n *Node) Since() time.Time {
	if n.Status.PhaseTransitionTime == nil || n.Phase() != string(n.Status.Phase) {
		return time.Time{}
	}
	return n.Status.PhaseTransitionTime.Time
}

// Explanation is a CamelCase word, a sentence, and since when it applies; zero if unknown.
type Explanation struct {
	Reason, Message string
	Since           time.Time
}

// Explain says what is wrong with an object or what it waits for, according to its status. It is empty if all is well.
func (n *Node) Explain() Explanation {
	if n.HeldBack() {
		return n.suspended()
	}
	if n.DeletionRests() {
		return Explanation{Reason: run.ReasonIgnored, Message: run.FrozenMessage(true)}
	}
	switch n.State() {
	case Succeeded:
		if lost := n.takenOver(); lost.Reason != "" {
			return lost
		}
		return n.outdated()
	case NotStarted:
		return Explanation{Reason: lsv1alpha1.ReasonNotStarted, Message: n.unreached()}
	case Requested:
		return Explanation{Reason: string(Requested), Message: "a job is requested and has not started"}
	case Pending:
		return Explanation{Reason: string(Pending), Message: "the job has not reached this object yet"}
	default:
		return n.problem()
	}
}

// unreached says why an object has never had a job. Only the job of a root must be requested; what is below gets its job from above,
// unless that ends before.
func (n *Node) unreached() string {
	if n.Above == nil {
		return "no job requested yet"
	}
	for _, needed := range n.Dependencies() {
		switch needed.State() {
		case Failed:
			return "the job did not reach this object, because it depends on " + needed.Title() + ", which has failed"
		case NotStarted:
			return "the job did not reach this object, nor " + needed.Title() + ", which it depends on"
		}
	}
	if n.Top().State() == NotStarted {
		return "no job requested yet"
	}
	return "the job ended before it reached this object"
}

func (n *Node) outdated() Explanation {
	if n.Continuous() {
		if n.Frozen() && n.Object.GetGeneration() != n.Status.ObservedGeneration {
			return Explanation{
				Reason:  lsv1alpha1.ReasonOutdated,
				Message: "the spec has changed, which has no effect while annotation " + lsv1alpha1.IgnoreAnnotation + " is set",
			}
		}
		return Explanation{}
	}
	if n.DeletionAwaitsJob() {
		return Explanation{
			Reason:  run.ReasonDeleting,
			Message: n.Title() + " is being deleted, and stays until the next job of " + n.Top().Title(),
		}
	}
	if n.Kind == Installation && n.Above == nil && n.Object.GetGeneration() != n.Status.ObservedGeneration {
		return Explanation{Reason: lsv1alpha1.ReasonOutdated, Message: "the spec has changed since the last job"}
	}
	return Explanation{}
}

// DeletionAwaitsJob reports whether the object is being deleted without its root, and only a job of that root ends the deletion.
func (n *Node) DeletionAwaitsJob() bool {
	top := n.Top()
	alone := n != top && top.Kind == Installation && !n.Object.GetDeletionTimestamp().IsZero() && top.Object.GetDeletionTimestamp().IsZero()
	return alone && !n.Continuous() && n.Status.IsFinished() && top.Status.IsFinished()
}

// problem prefers the last error, and otherwise uses the conditions, which say what is awaited.
func (n *Node) problem() Explanation {
	if n.Phase() == Triggered && n.Continuous() {
		return Explanation{Reason: Triggered, Message: "work is pending and has not started"}
	}
	if n.Phase() == Triggered {
		return Explanation{Reason: Triggered, Message: "the job has reached this object, and work has not started", Since: n.triggeredAt()}
	}
	if e := n.Status.LastError; e != nil {
		return Explanation{cmp.Or(e.Reason, e.Operation), e.Message, e.LastTransitionTime.Time}
	}
	for _, kind := range []lsv1alpha1.ConditionType{lsv1alpha1.ConditionStalled, lsv1alpha1.ConditionReconciling, lsv1alpha1.ConditionReady} {
		i := slices.IndexFunc(n.Status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Type == kind })
		if i >= 0 && n.Status.Conditions[i].Message != "" {
			c := n.Status.Conditions[i]
			return Explanation{c.Reason, c.Message, c.LastUpdateTime.Time}
		}
	}
	return Explanation{}
}

func (n *Node) triggeredAt() time.Time {
	if times := n.Status.TransitionTimes; times != nil && times.TriggerTime != nil {
		return times.TriggerTime.Time
	}
	return time.Time{}
}

// HasError reports whether the object has failed, or is running and encounters errors.
func (n *Node) HasError() bool {
	state := n.State()
	return state == Failed || state == Running && n.Phase() != Triggered && n.Status.LastError != nil
}

// Progress counts deploy items.
type Progress struct {
	All, Finished, Failed int
}

// Progress counts the deploy items below a node.
func (n *Node) Progress() Progress {
	var p Progress
	n.Walk(func(below *Node) {
		if below.Kind != DeployItem {
			return
		}
		p.All++
		switch below.State() {
		case Succeeded:
			p.Finished++
		case Failed:
			p.Finished++
			p.Failed++
		}
	})
	return p
}
