// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// counting counts the requests that pass through it.
type counting struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.next.RoundTrip(r)
}

// BenchmarkStreams changes an installation while 200 streams show it, and reports the cost of each change: requests to the API server, CPU
// time of this process, which both ends share, and bytes per stream.
func BenchmarkStreams(b *testing.B) {
	const streams, sessions = 200, 20
	cluster := testkit.Server(b)
	namespace := cluster.Namespace(b)
	shop := testkit.Installation(namespace, "shop").Build()
	shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(b, cluster, shop)
	var requests atomic.Int64
	config := cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &requests} })
	site := serve(b, cluster, Options{Config: config, Namespaces: []string{namespace}})
	var all []*reading
	for range sessions {
		v := site.local(b)
		for range streams / sessions {
			stream := v.follow("overview")
			stream.next()
			all = append(all, stream)
		}
	}
	opening := requests.Load()
	before, received := processorTime(b), bytesOf(all)
	b.ResetTimer()
	for i := range b.N {
		phase := []lsv1alpha1.Phase{lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseProgressing}[i%2]
		clitest.Controller{Server: cluster}.Write(b, shop, func(s *lsv1alpha1.RunStatus) { *s = clitest.Status(phase) })
		var waiting sync.WaitGroup
		for _, stream := range all {
			waiting.Go(func() { stream.read() })
		}
		waiting.Wait()
	}
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(float64(opening), "requests-to-open")
	b.ReportMetric(float64(requests.Load()-opening)/n, "requests/change")
	b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/n, "cpu-ms/change")
	b.ReportMetric(float64(bytesOf(all)-received)/n/streams, "bytes/change/stream")
}

func bytesOf(streams []*reading) int {
	sum := 0
	for _, stream := range streams {
		sum += stream.bytes
	}
	return sum
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
