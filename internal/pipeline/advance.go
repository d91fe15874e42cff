// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// advance computes what the status has to be, as the facts are. It is total, and what it returns for facts with that status is
// the same status again.
func advance(o Observed) *draft {
	d := newDraft(o)
	if o.Deleted {
		for _, name := range d.recorded() {
			d.absorb(name)
		}
		d.tidy()
		d.answer()
		d.holdDeletion()
		return d
	}
	d.status().ObservedGeneration = o.Generation
	if o.RequestedAt != "" {
		d.status().LastHandledReconcileAt = o.RequestedAt
	}
	d.lookAtTargets()
	for _, name := range d.recorded() {
		d.absorb(name)
	}
	for _, v := range d.views {
		if !d.blind() {
			d.remember(v)
		}
	}
	d.tidy()
	d.survey()
	d.supersede()
	d.open()
	d.answer()
	d.launch()
	d.watchArrival()
	d.hold()
	d.describe()
	if len(d.status().Environments) == 0 {
		d.status().Environments = nil
	}
	return d
}

// changed tells whether the draft differs from the recorded status. Most of the time it does not, to the bit, and the cheaper
// comparison settles it; the other one knows that times are the same in all zones.
func (d *draft) changed() bool {
	return !reflect.DeepEqual(d.o.Status, d.pipeline.Status) && !equality.Semantic.DeepEqual(d.o.Status, d.pipeline.Status)
}

// lookAtTargets records how the targets are, and since when each environment has been healthy.
func (d *draft) lookAtTargets() {
	for _, v := range d.views {
		if v.duplicate {
			continue
		}
		d.change(v.name(), func(e *pipelines.EnvironmentStatus) {
			var targets []pipelines.TargetStatus
			for i, t := range v.facts.Targets {
				var before pipelines.TargetStatus
				if i < len(e.Targets) {
					before = e.Targets[i]
				}
				t.Revision = v.reported[i]
				now := d.target(v.spec.Targets[i], t, before)
				d.tellProblem(v, i, before, now)
				targets = append(targets, now)
			}
			e.Targets = targets
			e.Healthy = d.health(v, e.Healthy)
		})
	}
}

func (d *draft) target(spec pipelines.Target, facts Target, before pipelines.TargetStatus) pipelines.TargetStatus {
	status := pipelines.TargetStatus{
		ClusterAppRef: pipelines.ClusterAppReference{AppReference: d.o.Spec.AppRef, ClusterRef: spec.ClusterRef.DeepCopy()},
		Namespace:     spec.Namespace, Ready: facts.Healthy, Revision: facts.Revision,
	}
	if facts.Readable() {
		status.NeverDeployed = facts.NeverDeployed
		if !facts.Healthy {
			status.Message = shorten(facts.Message, maxMessage)
		}
		return status
	}
	same := sameTarget(before, status)
	status.Ready, status.Error, status.Reason = false, shorten(facts.Problem.Message, maxMessage), facts.Problem.Reason
	if same && before.Revision != "" {
		status.Revision = before.Revision
	}
	since := d.now
	if !facts.UnreadableSince.IsZero() {
		since = seconds(facts.UnreadableSince)
	}
	if same && before.UnreadableSince != nil {
		since = *before.UnreadableSince
	}
	status.UnreadableSince = &since
	return status
}

func sameTarget(a, b pipelines.TargetStatus) bool {
	return equality.Semantic.DeepEqual(a.ClusterAppRef, b.ClusterAppRef) && a.Namespace == b.Namespace
}

// tellProblem tells that a target cannot be read, once for each reason.
func (d *draft) tellProblem(v view, i int, before, now pipelines.TargetStatus) {
	if now.Reason == "" || sameTarget(before, now) && before.Reason == now.Reason {
		return
	}
	d.news = append(d.news, News{
		Warning: true, Reason: problemNews(now.Reason), Environment: v.name(),
		Message: shorten(fmt.Sprintf("environment %s: %s: %s", v.name(), nameTarget(v.spec.Targets[i]), now.Error), maxMessage),
	})
}

