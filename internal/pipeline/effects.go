// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/decision"
)

// Phase is always empty: a pipeline has none.
type Phase string

// Effect is something to do. Every effect is idempotent. The status that leads to an effect is stored first.
type Effect interface {
	fmt.Stringer
	effect()
}

// Decision is what to do next for a pipeline.
type Decision = decision.Of[Phase, Effect]

type (
	// AddFinalizer keeps the pipeline until its pull requests are closed.
	AddFinalizer struct{}
	// RemoveFinalizer lets the API server delete the pipeline.
	RemoveFinalizer struct{}
	// RemoveRequest removes the annotation of an answered request, if it still contains the request with that ID. The facts after it no longer
	// contain the request.
	RemoveRequest struct{ Annotation, ID string }
	// Promote starts an attempt and does not wait for it. In the facts after it, the attempt is running.
	Promote struct {
		ID AttemptID
		// Revision is the revision to promote, Value the text to write for it.
		Revision, Value string
		Run             int64
		// Branch is the branch of a pull request; empty for other strategies.
		Branch    string
		Downgrade bool
		// Strategy has exactly one of its strategies set.
		Strategy pipelines.Strategy
		Targets  []pipelines.Target
	}
	// Withdraw starts to close a pull request and does not wait for it. In the facts after it, the attempt is running.
	Withdraw struct {
		ID       AttemptID
		Revision string
		Run      int64
		// PullRequest identifies the pull request. Without a number, it is looked up by its branch.
		PullRequest pipelines.PullRequestStatus
		// Message is the reason, for the comment on the pull request.
		Message string
	}
	// Announce emits news, one Event each.
	Announce struct{ News []News }
)

func (AddFinalizer) effect()    {}
func (RemoveFinalizer) effect() {}
func (RemoveRequest) effect()   {}
func (Promote) effect()         {}
func (Withdraw) effect()        {}
func (Announce) effect()        {}

// The names of effects in errors and messages.
func (AddFinalizer) String() string    { return "add the finalizer" }
func (RemoveFinalizer) String() string { return "remove the finalizer" }
func (e RemoveRequest) String() string { return "remove annotation " + e.Annotation }
func (e Promote) String() string {
	return fmt.Sprintf("promote revision %s to environment %s", e.Revision, e.ID.Environment)
}
func (e Withdraw) String() string {
	return fmt.Sprintf("close the pull request for revision %s in environment %s", e.Revision, e.ID.Environment)
}
func (Announce) String() string { return "announce what happened" }

// News is one transition, for Events and metrics.
type News struct {
	// Warning marks news that need attention.
	Warning bool
	// Reason is a CamelCase word: the state that a promotion has reached, or the transition of a run or a request.
	Reason string
	// Message is a sentence.
	Message string
	// Environment, Strategy, From and To are set for transitions of promotions.
	Environment string
	Strategy    pipelines.StrategyName
	From, To    pipelines.PromotionState
}

// NewsRunCompleted is the reason if a revision has reached the last environment.
const NewsRunCompleted = "RunCompleted"

// effects returns the effects of a status once it is stored. The finalizer is added before anything that needs it.
func effects(next outcome) []Effect {
	f := next.facts
	var do []Effect
	holding := needsFinalizer(next)
	if holding && !f.Finalizer && !f.Deleted {
		do = append(do, AddFinalizer{})
	}
	for _, r := range next.records {
		if effect := withdrawEffect(f, r); effect != nil {
			do = append(do, effect)
		}
	}
	for _, s := range f.steps {
		if effect := promoteEffect(f, s, next.closed[s.index], next.of(s.name())); effect != nil {
			do = append(do, effect)
		}
	}
	do = append(do, removals(f.Requests, next.status.Requests)...)
	if !holding && f.Finalizer {
		do = append(do, RemoveFinalizer{})
	}
	return do
}

// removals returns the effects that remove answered requests.
func removals(requests []Request, answers []pipelines.RequestStatus) []Effect {
	var do []Effect
	for _, request := range requests {
		if answered(answers, request.ID) {
			do = append(do, RemoveRequest{Annotation: request.Annotation, ID: request.ID})
		}
	}
	return do
}

// needsFinalizer reports whether there may be pull requests to close before the pipeline is gone.
func needsFinalizer(next outcome) bool {
	if next.facts.Deleted && next.facts.KeepPullRequests {
		return false
	}
	return slices.ContainsFunc(next.records, func(r record) bool { return r.Withdrawal != nil || mayHavePullRequest(r.Promotion) })
}

func withdrawEffect(f facts, r record) Effect {
	w := r.Withdrawal
	if w == nil || w.NextAttemptTime != nil || busy(f.Attempts, r.name) {
		return nil
	}
	id := withdrawalOf(r.name, w)
	if f.Attempts[id].State != "" {
		return nil
	}
	request := *w.PullRequest.DeepCopy()
	if now := f.repository(r.name); now != nil && (request.Repository == nil || sameRepository(request.Repository, now)) {
		request.Repository = now
	}
	return Withdraw{ID: id, Revision: w.Revision, Run: w.Run, PullRequest: request, Message: w.Message}
}

// promoteEffect starts the attempt that is recorded and not known to have started, as long as the promotion is still needed.
func promoteEffect(f facts, s step, closed barrier, r record) Effect {
	p := r.Promotion
	if !isFor(p, s.revision, s.run) || !s.attemptable(p) || p.State != pipelines.PromotionAttempting {
		return nil
	}
	id := attemptOf(s.name(), p)
	if f.Attempts[id].State != "" || busy(f.Attempts, s.name()) || !agreed(f, s, p) {
		return nil
	}
	if len(closed.stops) > 0 || r.Withdrawal != nil {
		return nil
	}
	_, strategy := strategyOf(f.promotion(s.view))
	promote := Promote{
		ID: id, Revision: p.Revision, Value: p.Value, Run: p.Run, Downgrade: p.Downgrade,
		Strategy: *strategy.DeepCopy(), Targets: slices.Clone(s.spec.Targets),
	}
	if p.Value == "" {
		promote.Value = p.Revision
	}
	if p.PullRequest != nil {
		promote.Branch = p.PullRequest.Branch
	}
	return promote
}
