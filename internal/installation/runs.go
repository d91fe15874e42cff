// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// endOf returns when the last run ended; nil if there was none, or one is in progress.
func endOf(status *lsv1alpha1.InstallationStatus) *metav1.Time {
	if status.TransitionTimes == nil {
		return nil
	}
	return status.TransitionTimes.FinishedTime
}

const (
	maxRuns = 5
	// maxRunMessage is in characters: lastError contains the whole message of the last run.
	maxRunMessage = 256
)

// noteRun puts the finished run at the head of the list.
func noteRun(inst *lsv1alpha1.Installation, ended metav1.Time, continuous bool) {
	status := &inst.Status
	latest := lsv1alpha1.EndedRun{
		ID:         status.JobID,
		Phase:      status.Phase,
		StartTime:  status.TransitionTimes.TriggerTime,
		EndTime:    ended,
		Generation: status.ObservedGeneration,
	}
	if continuous {
		latest.ID = status.ConfigGeneration
	}
	if status.LastError != nil {
		latest.Message = shortened(status.LastError.Message, maxRunMessage)
	}
	status.LastRuns = append([]lsv1alpha1.EndedRun{latest}, status.LastRuns[:min(len(status.LastRuns), maxRuns-1)]...)
}

func shortened(text string, limit int) string {
	if letters := []rune(text); len(letters) > limit {
		return string(letters[:limit-1]) + "…"
	}
	return text
}
