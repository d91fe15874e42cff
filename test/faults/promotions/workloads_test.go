// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/test/faults/promotions/invariant"
)

// workload is what users do in a scene, act by act. Each act ends at rest, and checks itself what its user wanted: a comparison with the
// reference does not find what is wrong in both.
type workload struct {
	name string
	// git reports whether it needs a repository, approvals whether it needs the server for approvals.
	git, approvals bool
	// meanwhile is what its user does while no process runs, after a crash.
	meanwhile func(*scene)
	acts      []func(*scene)
}

var workloads = []workload{
	{name: "merge", git: true, acts: []func(*scene){propose, merge, arrive}},
	{name: "supersede", git: true, acts: []func(*scene){propose, replace, mergeAndArrive}},
	{name: "overtake", git: true, meanwhile: overtake, acts: []func(*scene){proposeInHaste}},
	{name: "remove", git: true, acts: []func(*scene){propose, closeByHand, reopen, remove}},
	{name: "approve", approvals: true, acts: []func(*scene){ask, click, askAgain, request}},
	{name: "notify", acts: []func(*scene){notify, arriveNotified, notifyNext}},
	{name: "install", acts: []func(*scene){install, finishInstalled, revoke}},
	{name: "doubt", acts: []func(*scene){sick, unreadable, halfReadable, recovered}},
}

func workloadNamed(t *testing.T, name string) workload {
	t.Helper()
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
	if i < 0 {
		var names []string
		for _, w := range workloads {
			names = append(names, w.name)
		}
		t.Fatalf("there is no workload %q, only %s", name, strings.Join(names, ", "))
	}
	return workloads[i]
}

// Pull requests: a revision is proposed, merged and deployed; or another one arrives while it is open; or the pipeline is deleted.

func propose(s *scene) {
	s.deploy("dev", "1.1.0", true)
	s.deploy("prod", "1.0.0", true)
	s.create(s.pipeline("dev", "prod").PullRequest(s.pullRequests()).Build())
	s.reaches("prod", "1.1.0", pipelines.PromotionCreated)
	s.rest("proposed")
}

func merge(s *scene) {
	s.mergeOpen("1.1.0")
	s.rest("merged")
}

// mergeOpen merges the open pull request for a revision.
func (s *scene) mergeOpen(revision string) {
	s.t.Helper()
	number := s.reaches("prod", revision, pipelines.PromotionCreated).Status.Environments["prod"].Promotion.PullRequest.Number
	s.hub.merge(s.t, number)
	s.ledger.end(number, invariant.Merged)
	s.reaches("prod", revision, pipelines.PromotionSucceeded)
}

func arrive(s *scene) {
	s.arrives("1.1.0")
	s.rest("arrived")
}

// arrives makes the last environment run a revision, and waits until the run is complete. A pipeline that has lost its status at the last
// moment has no record of the promotion then.
func (s *scene) arrives(revision string) {
	s.t.Helper()
	s.deploy("prod", revision, true)
	s.until("complete at "+revision, func(p *pipelines.Pipeline) bool {
		e, run := p.Status.Environments["prod"], p.Status.Run
		return run != nil && run.Revision == revision && run.CompletionTime != nil && e.Withdrawal == nil &&
			(e.Promotion == nil || e.Promotion.Revision != revision || e.Promotion.State == pipelines.PromotionComplete)
	})
}

func replace(s *scene) {
	s.deploy("dev", "1.2.0", true)
	s.reaches("prod", "1.2.0", pipelines.PromotionCreated)
	s.rest("replaced")
}

func mergeAndArrive(s *scene) {
	s.mergeOpen("1.2.0")
	s.arrives("1.2.0")
	s.rest("arrived")
}

// hurry deploys a revision to the first environment, unless that has a later one.
func (s *scene) hurry(minor int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.minor < minor {
		s.minor = minor
		s.deploy("dev", fmt.Sprintf("1.%d.0", minor), true)
	}
}

// newest returns the revision of the first environment.
func (s *scene) newest() (revision string, minor int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return fmt.Sprintf("1.%d.0", s.minor), s.minor
}

// overtake deploys the next revision, without waiting for anything, unless it is the last one of the story.
func overtake(s *scene) {
	if _, minor := s.newest(); minor < lastMinor {
		s.hurry(minor + 1)
	}
}

const lastMinor = 9

