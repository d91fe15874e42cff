// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// MaxWithdrawals is the maximum number of attempts to close a pull request in a repository that the environment no longer uses. After that,
// a user must close it. While the environment uses the repository, attempts continue until one succeeds: two open pull requests must not
// coexist.
const MaxWithdrawals = 6

// Reasons that both sides of an attempt or an Event use.
const (
	// ReasonNoCredentials is why an attempt fails if its Secret does not exist.
	ReasonNoCredentials = "SecretMissing"
	// ReasonCredentialsDenied is why an attempt fails if its Secret may not be read.
	ReasonCredentialsDenied = "SecretForbidden"
	// ReasonLeftOpen is for pull requests that could not be closed and that a user must close.
	ReasonLeftOpen = "PullRequestLeftOpen"
)

// giveUp ends a promotion that is no longer wanted, and starts closing its pull request. If another pull request of the environment is
// being closed, it does nothing and returns false: that one goes first.
func giveUp(r record, why string, now metav1.Time) (record, bool) {
	if mayHavePullRequest(r.Promotion) {
		withdrawn, ok := withdraw(r, why, now)
		if !ok {
			return r, false
		}
		r = withdrawn
	}
	if isLive(r.Promotion.State) {
		r = r.move(pipelines.PromotionSuperseded, why, now)
	}
	return r, true
}

// withdraw starts closing the pull request of the current promotion. If another one is being closed, it does nothing and returns false.
func withdraw(r record, why string, now metav1.Time) (record, bool) {
	p := r.Promotion
	if r.Withdrawal != nil {
		return r, r.Withdrawal.Key == p.Key
	}
	request := pipelines.PullRequestStatus{}
	if p.PullRequest != nil {
		request = *p.PullRequest.DeepCopy()
		request.Checks = nil // it must not be merged any more
	}
	r.Withdrawal = &pipelines.Withdrawal{
		Revision: p.Revision, Run: p.Run, Key: p.Key, Message: why, PullRequest: request, StartTime: now, Attempts: 1,
	}
	return r, true
}

func withdrawalOf(environment string, w *pipelines.Withdrawal) AttemptID {
	return AttemptID{Verb: VerbWithdraw, Environment: environment, Key: w.Key, Number: w.Attempts}
}

func absorbWithdrawal(f facts, r record) record {
	if r.Withdrawal == nil {
		return r
	}
	attempt := f.Attempts[withdrawalOf(r.name, r.Withdrawal)]
	ended, found := endOf(f.PullRequests, r, attempt)
	merged := found && ended.State == pipelines.PullRequestMerged
	hopeless := hopeless(f, r.Withdrawal, attempt)
	switch {
	case attempt.State == AttemptDone:
		return endWithdrawal(r, attempt.Result.PullRequest)
	case merged && attempt.State != AttemptRunning:
		return endWithdrawal(r, ended)
	case found && hopeless:
		return leaveBranch(r, ended, attempt.Error)
	case hopeless && leavesRepository(f, r):
		return leaveOpen(r, attempt.Error, f.Generation)
	case attempt.State == AttemptFailed:
		r = postponeWithdrawal(f, r, attempt.Error)
	}
	return repeatWithdrawal(r, f.now)
}

// postponeWithdrawal records why an attempt failed and when the next one starts.
func postponeWithdrawal(f facts, r record, failed AttemptError) record {
	if r.Withdrawal.NextAttemptTime != nil {
		return r
	}
	w := *r.Withdrawal
	next := nextTry(w.Key, w.Attempts, failed, f.now)
	w.Error, w.NextAttemptTime = errorOf(failed, f.Generation), &next
	r.Withdrawal = &w
	return r
}

// hopeless reports whether another attempt to close the pull request cannot succeed. If a deleted pipeline lacks its credentials, or the
// right to read them, nobody restores that.
func hopeless(f facts, w *pipelines.Withdrawal, last Attempt) bool {
	return last.State == AttemptFailed &&
		(last.Error.Permanent || w.Attempts >= MaxWithdrawals || f.Deleted && last.Error.Reason == ReasonCredentialsDenied ||
			f.Deleted && last.Error.Reason == ReasonNoCredentials)
}

