// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
)

// twoEnvironments is a pipeline whose first environment runs 1.1.0 and whose second runs 1.0.0.
func (w *world) twoEnvironments() (builder *testkit.PipelineBuilder, at []string) {
	w.Helper()
	at = w.places(2)
	w.deploy(w.Client(), at[0], "1.1.0", true)
	w.deploy(w.Client(), at[1], "1.0.0", true)
	return testkit.Pipeline(w.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).Notification(), at
}

// ask annotates the pipeline with a request, as the command line does.
func (w *world) ask(p *pipelines.Pipeline, request map[string]any) {
	w.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		w.Fatal(err)
	}
	w.annotate(p, pipeline.RequestAnnotationPrefix+pipeline.AnnotationSuffix(request["environment"].(string)), string(text))
}

func (w *world) annotate(p *pipelines.Pipeline, name, value string) {
	w.Helper()
	before := p.DeepCopy()
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[name] = value
	if value == "" {
		delete(p.Annotations, name)
	}
	if err := w.Client().Patch(w.Context(), p, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func TestPIP25_NothingHappensBeforeTheApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, _ := w.twoEnvironments()
	w.Create(builder.Manual().Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionUnapproved)
	if p.Status.Environments["prod"].WaitingApproval.Revision != "1.1.0" || !held(p, "prod", pipelines.HoldWaitingForApproval) {
		t.Errorf("marker %+v, holds %+v", p.Status.Environments["prod"].WaitingApproval, p.Status.Holds)
	}
	if got := w.promoteEvents("p"); len(got) > 0 {
		t.Fatalf("promoted without approval: %v", got)
	}
	w.ask(p, map[string]any{
		"id":          "a",
		"action":      "approve",
		"environment": "prod",
		"revision":    "1.0.9",
		"by":          "eve",
		"time":        time.Now().UTC().Format(time.RFC3339),
	})
	p = w.until("p", "refused", func(p *pipelines.Pipeline) bool { return len(p.Status.Requests) == 1 })
	if p.Status.Requests[0].Accepted {
		t.Error("an approval of another revision was accepted")
	}
	w.ask(p, map[string]any{
		"id":          "b",
		"action":      "approve",
		"environment": "prod",
		"revision":    "1.1.0",
		"by":          "ann",
		"message":     "go",
		"time":        time.Now().UTC().Format(time.RFC3339),
	})
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	approval := p.Status.Environments["prod"].Promotion.Approval
	want := &pipelines.Approval{By: "ann", Decision: pipelines.DecisionApproved, Method: pipelines.ApprovalKubernetesAPI, Message: "go"}
	if diff := cmp.Diff(want, approval, cmpopts.IgnoreFields(pipelines.Approval{}, "Time")); diff != "" {
		t.Errorf("the approval:\n%s", diff)
	}
	if p.Status.Environments["prod"].WaitingApproval.Revision != "" {
		t.Error("the marker is still there")
	}
	w.until("p", "answered", func(p *pipelines.Pipeline) bool {
		for name := range p.Annotations {
			if strings.HasPrefix(name, pipeline.RequestAnnotationPrefix) {
				return false
			}
		}
		return true
	})
	if got := w.promoteEvents("p"); len(got) != 1 {
		t.Errorf("events: %v", got)
	}
}

func TestPIP25_ARejectedRevisionStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, at := w.twoEnvironments()
	w.Create(builder.Manual().Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionUnapproved)
	w.ask(p, map[string]any{
		"id":          "a",
		"action":      "reject",
		"environment": "prod",
		"revision":    "1.1.0",
		"by":          "ann",
		"message":     "too risky",
		"time":        time.Now().UTC().Format(time.RFC3339),
	})
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionRejected)
	if !held(p, "prod", pipelines.HoldRejected) {
		t.Errorf("holds %+v", p.Status.Holds)
	}
	w.deploy(w.Client(), at[0], "1.2.0", true)
	w.untilState("p", "prod", "1.2.0", pipelines.PromotionUnapproved)
	if got := w.promoteEvents("p"); len(got) > 0 {
		t.Errorf("promoted: %v", got)
	}
}

func TestPIP28_GatesHoldAndSaySo(t *testing.T) {
	t.Parallel()
	shut := []pipelines.Window{{Kind: pipelines.WindowDeny, Schedule: "* * * * *", Duration: "1h"}}
	gates := map[string]struct {
		close, open func(*pipelines.Pipeline)
		environment string
		reason      pipelines.HoldReason
		until       bool
	}{
		"suspend": {
			close:  func(p *pipelines.Pipeline) { p.Spec.Suspend = true },
			open:   func(p *pipelines.Pipeline) { p.Spec.Suspend = false },
			reason: pipelines.HoldSuspended,
		},
		"soak": {
			close:       func(p *pipelines.Pipeline) { p.Spec.Environments[0].MinHealthy = "10h" },
			open:        func(p *pipelines.Pipeline) { p.Spec.Environments[0].MinHealthy = "" },
			environment: "prod", reason: pipelines.HoldSoaking, until: true,
		},
		"window": {
			close:       func(p *pipelines.Pipeline) { p.Spec.Environments[1].Windows = shut },
			open:        func(p *pipelines.Pipeline) { p.Spec.Environments[1].Windows = nil },
			environment: "prod", reason: pipelines.HoldOutsideWindow,
		},
		"hold": {
			close: func(p *pipelines.Pipeline) {
				p.Annotations = map[string]string{
					pipeline.HoldAnnotationPrefix + pipeline.AnnotationSuffix("prod"): `{"environment":"prod","by":"ann","message":"fair","time":"2026-01-01T00:00:00Z"}`,
				}
			},
			open:        func(p *pipelines.Pipeline) { p.Annotations = nil },
			environment: "prod", reason: pipelines.HoldHeld,
		},
	}
	for name, gate := range gates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			builder, _ := w.twoEnvironments()
			p := builder.Build()
			gate.close(p)
			w.Create(p)
			p = w.until("p", "held for "+string(gate.reason), func(p *pipelines.Pipeline) bool { return held(p, gate.environment, gate.reason) })
			for _, hold := range p.Status.Holds {
				if hold.Reason == gate.reason && (hold.Message == "" || hold.Since.IsZero() || gate.until && hold.Until == nil) {
					t.Errorf("the hold does not say enough: %+v", hold)
				}
			}
			if got := w.promoteEvents("p"); len(got) > 0 {
				t.Fatalf("promoted through a closed gate: %v", got)
			}
			before := p.DeepCopy()
			gate.open(p)
			if err := w.Client().Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
		})
	}
}