// proposeInHaste deploys the next revision as soon as the previous one is proposed, and another one whenever the controller is down.
func proposeInHaste(s *scene) {
	s.hurry(1)
	s.deploy("prod", "1.0.0", true)
	s.create(s.pipeline("dev", "prod").PullRequest(s.pullRequests()).Build())
	for _, next := range []int{2, lastMinor} {
		s.until("proposed in the newest revision", func(p *pipelines.Pipeline) bool {
			revision, _ := s.newest()
			e := p.Status.Environments["prod"]
			return e.Promotion != nil && e.Promotion.Revision == revision && e.Promotion.State == pipelines.PromotionCreated
		})
		s.hurry(next)
	}
	s.reaches("prod", "1.9.0", pipelines.PromotionCreated)
	s.rest("proposed")
}

// closeByHand closes the pull request of a user who does not want the revision, and reopens it when they want it after all.

func closeByHand(s *scene) {
	number := s.proposed()
	s.hub.closeByHand(s.t, number)
	s.ledger.end(number, invariant.Closed)
	s.reaches("prod", "1.1.0", pipelines.PromotionAbandoned)
	s.rest("closed by hand")
}

func reopen(s *scene) {
	number := s.proposed()
	s.hub.reopen(s.t, number)
	s.ledger.end(number, invariant.Reopened)
	s.reaches("prod", "1.1.0", pipelines.PromotionCreated)
	s.rest("opened again")
}

// proposed returns the number of the pull request in the status.
func (s *scene) proposed() int64 {
	s.t.Helper()
	return s.until("proposed", func(p *pipelines.Pipeline) bool {
		e := p.Status.Environments["prod"]
		return e.Promotion != nil && e.Promotion.PullRequest != nil && e.Promotion.PullRequest.Number != 0
	}).Status.Environments["prod"].Promotion.PullRequest.Number
}

func remove(s *scene) {
	if err := s.Client().Delete(s.t.Context(), s.stub()); err != nil {
		s.t.Fatal(err)
	}
	testkit.EventuallyGone(s.t, s.APIServer, s.stub())
	s.rest("removed")
}

// Notifications.

func notify(s *scene) {
	s.deploy("dev", "1.1.0", true)
	s.deploy("prod", "1.0.0", true)
	s.create(s.pipeline("dev", "prod").Notification().Build())
	s.reaches("prod", "1.1.0", pipelines.PromotionSucceeded)
	s.rest("notified")
	s.sent("1.1.0")
}

func arriveNotified(s *scene) {
	s.deploy("prod", "1.1.0", true)
	s.reaches("prod", "1.1.0", pipelines.PromotionComplete)
	s.rest("arrived")
}

func notifyNext(s *scene) {
	s.deploy("dev", "1.2.0", true)
	s.reaches("prod", "1.2.0", pipelines.PromotionSucceeded)
	s.rest("notified again")
	s.sent("1.2.0")
}

// Installations.

func install(s *scene) {
	for environment, version := range map[string]string{"dev": "1.1.0", "prod": "1.0.0", "staging": "1.0.0"} {
		inst := testkit.Installation(s.at[environment], "app").
			Blueprint("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n").
			Build()
		inst.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{
			Reference: &lsv1alpha1.ComponentDescriptorReference{ComponentName: "example.com/app", Version: version},
		}
		s.create(inst)
		s.finish(environment, "first")
	}
	// The last environment has two targets, which are changed one after the other.
	p := s.pipeline("dev", "prod").
		Environment("prod", s.at["staging"]).
		App("landscaper.gardener.cloud/v1alpha1", "Installation", "app").
		Build()
	p.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	s.create(p)
	s.reaches("prod", "1.1.0", pipelines.PromotionSucceeded)
	s.rest("installed", s.installed("prod"), s.installed("staging"))
	for _, target := range []string{"prod", "staging"} {
		if got := s.installation(target).Spec.ComponentDescriptor.Reference.Version; got != "1.1.0" {
			s.t.Errorf("I9: the promotion has succeeded, and yet the Installation in %s has version %s", target, got)
		}
	}
}

// installed describes a changed Installation.
func (s *scene) installed(target string) string {
	inst := s.installation(target)
	return fmt.Sprintf(
		"the Installation has version %s, generation %d, operation %q",
		inst.Spec.ComponentDescriptor.Reference.Version,
		inst.Generation,
		inst.Annotations[lsv1alpha1.OperationAnnotation],
	)
}

