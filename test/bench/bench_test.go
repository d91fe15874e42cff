// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"slices"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit/measure"
)

const (
	idleTime  = 30 * time.Second
	batchSize = 100
)

// BenchmarkOne measures a root with one deploy item and one object: requests by all controllers together, time from the request to success,
// and requests for its deletion. The first root discovers the target cluster and is not counted.
func BenchmarkOne(b *testing.B) { eachFlow(b, benchmarkOne) }

func benchmarkOne(b *testing.B, flow lsv1alpha1.Flow) {
	s := newStand(b, flow)
	s.create(b, []string{"first"})
	var times []time.Duration
	var created, deleted []int
	for b.Loop() {
		for _, name := range names("one", 7) {
			before := s.served(b)
			times = append(times, s.create(b, []string{name}))
			s.settle(b)
			between := s.served(b)
			s.remove(b, []string{name})
			s.settle(b)
			cost, end := between.Minus(before), s.served(b).Minus(between)
			created, deleted = append(created, cost.Total()), append(deleted, end.Total())
			if name == "one-0000" {
				b.Logf("one installation:\n%s\nits deletion:\n%s", cost, end)
			}
		}
	}
	slices.Sort(times)
	slices.Sort(created)
	slices.Sort(deleted)
	b.ReportMetric(float64(created[len(created)/2]), "requests/installation")
	b.ReportMetric(float64(deleted[len(deleted)/2]), "requests/deleted")
	b.ReportMetric(float64(times[len(times)/2].Milliseconds()), "ms/installation")
}

// BenchmarkRoots measures many roots in one namespace: created, updated, left alone, deleted. The time to create them is compared with the
// replay limit.
func BenchmarkRoots(b *testing.B) { eachFlow(b, benchmarkRoots) }

func benchmarkRoots(b *testing.B, flow lsv1alpha1.Flow) {
	tape := record(b, flow)
	s := newStand(b, flow)
	s.create(b, []string{"first"})
	all, count := names("root", *rootsFlag), float64(*rootsFlag)
	for b.Loop() {
		empty, before := s.controllers.Memory(b), s.served(b)
		created := s.create(b, all)
		full := s.controllers.Memory(b)
		s.settle(b)
		cost := s.served(b).Minus(before)
		b.Logf("%d roots:\n%s", *rootsFlag, cost)
		limit := replay(b, tape, *rootsFlag)
		b.ReportMetric(created.Seconds()/limit.Seconds(), "x-replay")
		b.ReportMetric(count/created.Seconds(), "created/s")
		b.ReportMetric(float64(cost.Total())/count, "requests/created")
		b.ReportMetric((full-empty)*1000/count, "MiB/1000")

		before = s.served(b)
		updated := s.update(b, all)
		s.settle(b)
		cost = s.served(b).Minus(before)
		b.Logf("%d roots once more:\n%s", *rootsFlag, cost)
		b.ReportMetric(count/updated.Seconds(), "updated/s")
		b.ReportMetric(float64(cost.Total())/count, "requests/updated")
		b.ReportMetric(float64(s.idle(b).Writes()), "idle-writes")

		before = s.served(b)
		removed := s.remove(b, all)
		s.settle(b)
		cost = s.served(b).Minus(before)
		b.Logf("%d roots deleted:\n%s", *rootsFlag, cost)
		b.ReportMetric(count/removed.Seconds(), "deleted/s")
		b.ReportMetric(float64(cost.Total())/count, "requests/deleted")
	}
}

// BenchmarkCrowd compares the time of a batch in a namespace with few finished installations and in one with many.
func BenchmarkCrowd(b *testing.B) {
	s := newStand(b, lsv1alpha1.FlowJob)
	for b.Loop() {
		s.create(b, names("few", 10))
		s.create(b, names("warm", batchSize))
		s.remove(b, names("warm", batchSize))
		alone := s.create(b, names("alone", batchSize))
		s.remove(b, names("alone", batchSize))
		for crowd := range slices.Chunk(names("many", *finishedFlag), 5*batchSize) {
			s.create(b, crowd)
		}
		s.settle(b)
		crowded := s.create(b, names("crowded", batchSize))
		b.ReportMetric(crowded.Seconds()/alone.Seconds(), "x-alone")
		b.ReportMetric(float64(crowded.Milliseconds())/batchSize, "ms/installation")
	}
}

// BenchmarkTree measures one root with ten nested installations with ten each.
func BenchmarkTree(b *testing.B) { benchmarkRoot(b, treeBlueprint("tree", 10), 111) }

// BenchmarkChain measures one root with ten siblings, each of which waits for the previous one.
func BenchmarkChain(b *testing.B) { benchmarkRoot(b, chainBlueprint("chain", 10), 11) }

// benchmarkRoot measures a root that consists of size installations, and compares it with as many separate roots.
func benchmarkRoot(b *testing.B, blueprint string, size int) {
	s := newStand(b, lsv1alpha1.FlowJob)
	s.create(b, names("warm", size))
	for b.Loop() {
		before := s.served(b)
		took := s.await(b, []string{"root"}, s.finished(nil), func() {
			check(b, s.client.Create(b.Context(), installation(s.flow, "root", blueprint)))
		})
		s.settle(b)
		cost := s.served(b).Minus(before)
		b.Logf("a root of %d installations:\n%s", size, cost)
		apart := s.create(b, names("apart", size))
		b.ReportMetric(took.Seconds(), "s/root")
		b.ReportMetric(float64(cost.Total())/float64(size), "requests/installation")
		b.ReportMetric(took.Seconds()/apart.Seconds(), "x-apart")
		s.remove(b, []string{"root"})
		s.remove(b, names("apart", size))
	}
}

// eachFlow measures each flow separately.
func eachFlow(b *testing.B, benchmark func(*testing.B, lsv1alpha1.Flow)) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		b.Run(string(flow), func(b *testing.B) { benchmark(b, flow) })
	}
}

// settle returns when events, which are sent in the background, have arrived: after a second without a request.
func (s *stand) settle(b testing.TB) {
	b.Helper()
	before := s.served(b)
	for {
		wait(b, time.Second)
		now := s.served(b)
		if len(now.Minus(before)) == 0 {
			return
		}
		before = now
	}
}

// idle returns the requests while nothing happens.
func (s *stand) idle(b *testing.B) measure.Requests {
	b.Helper()
	before := s.served(b)
	wait(b, *idleFlag)
	cost := s.served(b).Minus(before)
	if cost.Total() > 0 {
		b.Logf("while idle:\n%s", cost)
	}
	return cost
}

// wait lets time pass, which is part of the measurement.
func wait(b testing.TB, length time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), length)
	defer cancel()
	<-ctx.Done()
}
