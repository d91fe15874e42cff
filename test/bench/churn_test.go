// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit/managed"
)

const (
	// sampledBytes is how much is allocated between two samples of the heap profile: many small objects are what grows.
	sampledBytes = 4 << 10
	growersShown = 25
)

// BenchmarkChurn creates, updates and deletes installations repeatedly, and measures the memory in use after each cycle and a garbage
// collection. The controllers run in this process, so that the heap profile shows who allocated what: the list at the end shows what the
// second half of the cycles left behind.
func BenchmarkChurn(b *testing.B) { eachFlow(b, benchmarkChurn) }

func benchmarkChurn(b *testing.B, flow lsv1alpha1.Flow) {
	runtime.MemProfileRate = sampledBytes
	s := newServer(b, flow)
	s.deploys = func(name string) string { return "map" + name[strings.LastIndex(name, "-"):] }
	managed.Run(b, s.server.Config(), managed.Options())
	s.cycle(b, 0)
	for b.Loop() {
		first := heapNow(b)
		half, last := first, first
		for i := 1; i <= *cyclesFlag; i++ {
			began := time.Now()
			s.cycle(b, i)
			last = heapNow(b)
			b.Logf("cycle %d of %d: %.1f MiB in %d objects, %d goroutines, %.0f s",
				i, *cyclesFlag, last.bytes/(1<<20), last.objects, runtime.NumGoroutine(), time.Since(began).Seconds())
			if i == *cyclesFlag/2 {
				half = last
			}
		}
		cycles := float64(*cyclesFlag - *cyclesFlag/2)
		b.Logf("what the second half has left, in KiB for each cycle:\n%s", growth(half, last, cycles))
		b.ReportMetric(first.bytes/(1<<20), "MiB-first")
		b.ReportMetric(last.bytes/(1<<20), "MiB-last")
		b.ReportMetric((last.bytes-half.bytes)/1024/cycles, "KiB/cycle")
	}
}

// cycle creates, updates and deletes many installations. Their names are new in each cycle, because caches by name would otherwise not
// grow; their blueprints are the same, because those are cached on purpose.
func (s *stand) cycle(b *testing.B, number int) {
	b.Helper()
	all := names(fmt.Sprintf("cycle%d", number), *churnFlag)
	s.create(b, all)
	s.update(b, all)
	s.remove(b, all)
	s.settle(b)
}

// heap is the memory in use, in total and by place of allocation.
type heap struct {
	bytes   float64
	objects uint64
	places  map[string]float64
}

func heapNow(b *testing.B) heap {
	b.Helper()
	for range 3 { // The profile lags behind by up to two collections, and finalizers free more.
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if *heapFlag != "" {
		file, err := os.Create(filepath.Join(*heapFlag, time.Now().Format("150405")+".heap"))
		check(b, err)
		check(b, pprof.WriteHeapProfile(file))
		check(b, file.Close())
	}
	return heap{bytes: float64(stats.HeapAlloc), objects: stats.HeapObjects, places: places(b)}
}

func places(b *testing.B) map[string]float64 {
	b.Helper()
	records := make([]runtime.MemProfileRecord, 1<<16)
	count, complete := runtime.MemProfile(records, false)
	if !complete {
		b.Fatalf("the heap is allocated at %d places, more than there is room for", count)
	}
	found := map[string]float64{}
	for i := range records[:count] {
		r := &records[i]
		found[place(r.Stack())] += float64(r.InUseBytes()) * weight(r.InUseBytes(), r.InUseObjects())
	}
	return found
}

// weight returns the factor by which a sample must be scaled: the smaller an allocation, the less often it is sampled.
func weight(size, count int64) float64 {
	if count == 0 {
		return 0
	}
	return 1 / (1 - math.Exp(-float64(size)/float64(count)/sampledBytes))
}

// place names the function that allocated and its nearest caller in our code.
func place(stack []uintptr) string {
	frames, inner := runtime.CallersFrames(stack), ""
	for {
		frame, more := frames.Next()
		name := frame.Function
		if inner == "" && !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/runtime/") {
			inner = name
		}
		if strings.HasPrefix(name, "espalier.dev/") {
			return inner + " < " + name
		}
		if !more {
			return inner
		}
	}
}

func growth(before, after heap, cycles float64) string {
	grown := map[string]float64{}
	for where, bytes := range after.places {
		grown[where] = (bytes - before.places[where]) / 1024 / cycles
	}
	var lines []string
	for _, where := range slices.SortedFunc(maps.Keys(grown), func(x, y string) int { return cmp.Compare(grown[y], grown[x]) }) {
		if len(lines) == growersShown || grown[where] < 1 {
			break
		}
		lines = append(lines, fmt.Sprintf("%8.1f %s", grown[where], where))
	}
	return strings.Join(lines, "\n")
}