// finish makes an Installation succeed for its current generation, as its controller would.
func (s *scene) finish(environment, job string) {
	s.t.Helper()
	inst := s.installation(environment)
	before := inst.DeepCopy()
	delete(inst.Annotations, lsv1alpha1.OperationAnnotation)
	if err := s.Client().Patch(s.t.Context(), inst, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
	inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.Phase = job, job, lsv1alpha1.PhaseSucceeded
	inst.Status.ObservedGeneration = inst.Generation
	if err := s.Client().Status().Update(s.t.Context(), inst); err != nil {
		s.t.Fatal(err)
	}
}

func finishInstalled(s *scene) {
	s.finish("prod", "second")
	s.finish("staging", "second")
	s.reaches("prod", "1.1.0", pipelines.PromotionComplete)
	s.rest("arrived", s.installed("prod"), s.installed("staging"))
}

// revoke removes the permission to refer to one of the two targets. The next revision then reaches none of them.
func revoke(s *scene) {
	if err := s.Client().Delete(s.t.Context(), testkit.Grant(s.at["prod"], s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	s.held("prod", pipelines.HoldReferenceNotPermitted)
	inst := s.installation("dev")
	before := inst.DeepCopy()
	inst.Spec.ComponentDescriptor.Reference.Version = "1.2.0"
	if err := s.Client().Patch(s.t.Context(), inst, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
	s.finish("dev", "third")
	s.until("a run of 1.2.0", func(p *pipelines.Pipeline) bool { return p.Status.LatestRevision == "1.2.0" })
	s.rest("revoked", s.installed("prod"), s.installed("staging"))
	for _, target := range []string{"prod", "staging"} {
		if got := s.installation(target).Spec.ComponentDescriptor.Reference.Version; got != "1.1.0" {
			s.t.Errorf("I12: nothing was to be promoted, but the Installation in %s has version %s", target, got)
		}
	}
}

// Doubt: an environment before the last one is unhealthy; then it is healthy, but the first and the last one are unreadable; then only the
// last one is; then all are healthy.

func sick(s *scene) {
	s.deploy("dev", "1.1.0", true)
	s.deploy("staging", "1.1.0", false)
	s.deploy("prod", "1.0.0", true)
	s.create(s.pipeline("dev", "staging", "prod").Notification().Build())
	s.held("staging", pipelines.HoldRollingOut)
	s.rest("sick")
	s.nothingSent()
}

func unreadable(s *scene) {
	for _, environment := range []string{"dev", "prod"} {
		if err := s.Client().Delete(s.t.Context(), s.app(environment)); err != nil {
			s.t.Fatal(err)
		}
		s.until(environment+" unreadable", func(p *pipelines.Pipeline) bool {
			targets := p.Status.Environments[environment].Targets
			return len(targets) == 1 && targets[0].UnreadableSince != nil
		})
	}
	s.deploy("staging", "1.1.0", true)
	s.until("healthy in staging", func(p *pipelines.Pipeline) bool { return p.Status.Environments["staging"].Healthy != nil })
	s.rest("unreadable")
	s.nothingSent()
}

func halfReadable(s *scene) {
	s.deploy("dev", "1.1.0", true)
	s.held("prod", pipelines.HoldTargetNotReadable)
	s.rest("half readable")
	s.nothingSent()
}

func recovered(s *scene) {
	s.deploy("prod", "1.0.0", true)
	s.reaches("prod", "1.1.0", pipelines.PromotionSucceeded)
	s.rest("recovered")
	s.sent("1.1.0")
}

func (s *scene) held(environment string, reason pipelines.HoldReason) {
	s.t.Helper()
	s.until("held in "+environment+": "+string(reason), func(p *pipelines.Pipeline) bool {
		return slices.ContainsFunc(p.Status.Holds, func(h pipelines.Hold) bool { return h.Environment == environment && h.Reason == reason })
	})
}

// sent checks that what is recorded as successful has happened.
func (s *scene) sent(revision string) {
	s.t.Helper()
	if !slices.ContainsFunc(
		s.ledger.list(),
		func(e invariant.Entry) bool { return e.Event == invariant.Accepted && e.Revision == revision },
	) {
		s.t.Errorf("I9: the promotion of %s has succeeded, and yet nobody was told of it", revision)
	}
}

func (s *scene) nothingSent() {
	s.t.Helper()
	if sent := s.ledger.list(); len(sent) > 0 {
		s.t.Errorf("I12: nothing was to be promoted, but: %v", sent)
	}
}
