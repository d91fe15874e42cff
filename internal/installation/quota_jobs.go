// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// A quota of concurrent jobs lets only so many jobs of root installations be under way in a namespace. Nobody keeps an account of them:
// the statuses say which jobs have begun to install, and which ones wait for their turn. So nothing has to be returned after a crash.
//
// A job takes its place after everything else that it waits for in phase Init, and has it from the next phase on until its end. So a job
// never waits, in its place, for another one that has none. Deletions need no place and take none away.

// JobStage is how far a job is, as far as others have to wait for it.
type JobStage int

// Stages of jobs.
const (
	// JobPreparing is a job that waits for something of its own, or is about to begin.
	JobPreparing JobStage = iota
	// JobQueued is a job that waits for others.
	JobQueued
	// JobBegun is a job that has a place.
	JobBegun
)

// RootJob is a job of a root installation that has not ended.
type RootJob struct {
	Name, ID  string
	Requested time.Time
	Stage     JobStage
}

// RootJobOf returns the job of an installation that counts, if there is one.
func RootJobOf(inst *lsv1alpha1.Installation) (RootJob, bool) {
	status := &inst.Status
	if status.IsFinished() || status.Phase.IsDeletion() || !IsRoot(inst) || FlowOf(inst) == lsv1alpha1.FlowContinuous {
		return RootJob{}, false
	}
	job := RootJob{Name: inst.Name, ID: status.JobID, Requested: requestedAt(status)}
	switch {
	case status.Phase == lsv1alpha1.PhaseInit && isQueued(status):
		job.Stage = JobQueued
	case status.Phase == "" || status.Phase.IsFinal() || status.Phase == lsv1alpha1.PhaseInit:
		job.Stage = JobPreparing
	default:
		job.Stage = JobBegun
	}
	return job, true
}

// requestedAt is when a job was requested, as precisely as the API server remembers it.
func requestedAt(status *lsv1alpha1.InstallationStatus) time.Time {
	if status.TransitionTimes != nil && status.TransitionTimes.TriggerTime != nil {
		return status.TransitionTimes.TriggerTime.Truncate(time.Second)
	}
	return timeOf(status.PhaseTransitionTime).Truncate(time.Second)
}

func isQueued(status *lsv1alpha1.InstallationStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReady && c.Reason == lsv1alpha1.ReasonWaitingForJobs
	})
}

// compare orders jobs by when they were requested.
func (j RootJob) compare(other RootJob) int {
	return cmp.Or(j.Requested.Compare(other.Requested), strings.Compare(j.Name, other.Name))
}

// Turn is where a job stands among the others of its namespace.
type Turn struct {
	Namespace string
	Limit     int64
	// Running have begun. Earlier wait like this one and were requested before it.
	Running, Earlier int64
}

// TurnOf says where a job stands among others. The list may contain the job itself.
func TurnOf(namespace string, limit int64, job RootJob, jobs []RootJob) Turn {
	turn := Turn{Namespace: namespace, Limit: limit}
	for _, other := range jobs {
		switch {
		case other.Name == job.Name:
		case other.Stage == JobBegun:
			turn.Running++
		case other.Stage == JobQueued && other.compare(job) < 0:
			turn.Earlier++
		}
	}
	return turn
}

// Open reports whether the job may begin.
func (t Turn) Open() bool { return t.Limit == 0 || t.Running+t.Earlier < t.Limit }

// NextJobs returns the names of the jobs that may begin now, of those that wait for others.
func NextJobs(limit int64, jobs []RootJob) []string {
	var waiting []RootJob
	turn := Turn{Limit: limit}
	for _, job := range jobs {
		switch job.Stage {
		case JobQueued:
			waiting = append(waiting, job)
		case JobBegun:
			turn.Running++
		}
	}
	slices.SortFunc(waiting, RootJob.compare)
	var next []string
	for i, job := range waiting {
		if turn.Earlier = int64(i); turn.Open() {
			next = append(next, job.Name)
		}
	}
	return next
}

// awaitTurn waits for other jobs. How many they are is told as of when the job last looked: to tell each of them of every step would cost
// a write for each.
func awaitTurn(t Turn) Decision {
	others := "1 other job"
	if n := t.Running + t.Earlier; n != 1 {
		others = fmt.Sprintf("%d other jobs", n)
	}
	return wait(
		lsv1alpha1.ReasonWaitingForJobs,
		fmt.Sprintf("Waiting for %s in namespace %s: %s%d", others, t.Namespace, jobQuotaTold, t.Limit),
	)
}

const jobQuotaTold = "quota of concurrent jobs is "

var jobQuota = regexp.MustCompile(regexp.QuoteMeta(jobQuotaTold) + `(\d+)$`)

// ToldJobQuota returns the quota of concurrent jobs that a status says an installation waits for, zero if it says nothing of the kind.
// Who asks why a job waits need not be able to read flags of controllers and annotations of Namespaces.
func ToldJobQuota(status *lsv1alpha1.RunStatus) int64 {
	for _, c := range status.Conditions {
		if c.Type != lsv1alpha1.ConditionReady || c.Reason != lsv1alpha1.ReasonWaitingForJobs {
			continue
		}
		if found := jobQuota.FindStringSubmatch(c.Message); found != nil {
			limit, _ := strconv.ParseInt(found[1], 10, 64) // It cannot be read if it is too large, and is no limit then.
			return limit
		}
	}
	return 0
}

// needsTurn reports whether a job has to find out whether it may begin.
func (o Observed) needsTurn() bool {
	return o.Limits.ConcurrentJobs > 0 && o.Turn == nil && o.Root && !o.Continuous && o.Phase == lsv1alpha1.PhaseInit
}
