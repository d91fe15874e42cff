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
	ended, found := d.endOf(name, w)
	merged := found && ended.State == pipelines.PullRequestMerged
	switch {
	case attempt.State == AttemptDone:
		d.endWithdrawal(name, attempt.Result.PullRequest)
	case merged && attempt.State != AttemptRunning, found && hopeless(w, attempt):
		d.endWithdrawal(name, ended)
	case hopeless(w, attempt) && d.leavesRepository(name, w):
		d.leaveOpen(name, attempt.Error)
	case attempt.State == AttemptFailed && w.NextAttemptTime == nil:
		d.change(name, func(e *pipelines.EnvironmentStatus) {
			next := d.nextTry(w.Key, w.Attempts, attempt.Error)
			e.Withdrawal.Error, e.Withdrawal.NextAttemptTime = d.errorOf(attempt.Error), &next
		})
	}
	d.repeatWithdrawal(name)
}

// hopeless tells whether another attempt to close the pull request would not help.
func hopeless(w *pipelines.Withdrawal, last Attempt) bool {
	return last.State == AttemptFailed && (last.Error.Permanent || w.Attempts >= MaxWithdrawals)
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

// endOf finds out whether the pull request has been closed or merged, be it by an attempt whose end is not known. Closed is not the end
// of a withdrawal: the branch may be left.
func (d *draft) endOf(name string, w *pipelines.Withdrawal) (PullRequest, bool) {
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
		records := []*pipelines.PromotionStatus{}
		if e.Promotion != nil {
			records = append(records, e.Promotion)
		}
		for i := range e.History {
			records = append(records, &e.History[i])
		}
		for _, p := range records {
			if p.Key == key && p.PullRequest != nil {
				fill(p.PullRequest, ended, "")
			}
		}
	})
}

// leaveOpen ends a withdrawal that does not work. Nobody but people can close the pull request then, so it is named.
func (d *draft) leaveOpen(name string, failed AttemptError) {
	w := d.environment(name).Withdrawal
	which := w.PullRequest.URL
	if which == "" {
		which = "from branch " + w.PullRequest.Branch
	}
	d.news = append(d.news, News{
		Warning: true, Reason: "PullRequestLeftOpen", Environment: name, Strategy: pipelines.StrategyPullRequest,
		Message: shorten(fmt.Sprintf("pull request %s for revision %s in environment %s could not be closed, close it yourself: %s",
			which, w.Revision, name, failed.Message), maxMessage),
	})
	d.change(name, func(e *pipelines.EnvironmentStatus) { e.Withdrawal = nil })
}
