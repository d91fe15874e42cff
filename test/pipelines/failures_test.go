// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// A version that works in dev and fails in staging is rolled back there by Helm. It is not promoted again, nor any further; the next one
// is.
func rolledBack(t *testing.T, l leaves) {
	t.Parallel()
	e := newEstate(t, l)
	e.carry(e.strategy())
	staging := e.places["staging"]
	e.publish("1.1.0", staging)
	e.push("1.1.0")
	e.repository.Merge(t, e.opened("staging", "1.1.0").Number)
	testkit.Eventually(t, staging.leaf, staging.release(), testkit.Is("rolled back", func(r *unstructured.Unstructured) bool {
		releases := history(r)
		return readiness(r) == "False" && len(releases) > 1 && releases[0] == "1.0.0 deployed" && releases[1] == "1.1.0 failed"
	}))
	stalled := e.untilState("app", "staging", "1.1.0", pipelines.PromotionStalled)
	p := e.until("app", "held", func(p *pipelines.Pipeline) bool { return holdIn(p, "staging", pipelines.HoldRolledBack) != "" })
	if text := holdIn(p, "staging", pipelines.HoldRolledBack); !strings.Contains(text, "rolled back") ||
		!strings.Contains(text, staging.namespace) {
		t.Errorf("the hold says %q", text)
	}
	if p.Status.Environments["prod"].Promotion != nil || p.Status.Run.CompletionTime != nil ||
		stalled.PullRequest.State != pipelines.PullRequestMerged {
		t.Errorf("prod %+v, run %+v, staging %+v", p.Status.Environments["prod"].Promotion, p.Status.Run, stalled)
	}
	if target := p.Status.Environments["staging"].Targets[0]; target.Ready || target.Revision != "1.0.0" {
		t.Errorf("the target is %+v", target)
	}
	if running := staging.running(t, "app"); running != "1.0.0" {
		t.Errorf("staging runs %s", running)
	}

	e.publish("1.1.1")
	e.push("1.1.1")
	e.mergeInto("staging", "1.1.1")
	e.expectApprovalIsAwaited("1.1.1")
	e.expect("1.1.1", "1.1.1", "1.0.0")
	e.expectPullRequests("staging to 1.1.0: merged", "staging to 1.1.1: merged")
	e.untilPublished("1.2.0")
}

// untilPublished pushes a version that is not published yet. The first environment does not become healthy until it is.
func (e *estate) untilPublished(version string) {
	e.Helper()
	e.push(version)
	p := e.until("app", "unsettled", func(p *pipelines.Pipeline) bool {
		return strings.Contains(holdIn(p, "dev", pipelines.HoldUnsettled), "HelmChart") &&
			meta.IsStatusConditionTrue(p.Status.Conditions, pipelines.ConditionPromotionPending)
	})
	if p.Status.LatestRevision == version {
		e.Errorf("the pipeline carries %s, which does not run anywhere", version)
	}
	e.publish(version)
	e.opened("staging", version)
}

// While the leaf cluster of production is down, the last revision seen there is known, the other environments continue, and production
// follows when it is back.
func leafAway(t *testing.T, l leaves) {
	e := newEstate(t, l)
	e.carry(e.strategy())
	l.south.Stop(t)
	e.until("app", "without production", func(p *pipelines.Pipeline) bool {
		return meta.IsStatusConditionFalse(p.Status.Conditions, pipelines.ConditionReady)
	})
	e.publish("1.1.0")
	e.push("1.1.0")
	e.mergeInto("staging", "1.1.0")
	p := e.until(
		"app",
		"held at production",
		func(p *pipelines.Pipeline) bool { return holdIn(p, "prod", pipelines.HoldTargetNotReadable) != "" },
	)
	prod := p.Status.Environments["prod"]
	target := prod.Targets[0]
	if target.Ready || target.Revision != "1.0.0" {
		t.Errorf("the target is ready: %t, its revision is %q", target.Ready, target.Revision)
	}
	if target.UnreadableSince == nil || target.Error == "" {
		t.Errorf("the target is unreadable since %v because of %q", target.UnreadableSince, target.Error)
	}
	if prod.Promotion != nil {
		t.Errorf("there is a promotion: %+v", prod.Promotion)
	}
	l.south.Start(t)
	e.expectApprovalIsAwaited("1.1.0")
	e.ask("app", map[string]string{"id": "go", "action": "approve", "environment": "prod", "revision": "1.1.0", "by": "ann"})
	e.mergeInto("prod", "1.1.0")
	done := e.untilComplete("app", "1.1.0")
	if !meta.IsStatusConditionTrue(done.Status.Conditions, pipelines.ConditionReady) {
		t.Errorf("the conditions are %+v", done.Status.Conditions)
	}
	e.expect("1.1.0", "1.1.0", "1.1.0")
	e.expectPullRequests("staging to 1.1.0: merged", "prod to 1.1.0: merged")
}

// A rollback in production has a reason: the version is not promoted again. The next one is.
func wentBack(t *testing.T, l leaves) {
	t.Parallel()
	e := newEstate(t, l)
	e.carry(e.strategy())
	e.publish("1.1.0")
	e.push("1.1.0")
	e.mergeInto("staging", "1.1.0")
	e.expectApprovalIsAwaited("1.1.0")
	e.ask("app", map[string]string{"id": "go", "action": "approve", "environment": "prod", "revision": "1.1.0", "by": "ann"})
	e.mergeInto("prod", "1.1.0")
	e.untilComplete("app", "1.1.0")

	e.repository.Commit(t, "main", map[string]string{file("prod"): e.manifest("prod", "1.0.0")})
	e.untilState("app", "prod", "1.1.0", pipelines.PromotionRolledBack)
	e.places["prod"].untilReleased(t, "1.0.0")
	p := e.until("app", "held", func(p *pipelines.Pipeline) bool {
		return holdIn(p, "prod", pipelines.HoldRolledBack) != "" && p.Status.Environments["prod"].Targets[0].Ready
	})
	if meta.IsStatusConditionTrue(p.Status.Conditions, pipelines.ConditionReconciling) ||
		!meta.IsStatusConditionTrue(p.Status.Conditions, pipelines.ConditionStalled) {
		t.Errorf("the conditions are %+v", p.Status.Conditions)
	}
	e.expect("1.1.0", "1.1.0", "1.0.0")
	e.expectPullRequests("staging to 1.1.0: merged", "prod to 1.1.0: merged")

	// A user deploys the next version to staging by hand, although there is a pull request for it. The promotion continues from there; the
	// pull request is left to users.
	e.publish("1.2.0")
	e.push("1.2.0")
	moot := e.opened("staging", "1.2.0")
	e.repository.Commit(t, "main", map[string]string{file("staging"): e.manifest("staging", "1.2.0")})
	e.expectApprovalIsAwaited("1.2.0")
	e.expect("1.2.0", "1.2.0", "1.0.0")
	e.repository.Close(t, moot.Number)
	e.untilState("app", "staging", "1.2.0", pipelines.PromotionComplete)
	e.expectPullRequests("staging to 1.1.0: merged", "prod to 1.1.0: merged", "staging to 1.2.0: closed")
}
