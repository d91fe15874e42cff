// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit/share"
)

// Small worlds: every combination of the states of targets, the recorded promotions, and the facts about attempts and pull requests.

// targetStates start with the three most important ones.
var targetStates = []Target{at("1"), at("2"), unseen, sick("2"), sick("1"), {Healthy: true}}

var promotionStates = []pipelines.PromotionState{
	"", pipelines.PromotionUnapproved, pipelines.PromotionRejected, pipelines.PromotionUnattempted, pipelines.PromotionAttempting,
	pipelines.PromotionFailed, pipelines.PromotionCreated, pipelines.PromotionAbandoned, pipelines.PromotionSuperseded,
	pipelines.PromotionSucceeded, pipelines.PromotionComplete, pipelines.PromotionStalled, pipelines.PromotionRolledBack,
}

// strategyChoices start with the two that differ most.
var strategyChoices = []func() *pipelines.Promotion{
	func() *pipelines.Promotion { return manual(pullRequests()) },
	notifications, pullRequests, installations,
	func() *pipelines.Promotion { return manual(notifications()) },
	func() *pipelines.Promotion { return nil },
}

// recorded puts a promotion into the status of a world, as the controller itself could have left it. The run is for revision 2; a promotion
// of revision 1 belongs to the previous run.
func recorded(s *scene, environment, revision string, state pipelines.PromotionState) {
	if state == "" {
		return
	}
	run := int64(2)
	if revision == "1" {
		run = 1
	}
	since := metav1.NewTime(noon.Add(-time.Minute))
	p := pipelines.PromotionStatus{Revision: revision, Run: run, State: state, StartTime: since, StateTransitionTime: &since}
	p.Key = s.identify(environment, p).Key()
	p.Strategy, _ = strategyOf(s.Spec.Promotion)
	if p.Strategy == "" {
		p.Strategy = pipelines.StrategyNotification
	}
	if s.Spec.Promotion != nil && s.Spec.Promotion.Manual && state != pipelines.PromotionUnapproved {
		p.Approval = &pipelines.Approval{Decision: pipelines.DecisionApproved, Time: since}
	}
	switch state {
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted, pipelines.PromotionRejected:
	default:
		p.Attempts = 1
		if p.Strategy == pipelines.StrategyPullRequest {
			p.PullRequest = &pipelines.PullRequestStatus{Branch: "b", Repository: pullRequests().Strategy.PullRequest}
		}
	}
	if state == pipelines.PromotionFailed {
		p.Error = &pipelines.PromotionError{Reason: "Refused", Generation: 1}
		p.NextAttemptTime = &since
	}
	if p.PullRequest != nil && state != pipelines.PromotionAttempting && state != pipelines.PromotionFailed {
		p.PullRequest.Number, p.PullRequest.State = 7, leftAs[state]
	}
	if s.Status.Environments == nil {
		s.Status.Environments = map[string]pipelines.EnvironmentStatus{}
	}
	e := pipelines.EnvironmentStatus{Promotion: &p}
	if state == pipelines.PromotionUnapproved {
		e.WaitingApproval.Revision = revision
	}
	s.Status.Environments[environment] = e
}

// leftAs is the state of the pull request of a promotion, by the state of the promotion.
var leftAs = map[pipelines.PromotionState]pipelines.PullRequestState{
	pipelines.PromotionCreated: pipelines.PullRequestOpen, pipelines.PromotionAbandoned: pipelines.PullRequestClosed,
	pipelines.PromotionSuperseded: pipelines.PullRequestClosed, pipelines.PromotionSucceeded: pipelines.PullRequestMerged,
	pipelines.PromotionComplete: pipelines.PullRequestMerged, pipelines.PromotionStalled: pipelines.PullRequestMerged,
	pipelines.PromotionRolledBack: pipelines.PullRequestMerged,
}

// outside returns the facts about attempts and pull requests that are consistent with a recorded promotion.
func outside(s *scene, environment string) []func(*Observed) {
	choices := []func(*Observed){func(*Observed) {}}
	p := s.Status.Environments[environment].Promotion
	if p == nil {
		return choices
	}
	for _, attempt := range []Attempt{{State: AttemptRunning}, done, opened(7), failed(false), failed(true)} {
		choices = append(choices, func(o *Observed) { o.Attempts = map[AttemptID]Attempt{attemptOf(environment, p): attempt} })
	}
	for _, state := range []pipelines.PullRequestState{pipelines.PullRequestOpen, pipelines.PullRequestMerged, pipelines.PullRequestClosed} {
		choices = append(choices, func(o *Observed) {
			o.PullRequests = []PullRequest{{Environment: environment, Key: p.Key, Revision: p.Revision, Run: p.Run, Number: 7, State: state}}
		})
	}
	return choices
}

