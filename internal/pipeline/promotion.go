// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// isLive tells whether something may still come of a promotion by itself, or by a decision of a person on it.
func isLive(state pipelines.PromotionState) bool {
	switch state {
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted, pipelines.PromotionAttempting, pipelines.PromotionFailed,
		pipelines.PromotionCreated, pipelines.PromotionSucceeded, pipelines.PromotionStalled:
		return true
	}
	return false
}

// outstanding tells whether a promotion has begun and goes on by itself, so that the mode Pairwise finishes it before the next
// one. One that would have to be attempted again is not: its revision is not the one of the environment before any more.
func (d *draft) outstanding(name string) bool {
	p := d.environment(name).Promotion
	if p == nil {
		return false
	}
	switch p.State {
	case pipelines.PromotionCreated, pipelines.PromotionSucceeded:
		return true
	case pipelines.PromotionAttempting:
		return d.o.Attempts[attemptOf(name, p)].State == AttemptRunning
	}
	return false
}

// mayHavePullRequest tells whether a pull request of the promotion may be open. An attempt that failed may have opened one
// whose answer was lost.
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

// absorb lets what is known of attempts and pull requests into the record of an environment.
func (d *draft) absorb(name string) {
	d.absorbWithdrawal(name)
	p := d.environment(name).Promotion
	if p == nil {
		return
	}
	switch p.State {
	case pipelines.PromotionAttempting:
		d.absorbAttempt(name, p)
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted, pipelines.PromotionFailed, pipelines.PromotionCreated,
		// Somebody may open it again.
		pipelines.PromotionAbandoned:
		if request, found := d.pullRequestOf(name, p); found {
			d.absorbPullRequest(name, request, "")
		}
	}
}

func (d *draft) absorbAttempt(name string, p *pipelines.PromotionStatus) {
	attempt, known := d.o.Attempts[attemptOf(name, p)]
	switch {
	case !known:
		if request, found := d.pullRequestOf(name, p); found {
			d.absorbPullRequest(name, request, "")
		}
	case attempt.State == AttemptDone:
		d.absorbResult(name, p, attempt.Result)
	case attempt.State == AttemptFailed:
		d.absorbError(name, attempt.Error)
	}
}

func (d *draft) absorbResult(name string, p *pipelines.PromotionStatus, result Result) {
	if p.Strategy != pipelines.StrategyPullRequest {
		d.move(name, pipelines.PromotionSucceeded, sentence("it was handed over", result.Message))
		return
	}
	if result.PullRequest.Number == 0 && result.PullRequest.URL == "" {
		d.change(name, func(e *pipelines.EnvironmentStatus) { e.Promotion.PullRequest = nil })
		d.move(name, pipelines.PromotionSucceeded, present)
		return
	}
	if d.absorbPullRequest(name, result.PullRequest, result.BaseCommit); result.Present && d.withdraw(name, present) {
		d.move(name, pipelines.PromotionSucceeded, present)
	}
}

const present = "the base branch holds the revision already"

func (d *draft) absorbError(name string, failed AttemptError) {
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		from, p := e.Promotion.State, e.Promotion
		moveRecord(e, pipelines.PromotionFailed, d.now)
		p.Error = d.errorOf(failed)
		if !failed.Permanent {
			next := d.nextTry(p.Key, p.Attempts, failed)
			p.NextAttemptTime = &next
		}
		d.tell(name, from, p, p.Error.Message)
	})
}

func (d *draft) errorOf(failed AttemptError) *pipelines.PromotionError {
	return &pipelines.PromotionError{
		Reason: failed.Reason, Message: shorten(failed.Message, maxMessage), Permanent: failed.Permanent,
		Generation: d.o.Generation, Inputs: failed.Inputs,
	}
}

func (d *draft) nextTry(key string, attempts int32, failed AttemptError) metav1.Time {
	next := d.now.Add(retryAfter(key, attempts))
	if failed.RetryAfter.After(next) {
		next = failed.RetryAfter
	}
	return metav1.NewTime(next.UTC().Truncate(1e9))
}

