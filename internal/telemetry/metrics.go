// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// buckets range from jobs that render a ConfigMap to those that create a cluster.
var buckets = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}

var (
	jobDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "espalier_job_duration_seconds",
		Help: "Time from the request of a job of a root installation until the whole tree has finished, by result: " +
			"Succeeded, Failed, Deleted, DeleteFailed or Aborted. Updates of the continuous flow count as jobs.",
		Buckets: buckets,
	}, []string{"result"})
	jobPhase = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "espalier_job_phase_seconds",
		Help: "Time that single objects spent in a phase of a job, by kind: queued until work on them started, working until their own " +
			"part was done, waiting for what is below them or for readiness.",
		Buckets: buckets,
	}, []string{"kind", "phase"})
	deployItemDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "espalier_deployitem_duration_seconds",
		Help: "Time from the moment a deploy item got its job until it ended, by result and by the deployer that ended it; " +
			"deployitems stands for the watchdog, which ends those that time out.",
		Buckets: buckets,
	}, []string{"deployer", "result"})
)

func init() {
	metrics.Registry.MustRegister(jobDuration, jobPhase, deployItemDuration, states)
	// Series start at zero, so that the first event counts as an increase.
	for _, result := range []lsv1alpha1.Phase{lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed} {
		jobDuration.WithLabelValues(string(result))
	}
	deployItemDuration.WithLabelValues(watchdog, string(lsv1alpha1.PhaseFailed))
}

// watchdog is the name of the controller that ends deploy items that time out.
const watchdog = "deployitems"

var histograms = map[Histogram]*prometheus.HistogramVec{
	JobDuration: jobDuration, JobPhase: jobPhase, DeployItemDuration: deployItemDuration,
}

// Record records runs that have ended. It never blocks.
func Record(runs ...Run) {
	for _, r := range runs {
		for _, m := range r.Measures() {
			histograms[m.Histogram].WithLabelValues(m.Labels...).Observe(m.Seconds)
		}
		trace(r)
	}
}
