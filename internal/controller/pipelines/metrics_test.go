// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
)

// strategyOfTest is a strategy that no pipeline has, so that its counters start at zero.
const strategyOfTest = "strategy-of-test"

func TestAnnouncedTransitionsCount(t *testing.T) {
	to := func(from, to pipelines.PromotionState) pipeline.News {
		news := promotionNews("prod", from, to)
		news.Strategy = strategyOfTest
		return news
	}
	announce(testkit.Pipeline("shop", "cart").Build(),
		to("", pipelines.PromotionUnapproved),
		to(pipelines.PromotionUnapproved, pipelines.PromotionUnapproved), // the first of two approvals
		to(pipelines.PromotionUnapproved, pipelines.PromotionUnattempted),
		to(pipelines.PromotionUnattempted, pipelines.PromotionAttempting),
		to(pipelines.PromotionAttempting, pipelines.PromotionFailed),
		to(pipelines.PromotionFailed, pipelines.PromotionAttempting),
		pipeline.News{Reason: "RequestRefused", Message: "too late", Environment: "prod", Strategy: strategyOfTest},
	)
	want := map[string]float64{"Unapproved": 1, "Unattempted": 1, "Attempting": 2, "Failed": 1}
	if diff := cmp.Diff(want, promotionsOfTest(t)); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
}

func TestACompletedRunHasALeadTime(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	runs, seconds := leadTimes(t)
	p := testkit.Pipeline("shop", "cart").Build()
	completed := pipeline.News{Reason: pipeline.NewsRunCompleted, Message: "run 1"}
	announce(p, completed)
	p.Status.Run = &pipelines.Run{Number: 1, StartTime: metav1.NewTime(begun)}
	announce(p, completed)
	end := metav1.NewTime(begun.Add(90 * time.Second))
	p.Status.Run.CompletionTime = &end
	announce(p, pipeline.News{Reason: "RunStarted", Message: "run 1"}, completed)
	runsNow, secondsNow := leadTimes(t)
	if runsNow-runs != 1 || secondsNow-seconds != 90 {
		t.Errorf("%d runs with %g seconds are counted, want one with 90", runsNow-runs, secondsNow-seconds)
	}
}

// announce announces news of a pipeline, to nobody but the metrics.
func announce(p *pipelines.Pipeline, news ...pipeline.News) {
	(&kind{events: &events.FakeRecorder{}}).tell(p, news)
}

// promotionsOfTest returns the counters of the strategy of the test, as they are served, by state.
func promotionsOfTest(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "espalier_pipeline_promotions_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["strategy"] == strategyOfTest {
				counted[labels["state"]] = metric.GetCounter().GetValue()
			}
		}
	}
	return counted
}

// leadTimes returns how many runs have a lead time, and the sum of these, as they are served.
func leadTimes(t *testing.T) (runs uint64, seconds float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "espalier_pipeline_lead_time_seconds" {
			h := family.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), h.GetSampleSum()
		}
	}
	t.Fatal("no lead times are served")
	return 0, 0
}
