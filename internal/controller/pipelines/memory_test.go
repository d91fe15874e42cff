// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// onOtherProviders runs a test at each Git server that keeps pull requests in its own way.
func onOtherProviders(t *testing.T, test func(*testing.T, pipelines.GitProviderType)) {
	t.Parallel()
	for _, kind := range []pipelines.GitProviderType{pipelines.GitProviderBitbucketServer, pipelines.GitProviderAzureDevOps} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// proposeTwice makes a new pipeline open a pull request, and then replace it by one for a later revision.
func (h *hub) proposeTwice() {
	h.w.Helper()
	builder, at := h.pipeline()
	h.w.Create(builder.Build())
	h.w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	h.w.deploy(h.w.Client(), at[0], "1.2.0", true)
	h.w.untilState("p", "prod", "1.2.0", pipelines.PromotionCreated)
}

// proposeInVain makes a new pipeline open a pull request, which a user closes.
func (h *hub) proposeInVain() {
	h.w.Helper()
	builder, _ := h.pipeline()
	h.w.Create(builder.Build())
	h.w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	h.close(1)
	h.w.untilState("p", "prod", "1.1.0", pipelines.PromotionAbandoned)
}

// wipe clears the status of a pipeline, as restoring it from a backup without status does.
func (w *world) wipe(name string) {
	w.Helper()
	w.restore(name, pipelines.PipelineStatus{})
}

// restore replaces the status of a pipeline.
func (w *world) restore(name string, status pipelines.PipelineStatus) {
	w.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		if err := w.Client().Get(w.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		p.Status = status
		return w.Client().Status().Update(w.Context(), p)
	})
	if err != nil {
		w.Fatal(err)
	}
}

// A pull request that a user has closed stays closed if the pipeline is restored without its status, even where the listings used to
// follow pull requests show only open ones, or truncate the text that says which pipeline they belong to.
func TestPIP20_WhatPeopleHaveClosedStaysClosedWhenTheStatusIsLost(t *testing.T) {
	onOtherProviders(t, func(t *testing.T, kind pipelines.GitProviderType) {
		w := idleWorld(t)
		h := w.newHub(kind)
		stop := w.Manage()
		h.proposeTwice()
		h.close(2)
		w.untilState("p", "prod", "1.2.0", pipelines.PromotionAbandoned)
		stop()
		w.wipe("p")
		w.Manage()
		p := w.until("p", "a promotion that is begun or held", func(p *pipelines.Pipeline) bool {
			promotion := p.Status.Environments["prod"].Promotion
			return promotion != nil && (promotion.State == pipelines.PromotionAbandoned || promotion.State == pipelines.PromotionCreated)
		})
		if !held(p, "prod", pipelines.HoldAbandoned) {
			t.Errorf("holds %+v", p.Status.Holds)
		}
		h.expect(t, "closed", "closed")
	})
}

// The status is lost while the controller runs: it does not trust an earlier listing, which lacks what was opened since.
func TestPIP20_AStatusThatIsLostWhileTheControllerRunsOpensNoSecondPullRequest(t *testing.T) {
	onOtherProviders(t, func(t *testing.T, kind pipelines.GitProviderType) {
		w := newWorld(t)
		h := w.newHub(kind)
		h.proposeTwice()
		h.expect(t, "closed", "open")
		w.wipe("p")
		p := w.untilState("p", "prod", "1.2.0", pipelines.PromotionCreated)
		if number := p.Status.Environments["prod"].Promotion.PullRequest.Number; number != 2 || p.Status.Run.Number != 2 {
			t.Errorf("pull request %d of run %d", number, p.Status.Run.Number)
		}
		h.expect(t, "closed", "open")
		h.merge(2)
		w.untilState("p", "prod", "1.2.0", pipelines.PromotionSucceeded)
	})
}

// An old status is restored while the controller runs. It counts other runs than those for which pull requests were opened since; the open
// one for the revision is taken up nevertheless.
func TestPIP20_AnOldStatusThatIsRestoredOpensNoSecondPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.newHub(pipelines.GitProviderAzureDevOps)
	builder, at := h.pipeline()
	w.Create(builder.Build())
	old := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	for _, revision := range []string{"1.2.0", "1.3.0"} {
		w.deploy(w.Client(), at[0], revision, true)
		w.untilState("p", "prod", revision, pipelines.PromotionCreated)
	}
	h.expect(t, "closed", "closed", "open")
	w.restore("p", old.Status)
	p := w.untilState("p", "prod", "1.3.0", pipelines.PromotionCreated)
	if promotion := p.Status.Environments["prod"].Promotion; promotion.PullRequest.Number != 3 || promotion.Run != 2 {
		t.Errorf("the promotion is %+v with %+v", promotion, promotion.PullRequest)
	}
	h.expect(t, "closed", "closed", "open")
	w.deploy(w.Client(), at[0], "1.4.0", true)
	w.untilState("p", "prod", "1.4.0", pipelines.PromotionCreated)
	h.expect(t, "closed", "closed", "closed", "open")
	if branches := h.repository.Branches(); len(branches) != 2 {
		t.Errorf("branches %v", branches)
	}
}