// problemNews is the reason of the Event that tells of a problem.
func problemNews(reason string) string {
	switch reason {
	case pipelines.ReasonReferenceNotPermitted, pipelines.ReasonKindNotPermitted:
		return reason
	case pipelines.ReasonTargetClusterNotFound, pipelines.ReasonTargetClusterNotReady:
		return "GetClusterError"
	}
	return "GetAppError"
}

// health says since when an environment has been healthy. It begins anew when a target says that it has become ready since.
func (d *draft) health(v view, before *pipelines.EnvironmentHealth) *pipelines.EnvironmentHealth {
	revision := v.revision()
	if revision == "" {
		return nil
	}
	since := d.now
	if before != nil && before.Revision == revision {
		since = before.Since
	}
	for _, t := range v.facts.Targets {
		if ready := seconds(t.ReadySince); ready.After(since.Time) && !ready.After(d.now.Time) {
			since = ready
		}
	}
	return &pipelines.EnvironmentHealth{Revision: revision, Since: since}
}

// effects are what follows from the status once it is stored. The finalizer is there before anything that it is for.
func (d *draft) effects() []Effect {
	var do []Effect
	holding := d.needsFinalizer()
	if holding && !d.o.Finalizer && !d.o.Deleted {
		do = append(do, AddFinalizer{})
	}
	for _, name := range d.recorded() {
		if effect := d.withdrawEffect(name, d.environment(name).Withdrawal); effect != nil {
			do = append(do, effect)
		}
	}
	for _, s := range d.steps {
		if effect := d.promoteEffect(s); effect != nil {
			do = append(do, effect)
		}
	}
	do = append(do, d.removals()...)
	if !holding && d.o.Finalizer {
		do = append(do, RemoveFinalizer{})
	}
	return do
}

// removals take away the requests that were answered.
func (d *draft) removals() []Effect {
	var do []Effect
	for _, request := range d.o.Requests {
		if d.answered(request.ID) {
			do = append(do, RemoveRequest{Annotation: request.Annotation, ID: request.ID})
		}
	}
	return do
}

// needsFinalizer tells whether there may be pull requests that are closed before the pipeline goes.
func (d *draft) needsFinalizer() bool {
	if d.o.Deleted && d.o.KeepPullRequests {
		return false
	}
	for _, e := range d.status().Environments {
		if e.Withdrawal != nil || mayHavePullRequest(e.Promotion) {
			return true
		}
	}
	return false
}

func (d *draft) withdrawEffect(name string, w *pipelines.Withdrawal) Effect {
	if w == nil || w.NextAttemptTime != nil || d.busy(name) {
		return nil
	}
	id := withdrawalOf(name, w)
	if d.o.Attempts[id].State != "" {
		return nil
	}
	request := *w.PullRequest.DeepCopy()
	if now := d.repository(name); now != nil && (request.Repository == nil || sameRepository(request.Repository, now)) {
		request.Repository = now
	}
	return Withdraw{ID: id, Revision: w.Revision, Run: w.Run, PullRequest: request, Message: w.Message}
}

// promoteEffect starts the attempt that is recorded and not known to be started, as long as the promotion is still needed.
func (d *draft) promoteEffect(s step) Effect {
	p := d.environment(s.name()).Promotion
	if !isFor(p, s.revision, s.run) || !s.attemptable(p) || p.State != pipelines.PromotionAttempting {
		return nil
	}
	id := attemptOf(s.name(), p)
	if d.o.Attempts[id].State != "" || d.busy(s.name()) || !d.agreed(s, p) {
		return nil
	}
	if len(d.stops(s.name())) > 0 || d.environment(s.name()).Withdrawal != nil {
		return nil
	}
	_, strategy := strategyOf(d.o.promotion(s.view))
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

// validUTF8 drops the part of a character that a cut has left.
func validUTF8(text string) string { return strings.ToValidUTF8(text, "") }
