// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/run"
)

// End is how a wait ended.
type End struct {
	Code int
	// Verdict completes the sentence that begins with the installation's name: "has succeeded".
	Verdict string
	// JobID is the job that was waited for, if there was one.
	JobID string
	Phase lsv1alpha1.Phase
}

// Goal says when the wait for one installation is over.
type Goal interface {
	// See processes a revision, nil if the installation does not exist. It returns nil while the wait continues.
	See(revision *lsv1alpha1.Installation) *End
	// WaitFlags are the flags of the command wait that waits for the same.
	WaitFlags() []string
}

// endOf judges a job that has finished.
func endOf(job string, phase lsv1alpha1.Phase) *End {
	end := &End{Code: cli.ExitFailed, JobID: job, Phase: phase}
	switch phase {
	case lsv1alpha1.PhaseSucceeded:
		end.Code, end.Verdict = cli.ExitOK, "has succeeded"
	case lsv1alpha1.PhaseDeleteFailed:
		end.Verdict = "could not be deleted"
	default:
		end.Verdict = fmt.Sprintf("has ended as %s", phase)
	}
	return end
}

func nodeOf(object *lsv1alpha1.Installation) *objecttree.Node { return objecttree.NodeOf(object) }

// endBefore is the end of a wait for a job that has not begun, nil if it will by itself.
func endBefore(revision *lsv1alpha1.Installation) *End {
	if nodeOf(revision).HeldBack() {
		return suspendedEnd(revision)
	}
	return nil
}

// suspendedEnd is the end of a wait for something that does not begin before somebody resumes the installation.
func suspendedEnd(revision *lsv1alpha1.Installation) *End {
	return &End{
		Code: cli.ExitNeedsSomebody, Phase: revision.Status.Phase,
		Verdict: "waits until it is resumed",
	}
}

// JobOfRequest waits for the very job that a request starts, not for one that was running already or comes later.
type JobOfRequest struct {
	asked *lsv1alpha1.Installation
	job   string
	begun bool
	// byItself is set if the job starts without a request, and so without a grant.
	byItself bool
}

// NewJobOfRequest begins with the revision that carries the request: the answer of the API server to the write that
// made it.
func NewJobOfRequest(asked *lsv1alpha1.Installation) *JobOfRequest {
	return &JobOfRequest{asked: asked.DeepCopy()}
}

// WaitFlags implements Goal.
func (g *JobOfRequest) WaitFlags() []string { return []string{"--for=succeeded"} }

// See implements Goal.
func (g *JobOfRequest) See(revision *lsv1alpha1.Installation) *End {
	if revision == nil || revision.UID != g.asked.UID {
		if !g.asked.DeletionTimestamp.IsZero() {
			return &End{Code: cli.ExitOK, Verdict: "has been deleted", JobID: g.job}
		}
		return &End{Code: cli.ExitNotFound, Verdict: "was deleted before its job finished", JobID: g.job}
	}
	if g.job == "" {
		g.job = g.granted(revision)
	}
	status := &revision.Status.RunStatus
	switch {
	case g.job == "":
		return endBefore(revision)
	case status.JobID == g.job && status.IsFinished():
		return endOf(g.job, status.Phase)
	case status.JobID == g.job:
		g.begun = true
	case g.begun, status.JobIDFinished == g.job:
		// The end of the job was among revisions that were missed. What counts now is the one after it.
		g.job = status.JobID
		return g.See(revision)
	}
	return nil
}

