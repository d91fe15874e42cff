// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
)

const (
	// other replaces unknown words.
	other = "Other"
	// none stands for a missing value.
	none = "None"
	// maxReasons is the maximum number of distinct reasons per kind. Espalier has fewer.
	maxReasons = 60
)

// State counts objects. The zero value is ready for use.
type State struct {
	// Objects are counted by kind and phase.
	Objects map[[2]string]int
	// Waiting counts those with a run under way, by kind and reason; Longest is how long the first of them has been waiting.
	Waiting map[[2]string]int
	Longest map[[2]string]time.Duration
	// Pipelines are counted by the status of their condition Ready, Holds by reason, Environments by the state of their promotion.
	Pipelines, Holds, Environments map[string]int
	OpenPullRequests               int
	// HasPipelines reports whether pipelines are counted at all.
	HasPipelines bool
}

// Add counts one object.
func (s *State) Add(object client.Object, now time.Time) {
	if p, ok := object.(*pipelinesv1alpha1.Pipeline); ok {
		s.addPipeline(p)
		return
	}
	kind, status := statusOf(object)
	if status == nil {
		return
	}
	count(&s.Objects, [2]string{kind, phaseLabel(status.Phase)})
	for _, c := range status.Conditions {
		if c.Type == lsv1alpha1.ConditionReconciling && c.Status == lsv1alpha1.ConditionTrue {
			s.wait(kind, c.Reason, now.Sub(c.LastTransitionTime.Time))
		}
	}
}

func (s *State) wait(kind, reason string, since time.Duration) {
	key := [2]string{kind, word(reason)}
	if s.Waiting[key] == 0 && len(s.Waiting) >= 3*maxReasons {
		key[1] = other
	}
	count(&s.Waiting, key)
	if s.Longest == nil {
		s.Longest = map[[2]string]time.Duration{}
	}
	s.Longest[key] = max(s.Longest[key], since, 0)
}

func (s *State) addPipeline(p *pipelinesv1alpha1.Pipeline) {
	ready := string(metav1.ConditionUnknown)
	for _, c := range p.Status.Conditions {
		if c.Type == string(lsv1alpha1.ConditionReady) && (c.Status == metav1.ConditionTrue || c.Status == metav1.ConditionFalse) {
			ready = string(c.Status)
		}
	}
	count(&s.Pipelines, ready)
	for _, hold := range p.Status.Holds {
		s.hold(string(hold.Reason))
	}
	for _, environment := range p.Status.Environments {
		state := none
		if environment.Promotion != nil {
			state = promotionLabel(environment.Promotion.State)
			if pull := environment.Promotion.PullRequest; pull != nil && pull.State == pipelinesv1alpha1.PullRequestOpen {
				s.OpenPullRequests++
			}
		}
		count(&s.Environments, state)
	}
}

func (s *State) hold(reason string) {
	reason = word(reason)
	if s.Holds[reason] == 0 && len(s.Holds) >= maxReasons {
		reason = other
	}
	count(&s.Holds, reason)
}

func count[K comparable](in *map[K]int, key K) {
	if *in == nil {
		*in = map[K]int{}
	}
	(*in)[key]++
}

// word returns a text if it is a valid reason by the conventions of Kubernetes. Anybody with write access may put anything into a status.
func word(reason string) string {
	if reason == "" || len(reason) > 64 {
		return other
	}
	for i, r := range reason {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return other
		}
	}
	return reason
}

func phaseLabel(phase lsv1alpha1.Phase) string {
	switch phase {
	case "":
		return none
	case lsv1alpha1.PhaseInit, lsv1alpha1.PhaseCleanupOrphaned, lsv1alpha1.PhaseObjectsCreated, lsv1alpha1.PhaseProgressing,
		lsv1alpha1.PhaseCompleting, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseInitDelete,
		lsv1alpha1.PhaseTriggerDelete, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed,
		lsv1alpha1.PhasePendingDependencies, lsv1alpha1.PhaseAborted:
		return string(phase)
	default:
		return other
	}
}

func promotionLabel(state pipelinesv1alpha1.PromotionState) string {
	switch state {
	case pipelinesv1alpha1.PromotionUnapproved, pipelinesv1alpha1.PromotionRejected, pipelinesv1alpha1.PromotionUnattempted,
		pipelinesv1alpha1.PromotionAttempting, pipelinesv1alpha1.PromotionFailed, pipelinesv1alpha1.PromotionCreated,
		pipelinesv1alpha1.PromotionAbandoned, pipelinesv1alpha1.PromotionSuperseded, pipelinesv1alpha1.PromotionSucceeded,
		pipelinesv1alpha1.PromotionComplete, pipelinesv1alpha1.PromotionStalled, pipelinesv1alpha1.PromotionRolledBack:
		return string(state)
	default:
		return other
	}
}
