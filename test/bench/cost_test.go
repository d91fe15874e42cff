// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/measure"
)

// requestsOfARoot and requestsOfADeletion are the most that docs/performance.md says: the figures of BenchmarkOne.
var requestsOfARoot = map[lsv1alpha1.Flow]int{lsv1alpha1.FlowJob: 14, lsv1alpha1.FlowContinuous: 12}

const requestsOfADeletion = 17

// TestCost counts what BenchmarkOne counts, with the controllers in this process. Of a few roots, the cheapest counts: on a busy machine,
// some take longer than two seconds, and then report that they wait.
func TestCost(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) {
			s := newServer(t, flow)
			managed.Run(t, s.server.Config(), managed.Options())
			s.create(t, []string{"first"}) // discovers the target cluster
			s.settle(t)
			var created, deleted measure.Requests
			for _, name := range names("one", 3) {
				before := s.served(t)
				s.create(t, []string{name})
				s.settle(t)
				between := s.served(t)
				s.remove(t, []string{name})
				s.settle(t)
				created = cheaper(created, between.Minus(before))
				deleted = cheaper(deleted, s.served(t).Minus(between))
			}
			if got, most := created.Total(), requestsOfARoot[flow]; got > most {
				t.Errorf("a root took %d requests, more than the %d of docs/performance.md:\n%s", got, most, created)
			}
			if got := deleted.Total(); got > requestsOfADeletion {
				t.Errorf("its deletion took %d requests, more than the %d of docs/performance.md:\n%s", got, requestsOfADeletion, deleted)
			}
		})
	}
}

func cheaper(a, b measure.Requests) measure.Requests {
	if a == nil || b.Total() < a.Total() {
		return b
	}
	return a
}
