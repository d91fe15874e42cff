// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

const (
	// calmNamespace is the namespace of a tenant with single jobs while others have many.
	calmNamespace = "bench-calm"
	// singlesAlone is how many single jobs are measured without other work.
	singlesAlone = 15
)

// BenchmarkFairness compares the time of single jobs in one namespace while another one has hundreds of active jobs with their time without
// other work. The time of a plain write shows how much of the ratio is due to the shared API server.
func BenchmarkFairness(b *testing.B) { eachFlow(b, benchmarkFairness) }

func benchmarkFairness(b *testing.B, flow lsv1alpha1.Flow) {
	s := newServer(b, flow)
	text, err := os.ReadFile(s.server.Kubeconfig())
	check(b, err)
	s.prepare(b, calmNamespace, string(text))
	s.run(b, s.server.Kubeconfig())
	s.create(b, []string{"first"})
	s.singles(b, "first", func(done int) bool { return done < 1 })
	for b.Loop() {
		alone := s.singles(b, "alone", func(done int) bool { return done < singlesAlone })
		var beside single
		var left atomic.Int64
		left.Store(int64(*floodFlag))
		finished := s.finished(nil)
		count := func(event watch.Event, i *lsv1alpha1.Installation) (bool, error) {
			done, err := finished(event, i)
			if done {
				left.Add(-1)
			}
			return done, err
		}
		flood := names("flood", *floodFlag)
		took := s.await(b, flood, count, func() {
			each(b, flood, func(ctx context.Context, name string) error {
				return s.client.Create(ctx, installation(s.flow, name, leaf{configMap: name}.blueprint()))
			})
			beside = s.singles(b, "beside", func(int) bool { return left.Load() > int64(*floodFlag/10) })
		})
		b.Logf("%d single jobs beside %d others, which took %.1f s: %v", len(beside.jobs), *floodFlag, took.Seconds(), beside.jobs)
		b.ReportMetric(alone.jobs.at(50), "ms-alone")
		b.ReportMetric(beside.jobs.at(50), "ms-beside")
		b.ReportMetric(beside.jobs.at(50)/alone.jobs.at(50), "x-alone")
		b.ReportMetric(beside.jobs.at(100)/alone.jobs.at(50), "x-alone-worst")
		b.ReportMetric(beside.writes.at(50)/alone.writes.at(50), "x-write")
		b.ReportMetric(float64(*floodFlag)/took.Seconds(), "flood/s")
		fairnessHolds(b, beside.jobs.at(50)/alone.jobs.at(50), beside.writes.at(50)/alone.writes.at(50))
	}
}

// A single job beside many others may take fairBudget times as long as alone. Where a bare write of another client takes longer, too, the
// shared API server is the limit: then, it may take apiServerShare times as much longer as that write.
const (
	fairBudget     = 5.0
	apiServerShare = 3.0
)

// fairnessHolds fails if single jobs have waited for those of another namespace.
func fairnessHolds(b *testing.B, job, write float64) {
	b.Helper()
	if job > fairBudget && job > apiServerShare*write {
		b.Errorf("beside %d others, a single job took %.1f times as long, and a bare write %.1f times: the budget is %.0f times, or %.0f times the write",
			*floodFlag, job, write, fairBudget, apiServerShare)
	}
}

// single contains the durations of single jobs, and of plain writes between them, the shortest first.
type single struct{ jobs, writes heard }

// singles runs one job after the other in the calm namespace, at least one, as long as goOn returns true.
func (s *stand) singles(b *testing.B, prefix string, goOn func(done int) bool) single {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	events, err := s.client.Watch(ctx, &lsv1alpha1.InstallationList{}, client.InNamespace(calmNamespace))
	check(b, err)
	defer events.Stop()
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: calmNamespace, Name: "note-" + prefix}}
	check(b, s.client.Create(ctx, note))
	var measured single
	for more := true; more; more = goOn(len(measured.jobs)) {
		name := fmt.Sprintf("%s-%04d", prefix, len(measured.jobs))
		job := installation(s.flow, name, leaf{configMap: "calm-" + name}.blueprint())
		job.Namespace = calmNamespace
		began := time.Now()
		check(b, s.client.Create(ctx, job))
		check(b, follow(ctx, events, map[string]bool{name: true}, s.finished(nil)))
		measured.jobs = append(measured.jobs, time.Since(began))
		began = time.Now()
		check(b, s.client.Patch(ctx, note, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"name":%q}}`, name))))
		measured.writes = append(measured.writes, time.Since(began))
	}
	slices.Sort(measured.jobs)
	slices.Sort(measured.writes)
	return measured
}
