// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// verdict is what the walk finds at an environment.
type verdict string

const (
	// verdictSource is for the first environment once it has settled: it sets the revision.
	verdictSource verdict = "source"
	// verdictUnsettled is for the first environment until it has settled.
	verdictUnsettled verdict = "unsettled"
	// verdictReached environments are healthy at the revision.
	verdictReached verdict = "reached"
	// verdictRollingOut environments run the revision on some targets.
	verdictRollingOut verdict = "rolling out"
	// verdictUnreadable environments have targets that cannot be read.
	verdictUnreadable verdict = "unreadable"
	// verdictNoTargets environments have no targets.
	verdictNoTargets verdict = "no targets"
	// verdictInvalid environments have a duplicate name.
	verdictInvalid verdict = "invalid"
	// verdictNeverDeployed environments have applications that were never deployed, and whose first deployment the pipeline must not make.
	verdictNeverDeployed verdict = "never deployed"
	// verdictNeeded environments need a promotion.
	verdictNeeded verdict = "needed"
	// verdictBehind environments are not evaluated: the revision has not reached them.
	verdictBehind verdict = "behind"
)

// step is what the walk finds at an environment.
type step struct {
	view
	verdict verdict
	// revision that the environment should get, and the run that brings it; empty if there is none.
	revision string
	run      int64
	// offered reports whether the previous environment currently has the revision.
	offered bool
	// settled is the revision on which the environment last settled; nil if it never has.
	settled *pipelines.Settlement
}

// attemptable reports whether a promotion may be attempted. One that has started also continues while the revision rolls out: the revision
// may be on some targets only, because the attempt was interrupted before it reached the others, or before it finished.
func (s step) attemptable(p *pipelines.PromotionStatus) bool {
	begun := p.Attempts > 0 && (p.State == pipelines.PromotionAttempting || p.State == pipelines.PromotionFailed)
	return s.verdict == verdictNeeded || s.verdict == verdictRollingOut && begun
}

// facts are the observations in order: the state of each environment, the revision that moves through the pipeline, and its progress. They
// do not change in later stages.
type facts struct {
	Observed
	// now has whole seconds, as the API stores times.
	now   metav1.Time
	views []view
	// blind reports whether a pipeline without recorded state cannot list its pull requests yet. It then starts no run.
	blind bool
	// run is the current one; nil before the first.
	run *pipelines.Run
	// steps are what the walk finds at each environment of the spec. Empty if the pipeline is being deleted.
	steps []step
}

// survey determines the state of all environments.
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

// index returns the position of an environment in the spec; negative if it is missing.
func (f facts) index(name string) int {
	return slices.IndexFunc(f.views, func(v view) bool { return v.name() == name })
}

func (f facts) pairwise() bool { return f.Spec.Mode.OrDefault() == pipelines.ModePairwise }

// walk visits the environments in order, because the next environment gets the revision on which the previous one has settled.
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
		s.verdict = verdictOf(s)
	}
	return s
}

// incoming returns the revision for the next environment, and its run.
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

// offered reports whether the previous environment offers a revision now. In the mode Superseding, all environments before must have the
// revision of the run.
func offered(f facts, s step, before []step, going bool) bool {
	if !f.pairwise() {
		return going
	}
	last := before[len(before)-1]
	return !last.duplicate && s.revision != "" && last.view.revision() == s.revision
}

// verdictOf compares an environment with the revision that it should get.
func verdictOf(s step) verdict {
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

// settlement returns the revision on which an environment has last settled.
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

// currentRun returns a new run if the first environment has settled on another revision, otherwise the previous one.
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

// completeRun sets the completion time once all environments have the revision of the run.
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

// lostNumber numbers the revision on which an environment has settled if the status was lost. Pull requests reveal the used numbers: the
// last one is reused if it was for the same revision, so that its pull requests are detected. In the mode Pairwise, an environment
// determines the numbers of the next one only.
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

// starting reports whether facts that a decision depends on were never read. A pipeline without recorded state
// must list its pull requests before it numbers a run: they may belong to an earlier run, and their keys depend on its number.
func starting(o Observed) bool {
	return slices.ContainsFunc(o.Environments, func(e Environment) bool {
		if e.ListingPending && e.ListingProblem == "" && o.Status.Run == nil {
			return true
		}
		return slices.ContainsFunc(e.Targets, func(t Target) bool { return t.Problem.Starting })
	})
}
