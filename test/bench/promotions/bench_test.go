// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"fmt"
	"testing"
	"time"

	"espalier.dev/internal/testkit/measure"
)

// BenchmarkPipelines measures a few pipelines alone, as many among all the others, all of them at once, all of them at rest, and a start of
// the controller with all of them.
func BenchmarkPipelines(b *testing.B) {
	for b.Loop() {
		few := *clustersFlag // so few already have all connections and watches
		if *pipelinesFlag < 2*few {
			b.Fatalf("-pipelines must be at least %d: twice as many as -clusters", 2*few)
		}
		s := newStand(b, *clustersFlag, 2)
		s.run()
		s.create(numbers(0, few))
		small := s.restart()
		alone := s.closely(numbers(0, few), *roundsFlag)
		s.create(numbers(few, *pipelinesFlag))
		among := s.closely(numbers(few, 2*few), *roundsFlag) // others, whose statuses have as little history as those of the first
		b.Logf("%d pipelines alone: %s\nas many among %d: %s", few, alone, *pipelinesFlag, among)
		b.ReportMetric(milliseconds(median(among.reactions)), "ms/decision")
		b.ReportMetric(milliseconds(among.cpu()), "cpu-ms/event")
		b.ReportMetric(float64(among.cpu())/float64(alone.cpu()), "x-cpu")
		b.ReportMetric(among.passes()/alone.passes(), "x-passes")
		b.ReportMetric(float64(s.watches()), "leaf-watches")
		reportAll(b, s)
		reportIdle(b, s)
		large := s.restart()
		b.Logf("start with %d pipelines: %s\nstart with %d: %s", few, small, *pipelinesFlag, large)
		b.ReportMetric((large.memory-small.memory)*1024/float64(*pipelinesFlag-few), "KiB/pipeline")
		b.ReportMetric(float64(large.cost.total()-small.cost.total()), "more-requests/start")
		b.ReportMetric(float64(large.cost.writes()), "writes/start")
	}
}

// reportAll promotes a revision through all pipelines at once.
func reportAll(b *testing.B, s *stand) {
	b.Helper()
	count := float64(*pipelinesFlag)
	promotions := count * float64(len(environments)-1)
	before, used, events := s.served(), s.controllers.Usage(b), s.received.Load()
	r := s.walk(numbers(0, *pipelinesFlag))
	s.settle()
	cost, usage := s.served().minus(before), s.controllers.Usage(b).Minus(used)
	b.Logf("a revision in all %d pipelines: first writes %s, last decision after %s; then promoted twice, with %d events sent:\n%s",
		*pipelinesFlag, r.writes, r.all, s.received.Load()-events, cost)
	b.ReportMetric(r.all.Seconds(), "s/all")
	b.ReportMetric(r.all.Seconds()/r.writes.Seconds(), "x-writes")
	b.ReportMetric(milliseconds(quantile(r.single, 0.95)), "p95-ms/all")
	b.ReportMetric(float64(cost.total())/promotions, "requests/promotion")
	b.ReportMetric(float64(cost.writes())/promotions, "writes/promotion")
	b.ReportMetric(float64(cost.leaves.Total())/promotions, "leaf-requests/promotion")
	b.ReportMetric(float64(usage.Passes)/(count*float64(len(environments))), "passes/event")
}

func reportIdle(b *testing.B, s *stand) {
	b.Helper()
	cost, usage := s.idle(*idleFlag)
	if cost.total() > 0 {
		b.Logf("while idle:\n%s", cost)
	}
	b.ReportMetric(float64(cost.total()), "idle-requests")
	b.ReportMetric(float64(cost.writes()), "idle-writes")
	b.ReportMetric(float64(usage.Passes), "idle-passes")
}

// start is the cost of a start of the controller.
type start struct {
	cost   traffic
	memory float64 // MiB, when it is idle
	usage  measure.Usage
}

func (s start) String() string {
	return fmt.Sprintf("%.1f MiB, %s, %d passes\n%s", s.memory, s.usage.CPU, s.usage.Passes, s.cost)
}

// restart stops the controller and starts it again.
func (s *stand) restart() start {
	s.Helper()
	s.controllers.Stop(s)
	s.settle()
	before := s.served()
	s.run()
	for s.watches() < s.expectedWatches() {
		s.pass(100 * time.Millisecond)
	}
	s.settle()
	return start{cost: s.served().minus(before), memory: s.controllers.Memory(s), usage: s.controllers.Usage(s)}
}

// expectedWatches is one for each cluster and kind.
func (s *stand) expectedWatches() int { return s.clusters * len(kinds) }

// closeness is the cost of a few pipelines.
type closeness struct {
	events    int // revisions that appeared somewhere
	reactions []time.Duration
	usage     measure.Usage
	cost      traffic
}

func (c closeness) cpu() time.Duration { return c.usage.CPU / time.Duration(c.events) }

func (c closeness) passes() float64 { return float64(c.usage.Passes) / float64(c.events) }

func (c closeness) String() string {
	return fmt.Sprintf("%d events, decision after %s (p95 %s), CPU %s and %.1f passes for each event\n%s",
		c.events, median(c.reactions), quantile(c.reactions, 0.95), c.cpu(), c.passes(), c.cost)
}

// closely promotes new revisions through a few pipelines, one after the other.
func (s *stand) closely(members []int, rounds int) closeness {
	s.Helper()
	for _, number := range members {
		s.walk([]int{number}) // so that all one-time work is done
	}
	s.settle()
	before, used := s.served(), s.controllers.Usage(s)
	var c closeness
	for range rounds {
		for _, number := range members {
			c.reactions = append(c.reactions, s.walk([]int{number}).single...)
			c.events += len(environments)
		}
	}
	s.settle()
	c.usage, c.cost = s.controllers.Usage(s).Minus(used), s.served().minus(before)
	return c
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
