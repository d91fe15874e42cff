// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// verdict is what the walk through the environments finds at one of them.
type verdict string

const (
	// verdictSource is for the first environment once it has settled: revisions come from it.
	verdictSource verdict = "source"
	// verdictUnsettled is for the first environment while it has not.
	verdictUnsettled verdict = "unsettled"
	// verdictReached environments are healthy at the revision.
	verdictReached verdict = "reached"
	// verdictRollingOut environments run the revision on some targets.
	verdictRollingOut verdict = "rolling out"
	// verdictUnreadable environments have targets that cannot be read.
	verdictUnreadable verdict = "unreadable"
	// verdictNoTargets environments have no targets.
	verdictNoTargets verdict = "no targets"
	// verdictInvalid environments have the name of another one.
	verdictInvalid verdict = "invalid"
	// verdictNeverDeployed environments have applications that were never deployed, and are not to be deployed to first by the pipeline.
	verdictNeverDeployed verdict = "never deployed"
	// verdictNeeded environments need a promotion.
	verdictNeeded verdict = "needed"
	// verdictBehind environments are not asked: the revision has not got that far.
	verdictBehind verdict = "behind"
)

// step is what the walk finds at an environment.
type step struct {
	view
	verdict verdict
	// revision that is to come here, and the run that brings it; empty if there is none.
	revision string
	run      int64
}

// attemptable tells whether an attempt may be made for a promotion. One that has begun is also brought to its end while the revision rolls
// out: it may be on some targets only because the attempt was cut off before it came to the others, or to its own end.
func (s step) attemptable(p *pipelines.PromotionStatus) bool {
	begun := p.Attempts > 0 && (p.State == pipelines.PromotionAttempting || p.State == pipelines.PromotionFailed)
	return s.verdict == verdictNeeded || s.verdict == verdictRollingOut && begun
}

// survey brings up to date which revision each environment has settled on, and finds what is needed. The environments are
// looked at in order, because what one has settled on is what the next one is to get.
func (d *draft) survey() {
	d.steps = nil
	if d.blind() {
		for i, v := range d.views {
			d.steps = append(d.steps, step{view: v, verdict: verdictBehind})
			if i == 0 {
				d.steps[0] = firstStep(v)
			}
		}
		return
	}
	going := true
	for i, v := range d.views {
		if i == 0 {
			d.settleFirst(v)
			d.steps = append(d.steps, firstStep(v))
			going = v.revision() != ""
			continue
		}
		s := step{view: v, verdict: verdictBehind}
		s.revision, s.run = d.source(i)
		if v.duplicate {
			s.verdict = verdictInvalid
		} else {
			d.settle(s)
			if d.offered(i, going) {
				s.verdict = judge(s)
			}
		}
		going = going && s.verdict == verdictReached
		d.steps = append(d.steps, s)
	}
	d.completeRun()
}

func firstStep(v view) step {
	s := step{view: v, verdict: verdictSource, revision: v.revision()}
	if s.revision == "" {
		s.verdict = verdictUnsettled
	}
	return s
}

// source is the revision that is to come into an environment, and its run.
func (d *draft) source(i int) (string, int64) {
	if i == 1 || d.o.Spec.Mode.OrDefault() == pipelines.ModeSuperseding {
		if run := d.status().Run; run != nil {
			return run.Revision, run.Number
		}
		return "", 0
	}
	if settled := d.environment(d.views[i-1].name()).Settled; settled != nil {
		return settled.Revision, settled.Number
	}
	return "", 0
}

// offered tells whether the environment before has a revision to offer now. In the mode Superseding it must be the one of the
// run, all the way from the first environment.
func (d *draft) offered(i int, going bool) bool {
	if d.o.Spec.Mode.OrDefault() == pipelines.ModeSuperseding {
		return going
	}
	before := d.views[i-1]
	revision, _ := d.source(i)
	return !before.duplicate && revision != "" && before.revision() == revision
}

// judge compares an environment with the revision that it is to get.
func judge(s step) verdict {
	switch {
	case len(s.facts.Targets) == 0:
		return verdictNoTargets
	case !s.readable():
		return verdictUnreadable
	case s.view.revision() == s.revision:
		return verdictReached
	case s.runs(s.revision):
		return verdictRollingOut
	case s.neverDeployed() && !s.spec.FirstRelease:
		return verdictNeverDeployed
	}
	return verdictNeeded
}

// settleFirst begins a run when the first environment has settled on another revision.
func (d *draft) settleFirst(v view) {
	revision, run := v.revision(), d.status().Run
	if revision == "" {
		return
	}
	if run == nil || run.Revision != revision {
		next := &pipelines.Run{Number: d.nextRun(revision), Revision: revision, StartTime: d.now}
		d.news = append(d.news, runNews(run, next))
		d.status().Run = next
	}
	d.status().LatestRevision = revision
	d.change(v.name(), func(e *pipelines.EnvironmentStatus) {
		if e.Settled == nil || e.Settled.Revision != revision || e.Settled.Run != d.status().Run.Number {
			number := d.status().Run.Number
			e.Settled = &pipelines.Settlement{Revision: revision, Number: number, Run: number, Time: d.now}
		}
	})
}

