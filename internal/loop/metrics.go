// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// These are the outcomes of a pass, as in the metric.
const (
	outcomeSettled  = "settled"
	outcomeWaiting  = "waiting"
	outcomeFailed   = "failed"
	outcomeRetry    = "retry"
	outcomeConflict = "conflict"
)

var (
	passes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "espalier_loop_passes_total",
		Help: "Passes over objects of a kind by outcome: settled, waiting, failed, retry or conflict.",
	}, []string{"kind", "outcome"})
	statusWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "espalier_loop_status_writes_total",
		Help: "Status writes to objects of a kind.",
	}, []string{"kind"})
)

func init() { metrics.Registry.MustRegister(passes, statusWrites) }

func (l *Loop[T, O, P, E]) count(outcome string) { passes.WithLabelValues(l.Name, outcome).Inc() }

func (l *Loop[T, O, P, E]) countWrite() { statusWrites.WithLabelValues(l.Name).Inc() }
