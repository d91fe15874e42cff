// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// MaxWithdrawals is how often it is attempted to close a pull request in a repository that the environment has nothing to do with
// any more. Then it is left to people. As long as the environment uses the repository, it is attempted until it works: there
// must not be two.
const MaxWithdrawals = 6

// Reasons that are known on both sides of an attempt, or of an Event.
const (
	// ReasonNoCredentials is why an attempt fails whose Secret does not exist.
	ReasonNoCredentials = "SecretMissing"
	// ReasonLeftOpen is for pull requests that could not be closed and are left to people.
	ReasonLeftOpen = "PullRequestLeftOpen"
)

// giveUp ends a promotion that is not wanted any more, and has its pull request closed. It reports false, and does nothing, if
// another pull request of the environment is being closed: that goes first.
func (d *draft) giveUp(name, why string) bool {
	e := d.environment(name)
	p := e.Promotion
	if mayHavePullRequest(p) && !d.withdraw(name, why) {
		return false
	}
	if isLive(p.State) {
		d.move(name, pipelines.PromotionSuperseded, why)
	}
	return true
}

// withdraw has the pull request of the current promotion closed.
func (d *draft) withdraw(name, why string) bool {
	e := d.environment(name)
	if e.Withdrawal != nil {
		return e.Withdrawal.Key == e.Promotion.Key
	}
	request := pipelines.PullRequestStatus{}
	if e.Promotion.PullRequest != nil {
		request = *e.Promotion.PullRequest.DeepCopy()
	}
	e.Withdrawal = &pipelines.Withdrawal{
		Revision: e.Promotion.Revision, Run: e.Promotion.Run, Key: e.Promotion.Key, Message: why,
		PullRequest: request, StartTime: d.now, Attempts: 1,
	}
	d.put(name, e)
	return true
}

func withdrawalOf(environment string, w *pipelines.Withdrawal) AttemptID {
	return AttemptID{Verb: VerbWithdraw, Environment: environment, Key: w.Key, Number: w.Attempts}
}

func (d *draft) absorbWithdrawal(name string) {
	w := d.environment(name).Withdrawal
	if w == nil {
		return
	}
	attempt := d.o.Attempts[withdrawalOf(name, w)]
	ended, found := d.endOf(name, w, attempt)
	merged := found && ended.State == pipelines.PullRequestMerged
	switch {
	case attempt.State == AttemptDone:
		d.endWithdrawal(name, attempt.Result.PullRequest)
	case merged && attempt.State != AttemptRunning:
		d.endWithdrawal(name, ended)
	case found && d.hopeless(w, attempt):
		d.leaveBranch(name, ended, attempt.Error)
	case d.hopeless(w, attempt) && d.leavesRepository(name, w):
		d.leaveOpen(name, attempt.Error)
	case attempt.State == AttemptFailed:
		d.postponeWithdrawal(name, attempt.Error)
	}
	d.repeatWithdrawal(name)
}

// postponeWithdrawal records why an attempt has failed and when the next one begins.
func (d *draft) postponeWithdrawal(name string, failed AttemptError) {
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		if w := e.Withdrawal; w.NextAttemptTime == nil {
			next := d.nextTry(w.Key, w.Attempts, failed)
			w.Error, w.NextAttemptTime = d.errorOf(failed), &next
		}
	})
}

// hopeless tells whether another attempt to close the pull request would not help. Whoever deletes a pipeline does not bring its
// credentials back.
func (d *draft) hopeless(w *pipelines.Withdrawal, last Attempt) bool {
	return last.State == AttemptFailed && (last.Error.Permanent || w.Attempts >= MaxWithdrawals || d.o.Deleted && last.Error.Reason == ReasonNoCredentials)
}

// leavesRepository tells whether no other pull requests will be opened for the environment where this one is.
func (d *draft) leavesRepository(name string, w *pipelines.Withdrawal) bool {
	now := d.repository(name)
	return d.o.Deleted || now == nil || w.PullRequest.Repository == nil || !sameRepository(w.PullRequest.Repository, now)
}

