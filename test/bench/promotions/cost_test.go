// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"testing"
	"time"
)

const (
	// writesPerPromotion is the budget of a promotion by notification, half of its run included: statuses and Events.
	writesPerPromotion = 8
	// readsPerWave is how often the Alerts may be listed for all promotions that happen at once.
	readsPerWave = 2
	// readsPerCluster is how often at most the objects that lead to a cluster are read until it is connected.
	readsPerCluster = 10
)

// TestCost does with a handful of pipelines what the benchmark does with many, and checks what does not depend on the machine.
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
	if cost, _ := s.idle(3 * time.Second); cost.total() > 0 {
		t.Errorf("requests while nothing happened:\n%s", cost)
	}
	again := s.restart().cost
	if again.writes() > 0 {
		t.Errorf("a start with nothing to do wrote:\n%s", again)
	}
	if lists := again.leaves.Total(); lists > 2*clusters*len(kinds) || again.host.Total() > readsPerCluster*clusters {
		t.Errorf("a start caused more than a few reads for each cluster:\n%s", again)
	}
}
