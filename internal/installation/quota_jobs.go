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

// A quota of concurrent jobs limits how many jobs of root installations run in a namespace. It needs no separate records: the statuses show
// which jobs have started to install, and which ones wait for their turn. So nothing must be released after a crash.
//
// A job takes its place after everything else that it waits for in phase Init, and keeps it from the next phase until its end. So a job
// that has a place never waits for one that has none. Deletions need no place and take none.

// JobStage is the progress of a job that determines whether others wait for it.
type JobStage int

// These are the stages of jobs.
const (
	// JobPreparing is a job that waits for its own prerequisites, or is about to start.
	JobPreparing JobStage = iota
	// JobQueued is a job that waits for others.
	JobQueued
	// JobBegun is a job that has a place.
	JobBegun
)

// RootJob is an unfinished job of a root installation.
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

// requestedAt returns when a job was requested, as precisely as the API server stores it.
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

// compare orders jobs by request time.
func (j RootJob) compare(other RootJob) int {
	return cmp.Or(j.Requested.Compare(other.Requested), strings.Compare(j.Name, other.Name))
}

// Turn is the position of a job among the others of its namespace.
type Turn struct {
	Namespace string
	Limit     int64
	// Running is the number of started jobs, Earlier the number of waiting ones that were requested before this one.
	Running, Earlier int64
}

// TurnOf returns the position of a job among others. The list may contain the job itself.
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

// Open reports whether the job may start.
func (t Turn) Open() bool { return t.Limit == 0 || t.Running+t.Earlier < t.Limit }

// NextJobs returns the names of the waiting jobs that may start now.
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

// awaitTurn waits for other jobs. It names their number at the time of the check: updating each waiting job at every change costs a write
// per job.
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

// ToldJobQuota returns the quota of concurrent jobs that an installation waits for according to its status, or zero. So a user who asks why
// a job waits does not need to read the flags of controllers and the annotations of Namespaces.
func ToldJobQuota(status *lsv1alpha1.RunStatus) int64 {
	for _, c := range status.Conditions {
		if c.Type != lsv1alpha1.ConditionReady || c.Reason != lsv1alpha1.ReasonWaitingForJobs {
			continue
		}
		if found := jobQuota.FindStringSubmatch(c.Message); found != nil {
			limit, _ := strconv.ParseInt(found[1], 10, 64) // A number that is too large to parse is no limit.
			return limit
		}
	}
	return 0
}

// needsTurn reports whether a job must find out whether it may start.
func (o Observed) needsTurn() bool {
	return o.Limits.ConcurrentJobs > 0 && o.Turn == nil && o.Root && !o.Continuous && o.Phase == lsv1alpha1.PhaseInit
}