// pullRequestOf finds the pull request of a promotion. It is the one with its key. A pipeline without memory of an environment
// also takes one that says that it is for the same revision and run there: its own, from before the memory was lost.
func (d *draft) pullRequestOf(name string, p *pipelines.PromotionStatus) (PullRequest, bool) {
	if p.Strategy != pipelines.StrategyPullRequest {
		return PullRequest{}, false
	}
	forgetful := d.forgetful(name, p)
	var best PullRequest
	for _, request := range d.o.PullRequests {
		if request.Environment != name || !sameBranch(p, request) {
			continue
		}
		if (hasKey(request, p) || forgetful && looksLike(request, p)) && better(request, best) {
			best = request
		}
	}
	return best, best.State != ""
}

// forgetful tells whether nothing is remembered of an environment, so that older traces may be its own.
func (d *draft) forgetful(name string, p *pipelines.PromotionStatus) bool {
	return p.Attempts == 0 && p.PullRequest == nil && len(d.environment(name).History) == 0 && p.Retries == 0
}

func hasKey(request PullRequest, p *pipelines.PromotionStatus) bool {
	return request.Key == p.Key && p.Key != ""
}

// looksLike tells whether a pull request says that it is for the same revision, in the same run if it says so.
func looksLike(request PullRequest, p *pipelines.PromotionStatus) bool {
	return request.Revision == p.Revision && (request.Run == p.Run || request.Run == 0)
}

// sameBranch tells whether a pull request may be the recorded one. The same key at another number is a copy by somebody else.
func sameBranch(p *pipelines.PromotionStatus, request PullRequest) bool {
	return p.PullRequest == nil || p.PullRequest.Number == 0 || p.PullRequest.Number == request.Number
}

// better prefers open ones to merged ones to closed ones, and of these the newest.
func better(a, b PullRequest) bool {
	rank := map[pipelines.PullRequestState]int{pipelines.PullRequestOpen: 3, pipelines.PullRequestMerged: 2, pipelines.PullRequestClosed: 1}
	if rank[a.State] != rank[b.State] {
		return rank[a.State] > rank[b.State]
	}
	return a.Number > b.Number
}

// absorbPullRequest records what has become of the pull request, and what that means for the promotion.
func (d *draft) absorbPullRequest(name string, request PullRequest, base string) {
	var message string
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		if e.Promotion.PullRequest == nil {
			e.Promotion.PullRequest = &pipelines.PullRequestStatus{Repository: d.repository(name)}
		}
		if request.Key != "" {
			e.Promotion.Key = request.Key
		}
		fill(e.Promotion.PullRequest, request, base)
		message = e.Promotion.PullRequest.URL
	})
	switch request.State {
	case pipelines.PullRequestOpen:
		d.move(name, pipelines.PromotionCreated, "pull request "+message+" is open")
	case pipelines.PullRequestMerged:
		d.move(name, pipelines.PromotionSucceeded, "pull request "+message+" was merged"+by(request.ClosedBy))
	case pipelines.PullRequestClosed:
		d.move(name, pipelines.PromotionAbandoned, "pull request "+message+" was closed without merging"+by(request.ClosedBy))
	}
}

// remember takes up an open pull request for an environment that nothing is remembered of, whatever its revision. So it is followed
// or closed like any other.
func (d *draft) remember(v view) {
	e := d.environment(v.name())
	if v.duplicate || e.Promotion != nil || len(e.History) > 0 {
		return
	}
	var best PullRequest
	for _, request := range d.o.PullRequests {
		ours := request.Environment == v.name() && request.State == pipelines.PullRequestOpen
		if ours && request.Key != "" && request.Revision != "" && better(request, best) {
			best = request
		}
	}
	if best.State == "" {
		return
	}
	d.replace(v.name(), pipelines.PromotionStatus{
		Revision: best.Revision, Run: best.Run, Key: best.Key, Strategy: pipelines.StrategyPullRequest,
		State: pipelines.PromotionCreated, StartTime: d.now, Attempts: 1,
	}, "pull request "+best.URL+" was found")
	d.absorbPullRequest(v.name(), best, "")
}

// fill overwrites what the new facts tell and keeps what they do not.
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
		closed := metav1.NewTime(request.ClosedTime.UTC().Truncate(1e9))
		status.ClosedTime = &closed
	}
}

// repository is the one in which pull requests for an environment are opened now.
func (d *draft) repository(name string) *pipelines.PullRequestStrategy {
	for _, v := range d.views {
		if p := d.o.promotion(v); v.name() == name && p != nil && p.Strategy.PullRequest != nil {
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
