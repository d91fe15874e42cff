// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"testing"
	"time"

	"espalier.dev/internal/testkit"
)

const (
	// writesPerPromotion is the budget of a promotion by notification, including half of its run: statuses and Events.
	writesPerPromotion = 8
	// readsPerWave is how often the Alerts may be listed for all simultaneous promotions.
	readsPerWave = 2
	// readsPerCluster is the maximum number of reads of a cluster's objects until it is connected.
	readsPerCluster = 10
)

// TestCost runs the benchmark with a handful of pipelines, and checks what does not depend on the machine.
func TestCost(t *testing.T) {
	const clusters, half = 3, 6
	s := newStand(t, clusters, 1)
	s.run()
	s.create(numbers(0, half))
	s.create(numbers(half, 2*half))
	if got, want := s.watches(), clusters*len(kinds); got != want {
		t.Errorf("%d watches, want one for each of %d clusters and %d kinds", got, clusters, len(kinds))
	}
	before := s.served()
	s.walk(numbers(0, 2*half))
	s.settle()
	cost, promotions := s.served().minus(before), 2*half*(len(environments)-1)
	if cost.leaves.Total() > 0 {
		t.Errorf("%d promotions caused requests at the leaves:\n%s", promotions, cost)
	}
	if reads := cost.total() - cost.writes(); reads > readsPerWave*(len(environments)-1) {
		t.Errorf("%d promotions in two waves caused %d reads:\n%s", promotions, reads, cost)
	}
	if cost.writes() > writesPerPromotion*promotions {
		t.Errorf("%d promotions caused more than %d writes each:\n%s", promotions, writesPerPromotion, cost)
	}
	s.comesToRest(t)
	again := s.restart().cost
	if again.writes() > 0 {
		t.Errorf("a start with nothing to do wrote:\n%s", again)
	}
	if lists := again.leaves.Total(); lists > 2*clusters*len(kinds) || again.host.Total() > readsPerCluster*clusters {
		t.Errorf("a start caused more than a few reads for each cluster:\n%s", again)
	}
}

// comesToRest waits until there are no requests for a while. On a slow machine, some of them come late.
func (s *stand) comesToRest(t *testing.T) {
	t.Helper()
	for began := time.Now(); ; s.settle() {
		cost, _ := s.idle(3 * time.Second)
		if cost.total() == 0 {
			return
		}
		if time.Since(began) > testkit.Patience {
			t.Fatalf("requests while nothing happened:\n%s", cost)
		}
	}
}
