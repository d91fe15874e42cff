// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// A revision moves from environment to environment, each time it is healthy in the previous one; and so does the next revision.
func TestPIP01_PIP11_ARevisionReachesAllEnvironments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.places(3)
	for _, place := range at {
		w.deploy(w.Client(), place, "1.0.0", true)
	}
	w.Create(testkit.Pipeline(w.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", at[0]).Environment("staging", at[1]).Environment("prod", at[2]).Notification().Build())
	w.until("p", "complete at 1.0.0", func(p *pipelines.Pipeline) bool {
		return p.Status.Run != nil && p.Status.Run.Revision == "1.0.0" && p.Status.Run.CompletionTime != nil
	})
	if got := w.promoteEvents("p"); len(got) > 0 {
		t.Fatalf("nothing was to be promoted, but: %v", got)
	}
	var want []string
	for run, revision := range []string{"1.1.0", "1.2.0"} {
		w.deploy(w.Client(), at[0], revision, true)
		for i, environment := range []string{"staging", "prod"} {
			w.untilState("p", environment, revision, pipelines.PromotionSucceeded)
			want = append(want, fmt.Sprintf("Promote pipeline %s/p to %s with version %s", w.Namespace, environment, revision))
			w.deploy(w.Client(), at[i+1], revision, true)
			w.untilState("p", environment, revision, pipelines.PromotionComplete)
		}
		done := w.until("p", "complete at "+revision, func(p *pipelines.Pipeline) bool {
			return p.Status.Run.Revision == revision && p.Status.Run.CompletionTime != nil
		})
		if done.Status.Run.Number != int64(run+2) || len(done.Status.Holds) > 0 {
			t.Errorf("run %d, holds %+v", done.Status.Run.Number, done.Status.Holds)
		}
	}
	if diff := cmp.Diff(sorted(want), w.promoteEvents("p")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Helm rolled back to the previous version: the promotion is over, and is not repeated automatically.
func TestPIP20_ARemediationIsReportedAndNotRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, at := w.twoEnvironments()
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	w.write(w.Client(), at[1], map[string]any{
		"history": []any{
			map[string]any{"chartVersion": "1.1.0", "status": "failed", "version": int64(2)},
			map[string]any{"chartVersion": "1.0.0", "status": "deployed", "version": int64(1)},
		},
		"lastAttemptedRevision": "1.1.0",
	}, "False", "UpgradeFailed")
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionStalled)
	if !held(p, "prod", pipelines.HoldRolledBack) {
		t.Errorf("holds %+v", p.Status.Holds)
	}
	w.deploy(w.Client(), at[1], "1.0.0", true)
	w.until("p", "healthy at 1.0.0 again", func(p *pipelines.Pipeline) bool {
		return p.Status.Environments["prod"].Healthy != nil && p.Status.Environments["prod"].Healthy.Revision == "1.0.0" &&
			held(p, "prod", pipelines.HoldRolledBack)
	})
	if got := w.promoteEvents("p"); len(got) != 1 {
		t.Errorf("promoted %d times: %v", len(got), got)
	}
}