// An old status is restored after users have closed the pull request for the latest revision. The status does not know that run; the
// revision stays rejected nevertheless, until a user requests a retry.
func TestPIP20_WhatPeopleHaveClosedStaysClosedWhenAnOldStatusIsRestored(t *testing.T) {
	onOtherProviders(t, func(t *testing.T, kind pipelines.GitProviderType) {
		w := idleWorld(t)
		h := w.newHub(kind)
		stop := w.Manage()
		builder, at := h.pipeline()
		w.Create(builder.Build())
		old := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
		for _, revision := range []string{"1.2.0", "1.3.0"} {
			w.deploy(w.Client(), at[0], revision, true)
			w.untilState("p", "prod", revision, pipelines.PromotionCreated)
		}
		h.close(3)
		w.untilState("p", "prod", "1.3.0", pipelines.PromotionAbandoned)
		stop()
		w.restore("p", old.Status)
		w.Manage()
		p := w.until("p", "a promotion that is begun or held", func(p *pipelines.Pipeline) bool {
			promotion := p.Status.Environments["prod"].Promotion
			return promotion != nil && promotion.Revision == "1.3.0" &&
				(promotion.State == pipelines.PromotionAbandoned || promotion.State == pipelines.PromotionCreated)
		})
		if promotion := p.Status.Environments["prod"].Promotion; !held(p, "prod", pipelines.HoldAbandoned) || promotion.PullRequest.Number != 3 {
			t.Errorf("the promotion is %+v, holds %+v", promotion, p.Status.Holds)
		}
		h.expect(t, "closed", "closed", "closed")
		w.ask(p, map[string]any{"id": "1", "action": "retry", "environment": "prod", "revision": "1.3.0"})
		w.untilState("p", "prod", "1.3.0", pipelines.PromotionCreated)
		h.expect(t, "closed", "closed", "closed", "open")
	})
}

// The controller concludes nothing from a Git server that does not answer: neither that there are no pull requests, nor which run it is.
func TestPIP20_ALostStatusWaitsForAGitServerThatFails(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"fails": http.StatusServiceUnavailable, "has had enough": http.StatusTooManyRequests} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			h := w.newHub(pipelines.GitProviderBitbucketServer)
			h.proposeTwice()
			h.fail("list", status)
			w.wipe("p")
			p := w.until("p", "held", func(p *pipelines.Pipeline) bool { return held(p, "prod", pipelines.HoldLookingUp) })
			if message := p.Status.Holds[0].Message; !strings.Contains(message, "list pull requests") {
				t.Errorf("the hold does not say why: %s", message)
			}
			if p.Status.Run != nil {
				t.Errorf("run %+v was begun", p.Status.Run)
			}
			if status != http.StatusTooManyRequests { // after 429, the controller would leave the server alone for a minute
				h.fail("list", 0)
				w.untilState("p", "prod", "1.2.0", pipelines.PromotionCreated)
			}
			h.expect(t, "closed", "open")
		})
	}
}

// Anybody can open a pull request from a fork, and copy a description into it.
func TestPIP22_APullRequestFromAForkIsNotTakenForOurs(t *testing.T) {
	onOtherProviders(t, func(t *testing.T, kind pipelines.GitProviderType) {
		w := newWorld(t)
		h := w.newHub(kind)
		h.proposeInVain()
		h.mutex.Lock()
		genuine := *h.pulls[0]
		h.add(hubPull{fork: true, head: genuine.head, base: genuine.base, title: genuine.title, body: genuine.body})
		h.add(hubPull{head: "promotion-of-mine", base: genuine.base, title: genuine.title, body: genuine.body})
		h.mutex.Unlock()
		w.wipe("p")
		p := w.until("p", "recalled", func(p *pipelines.Pipeline) bool { return p.Status.Environments["prod"].Promotion != nil })
		if promotion := p.Status.Environments["prod"].Promotion; promotion.State != pipelines.PromotionAbandoned {
			t.Errorf("the promotion is %+v", promotion)
		}
		h.expect(t, "closed", "open", "open")
	})
}

func TestPIP22_APullRequestThatIsOpenedAgainIsFollowedAgain(t *testing.T) {
	onOtherProviders(t, func(t *testing.T, kind pipelines.GitProviderType) {
		w := idleWorld(t)
		h := w.newHub(kind)
		stop := w.Manage()
		h.proposeInVain()
		h.reopen(1)
		w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
		h.close(1)
		w.untilState("p", "prod", "1.1.0", pipelines.PromotionAbandoned)
		// Another process follows it as well.
		stop()
		w.Manage()
		h.reopen(1)
		w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
		h.merge(1)
		w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
		h.expect(t, "merged")
	})
}
