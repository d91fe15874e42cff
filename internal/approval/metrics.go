// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var calls = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "espalier_webhook_calls_total",
	Help: "Calls of the approval server by endpoint (approval, promotion, webhook or other) and status code of the answer.",
}, []string{"endpoint", "code"})

func init() { metrics.Registry.MustRegister(calls) }

// countedWriter records the status code of the response.
type countedWriter struct {
	http.ResponseWriter
	code int
}

func (w *countedWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap exposes the server's own writer, which must be notified of bodies that are too large.
func (w *countedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *countedWriter) count(endpoint string) {
	if endpoints[endpoint] == nil {
		endpoint = "other" // Callers must not create labels.
	}
	calls.WithLabelValues(endpoint, strconv.Itoa(w.code)).Inc()
}
