// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"fmt"

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
	// Again are the flags of the command wait that waits for the same.
	Again() []string
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

func nodeOf(installation *lsv1alpha1.Installation) *objecttree.Node {
	return &objecttree.Node{Kind: objecttree.Installation, Object: installation, Status: &installation.Status.RunStatus}
}

// JobOfRequest waits for the very job that a request starts, not for one that was running already or comes later.
type JobOfRequest struct {
	asked *lsv1alpha1.Installation
	job   string
	begun bool
}

// NewJobOfRequest begins with the revision that carries the request: the answer of the API server to the write that
// made it.
func NewJobOfRequest(asked *lsv1alpha1.Installation) *JobOfRequest {
	return &JobOfRequest{asked: asked.DeepCopy()}
}

// Again implements Goal.
func (g *JobOfRequest) Again() []string { return []string{"--for=succeeded"} }

// See implements Goal.
func (g *JobOfRequest) See(revision *lsv1alpha1.Installation) *End {
	if revision == nil || revision.UID != g.asked.UID {
		if !g.asked.DeletionTimestamp.IsZero() {
			return &End{Code: cli.ExitOK, Verdict: "has been deleted", JobID: g.job}
		}
		return &End{Code: cli.ExitNotFound, Verdict: "was deleted while its job was waited for", JobID: g.job}
	}
	if g.job == "" {
		g.job = g.granted(revision)
	}
	status := &revision.Status.RunStatus
	switch {
	case g.job == "":
		return nil
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
	case !now.Asked && revision.Annotations[run.GrantAnnotation] == "" && !earlier(revision.Status.JobID):
		return revision.Status.JobID // by a controller that answers requests without a grant
	}
	return ""
}

// Finished waits until an installation has no job to do and none is requested.
type Finished struct {
	// Successfully makes every other end than success a failure of the wait.
	Successfully bool
	uid          string
}

// Again implements Goal.
func (g *Finished) Again() []string {
	if g.Successfully {
		return []string{"--for=succeeded"}
	}
	return []string{"--for=finished"}
}

// See implements Goal.
func (g *Finished) See(revision *lsv1alpha1.Installation) *End {
	if revision == nil || g.uid != "" && string(revision.UID) != g.uid {
		return &End{Code: cli.ExitNotFound, Verdict: "was deleted while it was waited for"}
	}
	g.uid = string(revision.UID)
	switch node := nodeOf(revision); node.State() {
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
}

// NewGone waits for the end of this very installation; another one that takes its name does not count, nor does a deletion that has failed
// before.
func NewGone(installation *lsv1alpha1.Installation) *Gone {
	g := &Gone{uid: string(installation.UID)}
	if installation.Status.Phase == lsv1alpha1.PhaseDeleteFailed && installation.Status.IsFinished() {
		g.past = installation.Status.JobID
	}
	return g
}

// Again implements Goal.
func (g *Gone) Again() []string { return []string{"--for=deleted"} }

// See implements Goal.
func (g *Gone) See(revision *lsv1alpha1.Installation) *End {
	if revision == nil || g.uid != "" && string(revision.UID) != g.uid {
		return &End{Code: cli.ExitOK, Verdict: "has been deleted"}
	}
	g.uid = string(revision.UID)
	switch {
	case revision.DeletionTimestamp.IsZero():
		return &End{Code: cli.ExitNeedsSomebody, Verdict: "is not being deleted"}
	case g.past != "" && revision.Status.JobID == g.past:
		return nil
	case revision.Status.Phase == lsv1alpha1.PhaseDeleteFailed && nodeOf(revision).State() == objecttree.Failed:
		return endOf(revision.Status.JobID, revision.Status.Phase)
	}
	return nil
}