// nextRun numbers a new run.
func (d *draft) nextRun(revision string) int64 {
	if run := d.status().Run; run != nil {
		return run.Number + 1
	}
	return d.lostNumber(0, revision)
}

// lostNumber numbers what an environment has settled on if the memory is lost. Pull requests tell which numbers were used: the
// last one is taken up again if it was for the same revision, so that its traces are recognised. In the mode Pairwise each
// environment counts for the next one only.
func (d *draft) lostNumber(i int, revision string) int64 {
	var last PullRequest
	for _, request := range d.o.PullRequests {
		mine := d.o.Spec.Mode.OrDefault() == pipelines.ModeSuperseding || i+1 < len(d.views) && request.Environment == d.views[i+1].name()
		if mine && request.Run > last.Run {
			last = request
		}
	}
	if last.Run > 0 && last.Revision == revision {
		return last.Run
	}
	return last.Run + 1
}

func runNews(before, next *pipelines.Run) News {
	message := fmt.Sprintf("run %d begins: the first environment has settled on revision %s", next.Number, next.Revision)
	if before != nil && before.CompletionTime == nil {
		message += fmt.Sprintf("; run %d of revision %s is superseded after %s", before.Number, before.Revision,
			next.StartTime.Sub(before.StartTime.Time))
	}
	return News{Reason: "RunStarted", Message: shorten(message, maxMessage)}
}

// settle records which revision an environment has settled on, and notices when it goes back from the one that it is to have.
func (d *draft) settle(s step) {
	e := d.environment(s.name())
	if d.wentBack(s, e) {
		d.rollBack(s)
	}
	revision := s.view.revision()
	if revision == "" {
		return
	}
	d.change(s.name(), func(e *pipelines.EnvironmentStatus) {
		var run int64
		if revision == s.revision {
			run = s.run
		}
		switch {
		case e.Settled == nil:
			e.Settled = &pipelines.Settlement{Revision: revision, Number: d.lostNumber(s.index, revision), Run: run, Time: d.now}
		case e.Settled.Revision != revision:
			e.Settled = &pipelines.Settlement{Revision: revision, Number: e.Settled.Number + 1, Run: run, Time: d.now}
		case run != 0:
			e.Settled.Run = run
		}
	})
	d.arrive(s.name(), revision)
}

// wentBack tells whether an environment had arrived at the revision of the current run, and is not there any more.
func (d *draft) wentBack(s step, e pipelines.EnvironmentStatus) bool {
	if s.revision == "" || !s.left(s.revision) {
		return false
	}
	if isFor(e.Promotion, s.revision, s.run) {
		return e.Promotion.State == pipelines.PromotionComplete
	}
	arrived := e.Settled != nil && e.Settled.Revision == s.revision && e.Settled.Run == s.run
	return arrived && !d.outstanding(s.name())
}

// rollBack records that an environment went back, so that the revision is not brought again at once.
func (d *draft) rollBack(s step) {
	why := "the environment went back from the revision after it had arrived: " + s.laggards(s.revision)
	if !isFor(d.environment(s.name()).Promotion, s.revision, s.run) {
		if d.environment(s.name()).Promotion != nil && !d.giveUp(s.name(), why) {
			return
		}
		p := newPromotion(d.pipeline, s.spec, d.identity(s, 0), d.now)
		p.State = pipelines.PromotionRolledBack
		d.replace(s.name(), p, why)
	} else {
		d.move(s.name(), pipelines.PromotionRolledBack, why)
	}
	d.change(s.name(), func(e *pipelines.EnvironmentStatus) {
		e.Promotion.Error = &pipelines.PromotionError{Reason: "RolledBack", Message: shorten(why, maxMessage)}
	})
}

func (d *draft) identity(s step, retries int32) Identity {
	return d.o.identify(s.name(), pipelines.PromotionStatus{Revision: s.revision, Run: s.run, Retries: retries})
}

// arrive completes the promotion of a revision that all targets of the environment are healthy at.
func (d *draft) arrive(name, revision string) {
	p := d.environment(name).Promotion
	if p == nil || p.Revision != revision {
		return
	}
	switch p.State {
	case pipelines.PromotionComplete, pipelines.PromotionSuperseded:
		return
	case pipelines.PromotionCreated:
		// Whoever looks at pull requests may be later than whoever deploys: it has probably been merged.
		return
	case pipelines.PromotionAttempting:
		if d.o.Attempts[attemptOf(name, p)].State == AttemptRunning {
			return
		}
	}
	why := "all targets are healthy at the revision"
	if mayHavePullRequest(p) && !d.withdraw(name, why) {
		return
	}
	d.move(name, pipelines.PromotionComplete, why)
}

// completeRun notes when the last environment has the revision of the run.
func (d *draft) completeRun() {
	run := d.status().Run
	if run == nil || run.CompletionTime != nil || len(d.views) == 0 || d.views[0].revision() != run.Revision {
		return
	}
	if slices.ContainsFunc(d.views, func(v view) bool { return v.revision() != run.Revision || v.duplicate }) {
		return
	}
	done := metav1.NewTime(d.now.Time)
	run.CompletionTime = &done
	d.news = append(d.news, News{Reason: NewsRunCompleted, Message: fmt.Sprintf("run %d: revision %s is healthy in all environments, %s after it had begun",
		run.Number, run.Revision, done.Sub(run.StartTime.Time))})
}