// leavesRepository reports whether no other pull requests of the environment will be opened in this repository.
func leavesRepository(f facts, r record) bool {
	now, then := f.repository(r.name), r.Withdrawal.PullRequest.Repository
	return f.Deleted || now == nil || then == nil || !sameRepository(then, now)
}

// repeatWithdrawal starts the next attempt when it is due.
func repeatWithdrawal(r record, now metav1.Time) record {
	if r.Withdrawal.NextAttemptTime == nil || now.Time.Before(r.Withdrawal.NextAttemptTime.Time) {
		return r
	}
	w := *r.Withdrawal
	w.Attempts++
	w.NextAttemptTime = nil
	r.Withdrawal = &w
	return r
}

// endOf returns the pull request if it has been closed or merged, even by an attempt that failed afterwards or whose result is unknown. A
// closed pull request does not end a withdrawal: its branch may remain.
func endOf(requests []PullRequest, r record, last Attempt) (PullRequest, bool) {
	if left := last.Result.PullRequest; last.State == AttemptFailed && left.State != "" && left.State != pipelines.PullRequestOpen {
		return left, true
	}
	number := r.Withdrawal.PullRequest.Number
	i := slices.IndexFunc(requests, func(p PullRequest) bool {
		return p.Environment == r.name && p.Number == number && p.Number != 0 && p.State != pipelines.PullRequestOpen
	})
	if i < 0 {
		return PullRequest{}, false
	}
	return requests[i], true
}

// endWithdrawal records how the pull request ended. If it was merged in the meantime, that is accepted.
func endWithdrawal(r record, ended PullRequest) record {
	r = editAll(r, r.Withdrawal.Key, func(p *pipelines.PromotionStatus) {
		if p.PullRequest != nil && ended.State != "" {
			fill(p.PullRequest, ended, "")
		}
	})
	r.Withdrawal = nil
	return r
}

// editAll changes copies of all promotions of an environment that have a key.
func editAll(r record, key string, change func(*pipelines.PromotionStatus)) record {
	r.EnvironmentStatus = *r.EnvironmentStatus.DeepCopy()
	if r.Promotion != nil && r.Promotion.Key == key {
		change(r.Promotion)
	}
	for i := range r.History {
		if r.History[i].Key == key {
			change(&r.History[i])
		}
	}
	return r
}

// leaveBranch ends a withdrawal that closed the pull request and cannot remove its branch.
func leaveBranch(r record, ended PullRequest, failed AttemptError) record {
	w := r.Withdrawal
	return endWithdrawal(r.tell(leftNews(r.name, "BranchLeft", fmt.Sprintf(
		"pull request %s for revision %s in environment %s is closed, but its branch %s could not be removed, remove it yourself: %s",
		nameOf(w.PullRequest), w.Revision, r.name, w.PullRequest.Branch, failed.Message))), ended)
}

// leaveOpen ends a withdrawal that cannot succeed. A user must close the pull request, so an Event and the record name it.
func leaveOpen(r record, failed AttemptError, generation int64) record {
	w := r.Withdrawal
	message := fmt.Sprintf("pull request %s for revision %s in environment %s could not be closed, close it yourself: %s",
		nameOf(w.PullRequest), w.Revision, r.name, failed.Message)
	r = editAll(r, w.Key, func(p *pipelines.PromotionStatus) {
		p.Error = &pipelines.PromotionError{Reason: ReasonLeftOpen, Message: shorten(message, maxMessage), Generation: generation}
	})
	r.Withdrawal = nil
	return r.tell(leftNews(r.name, ReasonLeftOpen, message))
}

func leftNews(name, reason, message string) News {
	return News{
		Warning: true, Reason: reason, Environment: name, Strategy: pipelines.StrategyPullRequest, Message: shorten(message, maxMessage),
	}
}

// nameOf returns the name of a pull request in messages: its address, or its branch if the address is unknown.
func nameOf(request pipelines.PullRequestStatus) string {
	if request.URL == "" {
		return "from branch " + request.Branch
	}
	return request.URL
}