// each calls visit with every combination of as many states as there are targets.
func each(targets, states int, visit func([]Target)) {
	if targets == 0 {
		visit(nil)
		return
	}
	each(targets-1, states, func(before []Target) {
		for _, state := range targetStates[:states] {
			visit(append(before[:targets-1:targets-1], state))
		}
	})
}

// extent selects small worlds: the number of targets of each environment, of states of each target, and of strategies.
type extent struct {
	sizes              []int
	states, strategies int
}

// worlds visits all small worlds of an extent.
func worlds(t *testing.T, x extent, visit func(*scene)) {
	sizes := x.sizes
	total := 0
	for _, size := range sizes {
		total += size
	}
	for _, choice := range strategyChoices[:x.strategies] {
		for _, mode := range []pipelines.Mode{pipelines.ModeSuperseding, pipelines.ModePairwise} {
			each(total, x.states, func(all []Target) {
				var environments [][]Target
				rest := all
				for _, size := range sizes {
					environments, rest = append(environments, rest[:size]), rest[size:]
				}
				last := string(rune('a' + len(sizes) - 1))
				for _, state := range promotionStates {
					for _, revision := range []string{"1", "2"} {
						s := newScene(t, choice(), environments...)
						s.Spec.Mode, s.Status.Run = mode, &pipelines.Run{Number: 2, Revision: "2"}
						recorded(s, last, revision, state)
						for _, apply := range outside(s, last) {
							world := *s
							world.Status = *s.Status.DeepCopy()
							world.Attempts = map[AttemptID]Attempt{}
							apply(&world.Observed)
							visit(&world)
						}
						if state == "" {
							break
						}
					}
				}
			})
		}
	}
}

// describe describes a world in test messages.
func (s *scene) describe() string {
	text := fmt.Sprintf("mode %s, promotion %+v", s.Spec.Mode, s.Spec.Promotion)
	for i, e := range s.Environments {
		name := s.Spec.Environments[i].Name
		text += fmt.Sprintf("\n%s: %+v, record %+v", name, e.Targets, s.Status.Environments[name].Promotion)
	}
	return text + fmt.Sprintf("\nattempts %+v, pull requests %+v", s.Attempts, s.PullRequests)
}

// All safety rules hold in all small worlds.
func TestSmallWorldsAreSafe(t *testing.T) {
	count, cases := 0, share.Of()
	for _, x := range []extent{
		{sizes: []int{1, 1}, states: 6, strategies: 2}, {sizes: []int{1, 1}, states: 3, strategies: 6},
		{sizes: []int{2, 1}, states: 3, strategies: 1}, {sizes: []int{1, 2}, states: 3, strategies: 1},
		{sizes: []int{1, 1, 1}, states: 3, strategies: 1},
	} {
		worlds(t, x, func(s *scene) {
			if !cases.Try() {
				return
			}
			count++
			before := *s
			before.Status = *s.Status.DeepCopy()
			before.Attempts = map[AttemptID]Attempt{}
			for id, attempt := range s.Attempts {
				before.Attempts[id] = attempt
			}
			effects := s.decide()
			if t.Failed() {
				t.FailNow()
			}
			for _, rule := range safetyRules {
				if complaint := rule(&before, s, effects); complaint != "" {
					t.Fatalf("%s\n%s\nstatus afterwards %+v", complaint, before.describe(), s.Status)
				}
			}
		})
	}
	if cases.Whole(count) < 50_000 {
		t.Errorf("only %d worlds", count)
	}
}

// safetyRules compare a world before and after a pass, and check the effects of the pass. They return what is wrong.
var safetyRules = []func(before, after *scene, effects []Effect) string{
	neverOnMissingData, neverWithoutApproval, oneAttemptPerEnvironment, neverSucceedsTwice, alwaysAReason, conditionsAgree,
	withdrawsBeforeItOpens, neverUntilThePast,
}

func eachPromotion(effects []Effect, check func(Promote) string) string {
	for _, effect := range effects {
		if e, ok := effect.(Promote); ok {
			if complaint := check(e); complaint != "" {
				return complaint
			}
		}
	}
	return ""
}

