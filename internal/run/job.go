// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Job is the identity of the job that an object takes part in: a fact for decisions.
type Job struct {
	// ID is the current job, empty if there never was one.
	ID string
	// FinishedID is the job that finished last.
	FinishedID string
	// RequestedID is the job that was last adopted from a grant. It differs from ID once a job has started in another way: passed down by a
	// parent, by a deletion, or on schedule.
	RequestedID string
}

// JobOf reads the identity of the job from a status.
func JobOf(status *lsv1alpha1.RunStatus) Job {
	return Job{ID: status.JobID, FinishedID: status.JobIDFinished, RequestedID: status.JobIDRequested}
}

// Running reports whether the current job is unfinished. An object that never had a job is not running.
func (j Job) Running() bool { return j.ID != j.FinishedID }

// GrantAnnotation carries the ID of a job that was requested and the UID of the object it was granted to.
const GrantAnnotation = "espalier.dev/granted-job"

const grantSeparator = "/"

// FormatGrant returns the value of the grant annotation.
func FormatGrant(jobID, uid string) string { return jobID + grantSeparator + uid }

// ParseGrant returns the job ID of a grant for the object with this UID, otherwise an empty string.
func ParseGrant(value, uid string) (jobID string) {
	jobID, owner, found := strings.Cut(value, grantSeparator)
	if !found || owner != uid {
		return ""
	}
	return jobID
}

// Request is what the metadata of a root requests.
type Request struct {
	// Asked is set while the operation annotation requests a job.
	Asked bool
	// GrantedID is the job of the grant, empty if there is none for this object.
	GrantedID string
}

// Opening is the next write on the way to the start of a job.
type Opening int

const (
	// OpenNot means that nothing is requested, or that a job runs and the request is kept until it has finished.
	OpenNot Opening = iota
	// OpenByGrant replaces the request by a grant with a new ID.
	OpenByGrant
	// OpenByAdoption makes the granted ID the current job.
	OpenByAdoption
)

// Open decides which write starts a requested job.
func (j Job) Open(r Request) Opening {
	switch {
	case j.Running():
		return OpenNot
	case r.GrantedID != "" && r.GrantedID != j.RequestedID:
		return OpenByAdoption
	case r.Asked:
		return OpenByGrant
	default:
		return OpenNot
	}
}
