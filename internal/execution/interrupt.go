// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"
	"slices"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// InterruptedAnnotation contains the job that an interrupt has cut short, and the UID of the execution. One write replaces the request by
// it, so that a crash in between neither loses the interrupt nor applies it to the next job.
const InterruptedAnnotation = "espalier.dev/interrupted-job"

const interruptSeparator = "/"

func interruptedJob(e *lsv1alpha1.Execution) string {
	jobID, uid, _ := strings.Cut(e.Annotations[InterruptedAnnotation], interruptSeparator)
	if uid != string(e.UID) {
		return ""
	}
	return jobID
}

// wasInterrupted reports whether the current job was cut short by an annotation.
func wasInterrupted(e *lsv1alpha1.Execution) bool {
	job := interruptedJob(e)
	return job != "" && job == e.Status.JobID
}

// AnnotateInterrupted answers a request to interrupt a job. Without a job, there is nothing to interrupt, and the request is dropped.
func AnnotateInterrupted(e *lsv1alpha1.Execution, annotations map[string]string, jobID string) {
	delete(annotations, lsv1alpha1.OperationAnnotation)
	if jobID != "" {
		annotations[InterruptedAnnotation] = jobID + interruptSeparator + string(e.UID)
	}
}

// cutShort returns the status of a deploy item that has not finished an interrupted job: failed, and finished. An item that was not
// started yet gets the job and finishes it in the same write, so that no deployer ever works on it.
func cutShort(item *lsv1alpha1.DeployItem, o Observed, now time.Time) *lsv1alpha1.DeployItemStatus {
	jobID := o.Job.ID
	if item.Status.JobIDFinished == jobID {
		return nil
	}
	status := item.Status.DeepCopy()
	started := status.JobID == jobID
	status.JobID = jobID
	err := interruptError(o.cut() + " on the execution")
	run.Settle(&status.RunStatus, run.Outcome{Err: err, Deleting: !item.DeletionTimestamp.IsZero(), Now: now})
	if !started {
		status.FirstError, status.LastErrors = nil, nil
	}
	if status.FirstError == nil {
		status.FirstError = status.LastError.DeepCopy()
	}
	status.LastErrors = append(slices.Clone(status.LastErrors), *status.LastError.DeepCopy())
	if surplus := len(status.LastErrors) - lsv1alpha1.MaxLastErrors; surplus > 0 {
		status.LastErrors = status.LastErrors[surplus:]
	}
	return status
}

// cut names the annotation that has cut the job short.
func (o Observed) cut() string {
	annotation, value := lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt)
	if o.GivenUp {
		annotation, value = lsv1alpha1.DeleteWithoutUninstallAnnotation, "true"
	}
	return fmt.Sprintf("job %s was interrupted by annotation %s=%s", o.Job.ID, annotation, value)
}

func interruptError(message string) error {
	return failure.Terminalf(failure.Details{Operation: operationInterrupt, Reason: lsv1alpha1.ReasonInterrupted}, "%s", message)
}
