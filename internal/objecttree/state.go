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

// State is how an object is doing, with regard to the job that its tree is working on.
type State string

// States of an object.
const (
	// NotStarted: it never had a job, and nobody has asked for one.
	NotStarted State = "NotStarted"
	// Requested: somebody has asked for a job, and it has not begun.
	Requested State = "Requested"
	// Pending: the job of the tree has not reached it.
	Pending State = "Pending"
	// Running: it works on its job.
	Running State = "Running"
	// Succeeded: it has finished its job well.
	Succeeded State = "Succeeded"
	// Failed: it has finished its job, and not well.
	Failed State = "Failed"
)

// RequestOf returns what the metadata of an installation ask for.
func RequestOf(n *Node) run.Request {
	annotations := n.Object.GetAnnotations()
	return run.Request{
		Asked:     annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile),
		GrantedID: run.ParseGrant(annotations[run.GrantAnnotation], string(n.Object.GetUID())),
	}
}

// State of the object.
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

// Triggered stands for the phase of an object that has its job and has not begun: its own is from the job before.
const Triggered = "Triggered"

// Phase is the word that people see: the phase of the status where it speaks of the current job, and the state where
// it is left over from an earlier one.
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

// Since is when the object came into its phase; zero if nobody knows.
func (n *Node) Since() time.Time {
	if n.Status.PhaseTransitionTime == nil || n.Phase() != string(n.Status.Phase) {
		return time.Time{}
	}
	return n.Status.PhaseTransitionTime.Time
}

// Explanation is a CamelCase word, a sentence, and since when it is so; zero if nobody knows.
type Explanation struct {
	Reason, Message string
	Since           time.Time
}

// Explain says what is wrong with an object or what it waits for, as its status has it. It is empty when all is well.
func (n *Node) Explain() Explanation {
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

// unreached says why an object has never had a job. Only that of a root has to be asked for; what is below gets its own from above, unless
// the job ends before.
func (n *Node) unreached() string {
	if n.Above == nil {
		return "no job requested yet"
	}
	for _, needed := range n.Dependencies() {
		switch needed.State() {
		case Failed:
			return "the job did not reach this object, because " + needed.Title() + " has failed, on which it depends"
		case NotStarted:
			return "the job did not reach this object, nor " + needed.Title() + ", on which it depends"
		}
	}
	if n.Top().State() == NotStarted {
		return "no job requested yet"
	}
	return "the job ended before it reached this object"
}

func (n *Node) outdated() Explanation {
	if n.Continuous() {
		if n.frozen() && n.Object.GetGeneration() != n.Status.ObservedGeneration {
			return Explanation{
				Reason:  lsv1alpha1.ReasonOutdated,
				Message: "the spec has changed, which has no effect while annotation " + lsv1alpha1.IgnoreAnnotation + " is there",
			}
		}
		return Explanation{}
	}
	if n.Kind == Installation && n.Above == nil && n.Object.GetGeneration() != n.Status.ObservedGeneration {
		return Explanation{Reason: lsv1alpha1.ReasonOutdated, Message: "the spec has changed since the last job"}
	}
	return Explanation{}
}

// problem prefers the last error, and takes the conditions where there is none: they say what is waited for.
func (n *Node) problem() Explanation {
	if n.Phase() == Triggered && n.Continuous() {
		return Explanation{Reason: Triggered, Message: "there is work to do, which has not started"}
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

// InTrouble reports whether the object has failed, or works and meets errors.
func (n *Node) InTrouble() bool {
	state := n.State()
	return state == Failed || state == Running && n.Phase() != Triggered && n.Status.LastError != nil
}

// Progress counts deploy items.
type Progress struct {
	All, Finished, Failed int
}

// Progress of the deploy items below a node.
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