// granted returns the job that the request has led to, empty while it has not. Grants and jobs that the first revision
// knew belong to earlier requests.
func (g *JobOfRequest) granted(revision *lsv1alpha1.Installation) string {
	before, now := objecttree.RequestOf(nodeOf(g.asked)), objecttree.RequestOf(nodeOf(revision))
	earlier := func(job string) bool {
		return job == "" || job == before.GrantedID || job == g.asked.Status.JobIDRequested || job == g.asked.Status.JobID
	}
	switch {
	case !earlier(now.GrantedID):
		return now.GrantedID
	case !earlier(revision.Status.JobIDRequested):
		return revision.Status.JobIDRequested
	case (g.byItself || !now.Asked && revision.Annotations[run.GrantAnnotation] == "") && !earlier(revision.Status.JobID):
		return revision.Status.JobID // without a grant, which some controllers do not give either
	}
	return ""
}

// Finished waits until an installation has no job to do and none is requested.
type Finished struct {
	// Successfully makes every other end than success a failure of the wait.
	Successfully bool
	uid          string
}

// WaitFlags implements Goal.
func (g *Finished) WaitFlags() []string {
	if g.Successfully {
		return []string{"--for=succeeded"}
	}
	return []string{"--for=finished"}
}

// See implements Goal.
func (g *Finished) See(revision *lsv1alpha1.Installation) *End {
	if revision == nil || g.uid != "" && string(revision.UID) != g.uid {
		return &End{Code: cli.ExitNotFound, Verdict: "was deleted during the wait"}
	}
	g.uid = string(revision.UID)
	node := nodeOf(revision)
	if node.AwaitsResumption() {
		return suspendedEnd(revision)
	}
	switch node.State() {
	case objecttree.Running, objecttree.Requested:
		return nil
	case objecttree.NotStarted:
		return &End{Code: cli.ExitNeedsSomebody, Verdict: "has not started"}
	}
	end := endOf(revision.Status.JobID, revision.Status.Phase)
	if !g.Successfully {
		end.Code = cli.ExitOK
	}
	return end
}

// Gone waits until an installation does not exist any more.
type Gone struct {
	uid string
	// past is a job that failed to delete it before this wait began.
	past string
	// failed is set while the status still shows a deletion that failed in the continuous flow before this wait began.
	failed *metav1.Time
}

// NewGone waits for the end of this very installation; another one that takes its name does not count, nor does a deletion that has failed
// before.
func NewGone(object *lsv1alpha1.Installation) *Gone {
	g := &Gone{uid: string(object.UID)}
	switch {
	case !DeletionFailed(object):
	case nodeOf(object).Continuous():
		g.failed = cmp.Or(object.Status.PhaseTransitionTime, &metav1.Time{})
	default:
		g.past = object.Status.JobID
	}
	return g
}

// WaitFlags implements Goal.
func (g *Gone) WaitFlags() []string { return []string{"--for=deleted"} }

// See implements Goal.
func (g *Gone) See(revision *lsv1alpha1.Installation) *End {
	if revision == nil || g.uid != "" && string(revision.UID) != g.uid {
		return &End{Code: cli.ExitOK, Verdict: "has been deleted"}
	}
	g.uid = string(revision.UID)
	switch {
	case revision.DeletionTimestamp.IsZero():
		return &End{Code: cli.ExitNeedsSomebody, Verdict: "is not being deleted"}
	case g.failedBefore(revision):
		return nil
	case nodeOf(revision).Continuous() && DeletionFailed(revision):
		return undeleted(revision)
	case revision.Status.Phase == lsv1alpha1.PhaseDeleteFailed && nodeOf(revision).State() == objecttree.Failed:
		return endOf(revision.Status.JobID, revision.Status.Phase)
	}
	return nil
}

// failedBefore reports whether a revision still shows the failure from before the wait. In the continuous flow, the first revision that
// does not show it ends that: a retry may fail again within the same second.
func (g *Gone) failedBefore(revision *lsv1alpha1.Installation) bool {
	if g.failed != nil {
		since := cmp.Or(revision.Status.PhaseTransitionTime, &metav1.Time{})
		if DeletionFailed(revision) && since.Equal(g.failed) {
			return true
		}
		g.failed = nil
	}
	return g.past != "" && revision.Status.JobID == g.past
}
