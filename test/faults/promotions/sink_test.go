// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/test/faults/promotions/invariant"
)

// newSink receives events as Flux's notification-controller does: it accepts an event with a new token, and answers 429 to a repetition.
func (s *scene) newSink(t *testing.T, plan []outsideFault) (*front, string) {
	t.Helper()
	seen := map[string]bool{}
	var taken *invariant.Entry
	f := &front{place: "sink", operationOf: func(*http.Request) string { return "event" }, plan: plan}
	f.inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // one at a time: see front
		var event struct{ Metadata map[string]string }
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			t.Errorf("an event cannot be read: %v", err)
		}
		value := func(name string) string { return event.Metadata[pipelines.GroupName+"/"+name] }
		if taken = nil; seen[value("token")] {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		seen[value("token")] = true
		taken = &invariant.Entry{
			Event:       invariant.Accepted,
			Environment: value("environment"),
			Key:         value("promotion-id"),
			Revision:    value("revision"),
		}
		w.WriteHeader(http.StatusAccepted)
	})
	f.executed = func(string, *httptest.ResponseRecorder) {
		if taken != nil {
			s.ledger.add(*taken)
		}
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}