// repeatWithdrawal begins the next attempt when its time has come.
func (d *draft) repeatWithdrawal(name string) {
	w := d.environment(name).Withdrawal
	if w == nil || w.NextAttemptTime == nil || d.now.Time.Before(w.NextAttemptTime.Time) {
		return
	}
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		e.Withdrawal.Attempts++
		e.Withdrawal.NextAttemptTime = nil
	})
}

// endOf finds out whether the pull request has been closed or merged, be it by an attempt that failed afterwards or whose end is not known.
// Closed is not the end of a withdrawal: the branch may be left.
func (d *draft) endOf(name string, w *pipelines.Withdrawal, last Attempt) (PullRequest, bool) {
	if left := last.Result.PullRequest; last.State == AttemptFailed && left.State != "" && left.State != pipelines.PullRequestOpen {
		return left, true
	}
	i := slices.IndexFunc(d.o.PullRequests, func(r PullRequest) bool {
		return r.Environment == name && r.Number == w.PullRequest.Number && r.Number != 0 && r.State != pipelines.PullRequestOpen
	})
	if i < 0 {
		return PullRequest{}, false
	}
	return d.o.PullRequests[i], true
}

// endWithdrawal records how the pull request has ended. If it was merged after all, that is accepted.
func (d *draft) endWithdrawal(name string, ended PullRequest) {
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		key := e.Withdrawal.Key
		e.Withdrawal = nil
		if ended.State == "" {
			return
		}
		for _, p := range recordsOf(e, key) {
			if p.PullRequest != nil {
				fill(p.PullRequest, ended, "")
			}
		}
	})
}

// recordsOf are the promotions of an environment that have a key, to be changed.
func recordsOf(e *pipelines.EnvironmentStatus, key string) []*pipelines.PromotionStatus {
	var records []*pipelines.PromotionStatus
	if e.Promotion != nil && e.Promotion.Key == key {
		records = append(records, e.Promotion)
	}
	for i := range e.History {
		if e.History[i].Key == key {
			records = append(records, &e.History[i])
		}
	}
	return records
}

// leaveBranch ends a withdrawal that has closed the pull request and cannot remove its branch.
func (d *draft) leaveBranch(name string, ended PullRequest, failed AttemptError) {
	w := d.environment(name).Withdrawal
	d.tellLeft(name, "BranchLeft", fmt.Sprintf("pull request %s for revision %s in environment %s is closed, but its branch %s is left, remove it yourself: %s",
		nameOf(w.PullRequest), w.Revision, name, w.PullRequest.Branch, failed.Message))
	d.endWithdrawal(name, ended)
}

// leaveOpen ends a withdrawal that does not work. Nobody but people can close the pull request then, so it is named, in an Event and in
// the record.
func (d *draft) leaveOpen(name string, failed AttemptError) {
	w := d.environment(name).Withdrawal
	message := fmt.Sprintf("pull request %s for revision %s in environment %s could not be closed, close it yourself: %s",
		nameOf(w.PullRequest), w.Revision, name, failed.Message)
	d.tellLeft(name, ReasonLeftOpen, message)
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		for _, p := range recordsOf(e, e.Withdrawal.Key) {
			p.Error = &pipelines.PromotionError{Reason: ReasonLeftOpen, Message: shorten(message, maxMessage), Generation: d.o.Generation}
		}
		e.Withdrawal = nil
	})
}

func (d *draft) tellLeft(name, reason, message string) {
	d.news = append(d.news, News{
		Warning: true, Reason: reason, Environment: name, Strategy: pipelines.StrategyPullRequest, Message: shorten(message, maxMessage),
	})
}

// nameOf names a pull request for people; one whose address is not known by its branch.
func nameOf(request pipelines.PullRequestStatus) string {
	if request.URL == "" {
		return "from branch " + request.Branch
	}
	return request.URL
}
