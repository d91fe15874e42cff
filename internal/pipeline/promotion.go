// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// isLive reports whether a promotion can still progress, with or without a user's decision.
func isLive(state pipelines.PromotionState) bool {
	switch state {
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted, pipelines.PromotionAttempting, pipelines.PromotionFailed,
		pipelines.PromotionCreated, pipelines.PromotionSucceeded, pipelines.PromotionStalled:
		return true
	}
	return false
}

// isRunning reports whether the current attempt of a promotion is known to be running.
func isRunning(attempts map[AttemptID]Attempt, r record) bool {
	return attempts[attemptOf(r.name, r.Promotion)].State == AttemptRunning
}

// outstanding reports whether a promotion has started and continues without a user, so that the mode Pairwise finishes it before the next
// one. A promotion that needs another attempt does not count: its revision is no longer that of the previous environment.
func outstanding(attempts map[AttemptID]Attempt, r record) bool {
	if r.Promotion == nil {
		return false
	}
	switch r.Promotion.State {
	case pipelines.PromotionCreated, pipelines.PromotionSucceeded:
		return true
	case pipelines.PromotionAttempting:
		return isRunning(attempts, r)
	}
	return false
}

// mayHavePullRequest reports whether a pull request of the promotion may be open. A failed attempt may have opened one whose response was
// lost.
func mayHavePullRequest(p *pipelines.PromotionStatus) bool {
	if p == nil || p.Strategy != pipelines.StrategyPullRequest || p.Attempts == 0 && p.PullRequest == nil {
		return false
	}
	if p.PullRequest != nil && (p.PullRequest.State == pipelines.PullRequestMerged || p.PullRequest.State == pipelines.PullRequestClosed) {
		return false
	}
	switch p.State {
	case pipelines.PromotionSucceeded, pipelines.PromotionComplete, pipelines.PromotionStalled, pipelines.PromotionRolledBack,
		pipelines.PromotionSuperseded:
		return false
	}
	return true
}

func isFor(p *pipelines.PromotionStatus, revision string, run int64) bool {
	return p != nil && p.Revision == revision && p.Run == run
}

func attemptOf(environment string, p *pipelines.PromotionStatus) AttemptID {
	return AttemptID{Verb: VerbPromote, Environment: environment, Key: p.Key, Number: p.Attempts}
}

// takeIn updates the ledger with the facts: the state of targets, the results of attempts, the state of pull requests, and removed
// environments. It starts nothing new.
func takeIn(f facts, l ledger) ledger {
	l = l.along(f.steps, func(s step, r record) record { return observeTargets(f, s.view, r) })
	l = l.each(func(r record) record { return absorb(f, r) })
	if !f.blind {
		l = l.along(f.steps, func(_ step, r record) record { return remember(f, r) })
	}
	return tidy(f, l)
}

// absorb updates the record of an environment with the facts about attempts and pull requests.
func absorb(f facts, r record) record {
	r = absorbWithdrawal(f, r)
	if r.Promotion == nil {
		return r
	}
	switch r.Promotion.State {
	case pipelines.PromotionAttempting:
		return absorbAttempt(f, r)
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted, pipelines.PromotionFailed, pipelines.PromotionCreated,
		// It may be reopened.
		pipelines.PromotionAbandoned:
		if request, found := pullRequestOf(f.PullRequests, r); found {
			return absorbPullRequest(f, r, request, "")
		}
	}
	return r
}

func absorbAttempt(f facts, r record) record {
	attempt, known := f.Attempts[attemptOf(r.name, r.Promotion)]
	switch {
	case !known:
		if request, found := pullRequestOf(f.PullRequests, r); found {
			return absorbPullRequest(f, r, request, "")
		}
	case attempt.State == AttemptDone:
		return absorbResult(f, r, attempt.Result)
	case attempt.State == AttemptFailed:
		return absorbError(f, r, attempt.Error)
	}
	return r
}

const present = "the base branch already has the revision"

