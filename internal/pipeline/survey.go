// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
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
	// offered says that the environment before has the revision now.
	offered bool
	// settled is what the environment has settled on last; nil if it never has.
	settled *pipelines.Settlement
}

// attemptable reports whether an attempt may be made for a promotion. One that has begun is also brought to its end while the revision
// rolls out: it may be on some targets only because the attempt was cut off before it came to the others, or to its own end.
func (s step) attemptable(p *pipelines.PromotionStatus) bool {
	begun := p.Attempts > 0 && (p.State == pipelines.PromotionAttempting || p.State == pipelines.PromotionFailed)
	return s.verdict == verdictNeeded || s.verdict == verdictRollingOut && begun
}

// facts are what was observed, put in order: what each environment shows, which revision goes through the pipeline, and how far it has
// got. They are the same in all stages that come after.
type facts struct {
	Observed
	// now is in whole seconds, as the API stores times.
	now   metav1.Time
	views []view
	// blind says that a pipeline without memory cannot find out which pull requests it has. It does not begin a run then.
	blind bool
	// run is the current one; nil if there was none yet.
	run *pipelines.Run
	// steps are what is found at each environment of the spec. There are none if the pipeline is being deleted.
	steps []step
}

// survey finds out where everything is.
func survey(o Observed) facts {
	f := facts{Observed: o, now: seconds(o.Now), views: views(o), run: o.Status.Run}
	if o.Deleted {
		return f
	}
	f.blind = o.Status.Run == nil && slices.ContainsFunc(f.views, func(v view) bool { return v.seen.ListingPending })
	if !f.blind {
		f.run = completeRun(f, currentRun(f))
	}
	f.steps = walk(f)
	return f
}

// index is the place of an environment in the spec; negative if it is not there.
func (f facts) index(name string) int {
	return slices.IndexFunc(f.views, func(v view) bool { return v.name() == name })
}

func (f facts) pairwise() bool { return f.Spec.Mode.OrDefault() == pipelines.ModePairwise }

// walk looks at the environments in order, because what one has settled on is what the next one is to get.
func walk(f facts) []step {
	steps := make([]step, 0, len(f.views))
	going := true
	for i, v := range f.views {
		s := step{view: v, verdict: verdictBehind, settled: f.Status.Environments[v.name()].Settled}
		switch {
		case i == 0:
			s = firstStep(f, s)
		case !f.blind:
			s = nextStep(f, s, steps, going)
		}
		going = going && (s.verdict == verdictSource || s.verdict == verdictReached)
		steps = append(steps, s)
	}
	return steps
}

func firstStep(f facts, s step) step {
	s.verdict, s.revision = verdictSource, s.view.revision()
	if s.revision == "" {
		s.verdict = verdictUnsettled
		return s
	}
	if !f.blind && (s.settled == nil || s.settled.Revision != s.revision || s.settled.Run != f.run.Number) {
		s.settled = &pipelines.Settlement{Revision: s.revision, Number: f.run.Number, Run: f.run.Number, Time: f.now}
	}
	return s
}

func nextStep(f facts, s step, before []step, going bool) step {
	s.revision, s.run = incoming(f, before)
	if s.duplicate {
		s.verdict = verdictInvalid
		return s
	}
	s.settled = settlement(f, s)
	if s.offered = offered(f, s, before, going); s.offered {
		s.verdict = judge(s)
	}
	return s
}

// incoming is the revision that is to come into the environment after some others, and its run.
func incoming(f facts, before []step) (string, int64) {
	if len(before) == 1 || !f.pairwise() {
		if f.run != nil {
			return f.run.Revision, f.run.Number
		}
		return "", 0
	}
	name := before[len(before)-1].name()
	i := slices.IndexFunc(before, func(s step) bool { return s.name() == name })
	if settled := before[i].settled; settled != nil {
		return settled.Revision, settled.Number
	}
	return "", 0
}

// offered reports whether the environment before has a revision to offer now. In the mode Superseding it must be the one of the
// run, all the way from the first environment.
func offered(f facts, s step, before []step, going bool) bool {
	if !f.pairwise() {
		return going
	}
	last := before[len(before)-1]
	return !last.duplicate && s.revision != "" && last.view.revision() == s.revision
}

// judge compares an environment with the revision that it is to get.
func judge(s step) verdict {
	switch {
	case len(s.seen.Targets) == 0:
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

// settlement is which revision an environment has settled on. As long as it has not settled on another one, it is the last one.
func settlement(f facts, s step) *pipelines.Settlement {
	revision := s.view.revision()
	if revision == "" {
		return s.settled
	}
	var run int64
	if revision == s.revision {
		run = s.run
	}
	switch {
	case s.settled == nil:
		return &pipelines.Settlement{Revision: revision, Number: lostNumber(f, s.index, revision), Run: run, Time: f.now}
	case s.settled.Revision != revision:
		return &pipelines.Settlement{Revision: revision, Number: s.settled.Number + 1, Run: run, Time: f.now}
	case run != 0 && run != s.settled.Run:
		same := *s.settled
		same.Run = run
		return &same
	}
	return s.settled
}

// currentRun is another one than before if the first environment has settled on another revision.
func currentRun(f facts) *pipelines.Run {
	before := f.Status.Run
	if len(f.views) == 0 {
		return before
	}
	revision := f.views[0].revision()
	switch {
	case revision == "" || before != nil && before.Revision == revision:
		return before
	case before == nil:
		return &pipelines.Run{Number: lostNumber(f, 0, revision), Revision: revision, StartTime: f.now}
	}
	return &pipelines.Run{Number: before.Number + 1, Revision: revision, StartTime: f.now}
}

// completeRun notes when the last environment has the revision of the run.
func completeRun(f facts, run *pipelines.Run) *pipelines.Run {
	if run == nil || run.CompletionTime != nil || len(f.views) == 0 {
		return run
	}
	if slices.ContainsFunc(f.views, func(v view) bool { return v.revision() != run.Revision || v.duplicate }) {
		return run
	}
	completed, now := *run, f.now
	completed.CompletionTime = &now
	return &completed
}

// lostNumber numbers what an environment has settled on if the memory is lost. Pull requests tell which numbers were used: the
// last one is taken up again if it was for the same revision, so that its traces are recognised. In the mode Pairwise each
// environment counts for the next one only.
func lostNumber(f facts, i int, revision string) int64 {
	var last PullRequest
	for _, request := range f.PullRequests {
		mine := !f.pairwise() || i+1 < len(f.views) && request.Environment == f.views[i+1].name()
		if mine && request.Run > last.Run {
			last = request
		}
	}
	if last.Run > 0 && last.Revision == revision {
		return last.Run
	}
	return last.Run + 1
}

// starting reports whether something has not been looked at for the first time that would be concluded from. A pipeline without
// memory has to see its pull requests before it numbers a run: they may be from an earlier one, and only its number gives their
// keys.
func starting(o Observed) bool {
	return slices.ContainsFunc(o.Environments, func(e Environment) bool {
		if e.ListingPending && e.ListingProblem == "" && o.Status.Run == nil {
			return true
		}
		return slices.ContainsFunc(e.Targets, func(t Target) bool { return t.Problem.Starting })
	})
}
