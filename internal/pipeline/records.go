// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"reflect"
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// tidy gives up what has no place any more: promotions to environments that are gone or have become the first one, and all of
// them if the pipeline goes.
func (d *draft) tidy() {
	for _, name := range d.recorded() {
		e := d.environment(name)
		i := slices.IndexFunc(d.views, func(v view) bool { return v.name() == name })
		switch {
		case d.o.Deleted:
			d.dismiss(name, "the pipeline is being deleted")
		case i < 0 && e.Withdrawal == nil && !mayHavePullRequest(e.Promotion):
			delete(d.status().Environments, name)
		case i < 0:
			d.dismiss(name, "the pipeline has no environment "+name+" any more")
		case i == 0 && e.Promotion != nil:
			d.dismiss(name, "environment "+name+" has become the first one of the pipeline")
		}
	}
}

// dismiss gives up the promotion of an environment. Pull requests of a pipeline that goes may be wanted nevertheless.
func (d *draft) dismiss(name, why string) {
	p := d.environment(name).Promotion
	if d.o.Deleted && d.o.KeepPullRequests {
		d.change(name, func(e *pipelines.EnvironmentStatus) { e.Withdrawal = nil })
		if p != nil && isLive(p.State) {
			d.move(name, pipelines.PromotionSuperseded, why)
		}
		return
	}
	if p != nil && (isLive(p.State) || mayHavePullRequest(p)) {
		d.giveUp(name, why)
	}
}

// supersede gives up promotions of revisions that are not to come any more, in all environments and not only in those that
// the new revision has reached.
func (d *draft) supersede() {
	for _, s := range d.steps[min(1, len(d.steps)):] {
		p := d.environment(s.name()).Promotion
		if s.duplicate || p == nil || s.revision == "" || isFor(p, s.revision, s.run) || !isLive(p.State) {
			continue
		}
		if d.o.Spec.Mode.OrDefault() == pipelines.ModePairwise && (d.outstanding(s.name()) || !d.offered(s.index, true)) {
			continue
		}
		d.giveUp(s.name(), fmt.Sprintf("revision %s of run %d takes over", s.revision, s.run))
	}
}

// open records the promotions that are needed.
func (d *draft) open() {
	for _, s := range d.steps {
		if s.verdict != verdictNeeded {
			continue
		}
		d.rederive(s)
		p := d.environment(s.name()).Promotion
		if name, _ := strategyOf(d.o.promotion(s.view)); name == "" {
			continue
		}
		switch {
		case p == nil:
			d.begin(s, 0)
		case isFor(p, s.revision, s.run):
			if p.State == pipelines.PromotionSuperseded {
				d.begin(s, p.Retries+1)
			}
		case !isLive(p.State):
			d.begin(s, 0)
		}
	}
}

func (d *draft) begin(s step, retries int32) {
	p := newPromotion(d.pipeline, s.spec, d.identity(s, retries), d.now)
	p.Downgrade = s.runsHigher(s.revision)
	why := "it is needed"
	if p.Downgrade {
		why = "it is needed, and a downgrade"
	}
	d.replace(s.name(), p, why)
	d.absorb(s.name())
}

// rederive begins a promotion anew if it is to be done in another way than the one in which it was begun, and brings up to date
// whether it needs approval.
func (d *draft) rederive(s step) {
	p := d.environment(s.name()).Promotion
	if !isFor(p, s.revision, s.run) {
		return
	}
	block := d.o.promotion(s.view)
	strategy, _ := strategyOf(block)
	switch p.State {
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted:
		if p.Attempts == 0 && strategy != "" {
			d.change(s.name(), func(e *pipelines.EnvironmentStatus) { e.Promotion.Strategy = strategy })
			break
		}
		d.restart(s, strategy)
	case pipelines.PromotionFailed, pipelines.PromotionAttempting, pipelines.PromotionCreated, pipelines.PromotionAbandoned:
		d.restart(s, strategy)
	}
	d.demandApproval(s.name(), block)
}

// restart begins a promotion again whose strategy has changed. What was approved stays approved: it has not happened.
func (d *draft) restart(s step, strategy pipelines.StrategyName) {
	p := d.environment(s.name()).Promotion
	same := strategy == p.Strategy && strategy != ""
	if same && strategy == pipelines.StrategyPullRequest && p.PullRequest != nil && p.PullRequest.Repository != nil {
		same = sameRepository(p.PullRequest.Repository, d.repository(s.name()))
	}
	running := d.o.Attempts[attemptOf(s.name(), p)].State == AttemptRunning
	if same || running || !d.giveUp(s.name(), "the pipeline promotes in another way now") {
		return
	}
	if strategy == "" {
		return
	}
	approval := p.Approval
	d.begin(s, p.Retries+1)
	d.change(s.name(), func(e *pipelines.EnvironmentStatus) { e.Promotion.Approval = approval })
}

// sameRepository compares all but the credentials, which may change at any time.
func sameRepository(a, b *pipelines.PullRequestStrategy) bool {
	left, right := *a, *b
	left.SecretRef, right.SecretRef = pipelines.LocalObjectReference{}, pipelines.LocalObjectReference{}
	return reflect.DeepEqual(left, right)
}

// demandApproval makes a promotion wait for approval that has none and needs one, and lets go one that needs none any more.
func (d *draft) demandApproval(name string, block *pipelines.Promotion) {
	p := d.environment(name).Promotion
	manual := block != nil && block.Manual && !approved(p)
	switch {
	case p.State == pipelines.PromotionUnapproved && !manual:
		d.move(name, pipelines.PromotionUnattempted, "it may begin")
	case !manual:
	case p.State == pipelines.PromotionUnattempted || p.State == pipelines.PromotionFailed ||
		p.State == pipelines.PromotionAttempting && d.o.Attempts[attemptOf(name, p)].State == "":
		d.move(name, pipelines.PromotionUnapproved, "it needs approval")
	}
}

func approved(p *pipelines.PromotionStatus) bool {
	return p.Approval != nil && p.Approval.Decision == pipelines.DecisionApproved
}