func absorbResult(f facts, r record, result Result) record {
	if r.Promotion.Strategy != pipelines.StrategyPullRequest {
		return r.move(pipelines.PromotionSucceeded, sentence("handed over", result.Message), f.now)
	}
	if result.PullRequest.Number == 0 && result.PullRequest.URL == "" {
		r = r.edit(func(p *pipelines.PromotionStatus) { p.PullRequest = nil })
		return r.move(pipelines.PromotionSucceeded, present, f.now)
	}
	r = absorbPullRequest(f, r, result.PullRequest, result.BaseCommit)
	if !result.Present {
		return r
	}
	r, withdrawn := withdraw(r, present, f.now)
	if withdrawn {
		r = r.move(pipelines.PromotionSucceeded, present, f.now)
	}
	return r
}

func absorbError(f facts, r record, failed AttemptError) record {
	from := r.Promotion.State
	r.EnvironmentStatus = moveTo(r.EnvironmentStatus, pipelines.PromotionFailed, f.now)
	r = r.edit(func(p *pipelines.PromotionStatus) {
		p.Error = errorOf(failed, f.Generation)
		if !failed.Permanent {
			next := nextTry(p.Key, p.Attempts, failed, f.now)
			p.NextAttemptTime = &next
		}
	})
	return r.tell(transition(r, from, r.Promotion.Error.Message))
}

func errorOf(failed AttemptError, generation int64) *pipelines.PromotionError {
	return &pipelines.PromotionError{
		Reason: failed.Reason, Message: shorten(failed.Message, maxMessage), Permanent: failed.Permanent,
		Generation: generation, Inputs: failed.Inputs,
	}
}

func nextTry(key string, attempts int32, failed AttemptError, now metav1.Time) metav1.Time {
	next := now.Add(retryAfter(key, attempts))
	if failed.RetryAfter.After(next) {
		next = failed.RetryAfter
	}
	return seconds(next)
}

// pullRequestOf returns the pull request of a promotion, which is the one with its key. If nothing is recorded of an environment, one for
// the same revision and run there matches too: it is the pipeline's own, from before its status was lost.
func pullRequestOf(requests []PullRequest, r record) (PullRequest, bool) {
	p := r.Promotion
	if p.Strategy != pipelines.StrategyPullRequest {
		return PullRequest{}, false
	}
	forgetful := forgetful(r)
	var best PullRequest
	for _, request := range requests {
		if request.Environment != r.name || !sameBranch(p, request) {
			continue
		}
		if (hasKey(request, p) || forgetful && looksLike(request, p)) && better(request, best) {
			best = request
		}
	}
	return best, best.State != ""
}

// forgetful reports whether nothing is recorded of an environment, so that existing pull requests may be its own.
func forgetful(r record) bool {
	p := r.Promotion
	return p.Attempts == 0 && p.PullRequest == nil && len(r.History) == 0 && p.Retries == 0
}

func hasKey(request PullRequest, p *pipelines.PromotionStatus) bool {
	return request.Key == p.Key && p.Key != ""
}

// looksLike reports whether a pull request claims to be for the same revision, and for the same run if it names one.
func looksLike(request PullRequest, p *pipelines.PromotionStatus) bool {
	return request.Revision == p.Revision && (request.Run == p.Run || request.Run == 0)
}

// sameBranch reports whether a pull request may be the recorded one. One with the same key and another number is a copy by another user.
func sameBranch(p *pipelines.PromotionStatus, request PullRequest) bool {
	return p.PullRequest == nil || p.PullRequest.Number == 0 || p.PullRequest.Number == request.Number
}

// better prefers open pull requests to merged ones to closed ones, and the newest of each.
func better(a, b PullRequest) bool {
	rank := map[pipelines.PullRequestState]int{pipelines.PullRequestOpen: 3, pipelines.PullRequestMerged: 2, pipelines.PullRequestClosed: 1}
	if rank[a.State] != rank[b.State] {
		return rank[a.State] > rank[b.State]
	}
	return a.Number > b.Number
}