// neverOnMissingData: a promoted revision has been seen healthy in the previous environment, or in all of them if one revision moves
// through the pipeline; and no target of the environment itself is unreadable, or runs the revision unless the promotion had started.
func neverOnMissingData(before, _ *scene, effects []Effect) string {
	return eachPromotion(effects, func(e Promote) string {
		index := int(e.ID.Environment[0] - 'a')
		p := before.Status.Environments[e.ID.Environment].Promotion
		begun := p != nil && p.Key == e.ID.Key && p.Attempts > 0
		for _, t := range before.Environments[index].Targets {
			if !t.Readable() || t.Revision == e.Revision && !begun {
				return "promoted to an environment that cannot be read or has the revision"
			}
		}
		first := 0
		if before.Spec.Mode == pipelines.ModePairwise {
			first = index - 1
		}
		for _, environment := range before.Environments[first:index] {
			for _, t := range environment.Targets {
				if !t.Readable() || !t.Healthy || t.Revision != e.Revision {
					return "promoted what is not healthy before"
				}
			}
		}
		return ""
	})
}

func neverWithoutApproval(before, after *scene, effects []Effect) string {
	return eachPromotion(effects, func(e Promote) string {
		p := after.Status.Environments[e.ID.Environment].Promotion
		if before.Spec.Promotion.Manual && (!approved(p) || p.Revision != e.Revision) {
			return "promoted without approval"
		}
		return ""
	})
}

func oneAttemptPerEnvironment(before, _ *scene, effects []Effect) string {
	running := map[string]bool{}
	for id, attempt := range before.Attempts {
		running[id.Environment] = attempt.State == AttemptRunning
	}
	for _, effect := range effects {
		var id AttemptID
		switch e := effect.(type) {
		case Promote:
			id = e.ID
		case Withdraw:
			id = e.ID
		default:
			continue
		}
		if running[id.Environment] {
			return "two attempts at once for environment " + id.Environment
		}
		running[id.Environment] = true
	}
	return ""
}

// neverSucceedsTwice: what was handed over, closed or rejected is not attempted again under its key.
func neverSucceedsTwice(before, _ *scene, effects []Effect) string {
	return eachPromotion(effects, func(e Promote) string {
		p := before.Status.Environments[e.ID.Environment].Promotion
		if p == nil || p.Key != e.ID.Key {
			return ""
		}
		switch p.State {
		case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted, pipelines.PromotionAttempting, pipelines.PromotionFailed:
			return ""
		}
		return "attempted again after it was " + string(p.State)
	})
}

// alwaysAReason: as long as a revision is not everywhere, something is under way or the status says what the pipeline waits for.
func alwaysAReason(_, after *scene, _ []Effect) string {
	if len(after.Status.Holds) > 0 {
		return ""
	}
	for _, attempt := range after.Attempts {
		if attempt.State == AttemptRunning {
			return ""
		}
	}
	revision := views(after.Observed)[0].revision()
	for _, v := range views(after.Observed) {
		if v.revision() == "" || v.revision() != revision {
			return "the revision is not in environment " + v.name() + ", and nothing says why"
		}
	}
	return ""
}

func conditionsAgree(_, after *scene, _ []Effect) string {
	conditions := after.Status.Conditions
	if meta.IsStatusConditionTrue(conditions, pipelines.ConditionReconciling) &&
		meta.IsStatusConditionTrue(conditions, pipelines.ConditionStalled) {
		return "both Reconciling and Stalled"
	}
	for _, c := range conditions {
		if c.ObservedGeneration != after.Generation || c.Reason == "" || c.LastTransitionTime.IsZero() {
			return fmt.Sprintf("condition %+v", c)
		}
	}
	if meta.FindStatusCondition(conditions, pipelines.ConditionReady) == nil {
		return "no condition Ready"
	}
	return ""
}

// withdrawsBeforeItOpens: a pull request that may be open is closed before another one is opened.
func withdrawsBeforeItOpens(before, after *scene, effects []Effect) string {
	return eachPromotion(effects, func(e Promote) string {
		p := before.Status.Environments[e.ID.Environment].Promotion
		if e.Strategy.PullRequest == nil || p == nil || p.Key == e.ID.Key || !mayHavePullRequest(p) {
			return ""
		}
		for _, old := range after.Status.Environments[e.ID.Environment].History {
			if old.Key == p.Key &&
				(old.PullRequest == nil || old.PullRequest.State == pipelines.PullRequestMerged || old.PullRequest.State == pipelines.PullRequestClosed) {
				return ""
			}
		}
		return "opened a second pull request"
	})
}

// neverUntilThePast: a hold ends by itself only in the future.
func neverUntilThePast(_, after *scene, _ []Effect) string {
	for _, hold := range after.Status.Holds {
		if hold.Until != nil && !hold.Until.After(after.Now) {
			return fmt.Sprintf("the hold %+v has ended already", hold)
		}
	}
	return ""
}
