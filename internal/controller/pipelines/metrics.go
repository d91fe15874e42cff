// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

var (
	transitions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "espalier_pipeline_promotions_total",
		Help: "Promotions that reached a state, by strategy and state.",
	}, []string{"strategy", "state"})
	leadTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "espalier_pipeline_lead_time_seconds",
		Help:    "Time from the first environment settling on a revision until the last one was healthy at it.",
		Buckets: []float64{10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600},
	})
)

func init() {
	metrics.Registry.MustRegister(transitions, leadTime)
	// Counters start at zero, so that the first event counts as an increase.
	for _, strategy := range []pipelines.StrategyName{
		pipelines.StrategyPullRequest, pipelines.StrategyNotification, pipelines.StrategyInstallation,
	} {
		for _, state := range []pipelines.PromotionState{pipelines.PromotionComplete, pipelines.PromotionFailed} {
			transitions.WithLabelValues(string(strategy), string(state))
		}
	}
}

// count updates the metrics for an announced transition. A request that is accepted may leave the promotion in its state: the first of two
// approvals does.
func count(p *pipelines.Pipeline, n pipeline.News) {
	if n.To != n.From {
		transitions.WithLabelValues(string(n.Strategy), string(n.To)).Inc()
	}
	if run := p.Status.Run; n.Reason == pipeline.NewsRunCompleted && run != nil && run.CompletionTime != nil {
		leadTime.Observe(run.CompletionTime.Sub(run.StartTime.Time).Seconds())
	}
}