// absorbPullRequest records the state of the pull request, and its effect on the promotion.
func absorbPullRequest(f facts, r record, request PullRequest, base string) record {
	r = r.edit(func(p *pipelines.PromotionStatus) {
		if p.PullRequest == nil {
			p.PullRequest = &pipelines.PullRequestStatus{Repository: f.repository(r.name)}
		}
		if request.Key != "" {
			p.Key = request.Key
		}
		fill(p.PullRequest, request, base)
	})
	url := r.Promotion.PullRequest.URL
	switch request.State {
	case pipelines.PullRequestOpen:
		return r.move(pipelines.PromotionCreated, "pull request "+url+" is open", f.now)
	case pipelines.PullRequestMerged:
		return r.move(pipelines.PromotionSucceeded, "pull request "+url+" was merged"+by(request.ClosedBy), f.now)
	case pipelines.PullRequestClosed:
		return r.move(pipelines.PromotionAbandoned, "pull request "+url+" was closed without merging"+by(request.ClosedBy), f.now)
	}
	return r
}

// remember records an open pull request of an environment without recorded promotions, whatever its revision. It is then followed or closed
// like any other.
func remember(f facts, r record) record {
	if r.Promotion != nil || len(r.History) > 0 {
		return r
	}
	var best PullRequest
	for _, request := range f.PullRequests {
		ours := request.Environment == r.name && request.State == pipelines.PullRequestOpen
		if ours && request.Key != "" && request.Revision != "" && better(request, best) {
			best = request
		}
	}
	if best.State == "" {
		return r
	}
	r = r.replace(pipelines.PromotionStatus{
		Revision: best.Revision, Run: best.Run, Key: best.Key, Strategy: pipelines.StrategyPullRequest,
		State: pipelines.PromotionCreated, StartTime: f.now, Attempts: 1,
	}, "pull request "+best.URL+" was found", f.now)
	return absorbPullRequest(f, r, best, "")
}

// tidy abandons obsolete promotions: those to environments that were removed or have become the first one, and all of them if the pipeline
// is being deleted.
func tidy(f facts, l ledger) ledger {
	l.records = slices.DeleteFunc(slices.Clone(l.records), func(r record) bool {
		return !f.Deleted && f.index(r.name) < 0 && r.Withdrawal == nil && !mayHavePullRequest(r.Promotion)
	})
	return l.each(func(r record) record {
		switch i := f.index(r.name); {
		case f.Deleted:
			return dismiss(f, r, "the pipeline is being deleted")
		case i < 0:
			return dismiss(f, r, "environment "+r.name+" was removed from the pipeline")
		case i == 0:
			return dismiss(f, r, "environment "+r.name+" is now the first one of the pipeline")
		}
		return r
	})
}

// dismiss abandons the promotion of an environment. If the pipeline is being deleted, its pull requests may be kept.
func dismiss(f facts, r record, why string) record {
	p := r.Promotion
	if f.Deleted && f.KeepPullRequests {
		r.Withdrawal = nil
		if p != nil && isLive(p.State) {
			return r.move(pipelines.PromotionSuperseded, why, f.now)
		}
		return r
	}
	if p != nil && (isLive(p.State) || mayHavePullRequest(p)) {
		r, _ = giveUp(r, why, f.now)
	}
	return r
}

// fill overwrites fields with the values that the facts contain, and keeps the others.
func fill(status *pipelines.PullRequestStatus, request PullRequest, base string) {
	status.State = request.State
	for _, field := range []struct {
		at    *string
		value string
	}{
		{&status.URL, request.URL}, {&status.Branch, request.Branch}, {&status.HeadCommit, request.HeadCommit},
		{&status.MergeCommit, request.MergeCommit}, {&status.ClosedBy, request.ClosedBy}, {&status.BaseCommit, base},
	} {
		if field.value != "" {
			*field.at = field.value
		}
	}
	if request.Number != 0 {
		status.Number = request.Number
	}
	if !request.ClosedTime.IsZero() {
		closed := seconds(request.ClosedTime)
		status.ClosedTime = &closed
	}
	status.Checks = checksOf(*status, request)
}

// repository returns the repository in which pull requests for an environment are currently opened.
func (f facts) repository(name string) *pipelines.PullRequestStrategy {
	for _, v := range f.views {
		if p := f.promotion(v); v.name() == name && p != nil && p.Strategy.PullRequest != nil {
			return p.Strategy.PullRequest.DeepCopy()
		}
	}
	return nil
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

func sentence(what, more string) string {
	if more == "" {
		return what
	}
	return fmt.Sprintf("%s: %s", what, more)
}
