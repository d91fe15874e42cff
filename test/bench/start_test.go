// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit/measure"
)

const (
	// original is the installation that is copied.
	original = "bench-original"
	// copiers is how many copies are created concurrently, which is not measured.
	copiers = 64
	// installationPasses and executionPasses are names of controllers in metrics.
	installationPasses, executionPasses = "installations", "execution"
	// memoryBudget is how many MiB of memory 1000 finished installations may take, and heapNoise how much two equal heaps may differ. The
	// garbage collector makes memory twice as large at one time as at another.
	memoryBudget, heapNoise = 88, 20
)

// BenchmarkStart starts the controllers beside many succeeded installations, each with its execution and its deploy item, and beside one.
// It measures the time and the cost until all of them have been processed. Nothing is written, and there is no request for each of them.
func BenchmarkStart(b *testing.B) { eachFlow(b, benchmarkStart) }

func benchmarkStart(b *testing.B, flow lsv1alpha1.Flow) {
	s := newServer(b, flow)
	s.run(b, s.server.Kubeconfig())
	first := applied(b, installation(flow, original, leaf{configMap: original}.blueprint()))
	s.await(b, []string{original}, s.finished(nil), func() { check(b, s.client.Create(b.Context(), first)) })
	s.settle(b)
	s.controllers.Stop(b)
	few := s.start(b, 1)
	s.multiply(b, *startedFlag)
	count := float64(*startedFlag)
	for b.Loop() {
		many := s.start(b, 1+*startedFlag)
		b.Logf("a start beside %d installations:\n%s\nbeside one:\n%s", *startedFlag, many.requests, few.requests)
		more := many.requests.Total() - few.requests.Total()
		b.ReportMetric(many.took.Seconds(), "s-many")
		b.ReportMetric(few.took.Seconds(), "s-one")
		b.ReportMetric((many.took-few.took).Seconds()*1000/count, "s/1000")
		b.ReportMetric((many.memory-few.memory)*1000/count, "MiB/1000")
		if memory := many.memory - few.memory; memory > memoryBudget*count/1000+heapNoise {
			b.Errorf("%d finished installations take %.0f MiB of memory, which is more than %d per 1000", *startedFlag, memory, memoryBudget)
		}
		b.ReportMetric(float64(many.usage.Passes-few.usage.Passes)/count, "passes/installation")
		b.ReportMetric(float64(more), "more-requests")
		b.ReportMetric(float64(many.requests.Writes()), "writes")
		if many.requests.Writes() > 0 || more > *startedFlag/200+10 {
			b.Errorf("a start beside %d finished installations has caused %d requests more than beside one, and %d writes:\n%s",
				*startedFlag, more, many.requests.Writes(), many.requests)
		}
		s.reportSlimming(b)
	}
}

// started is the cost of a start until everything was processed.
type started struct {
	took     time.Duration
	requests measure.Requests
	memory   float64
	usage    measure.Usage
}

// start runs the controllers until they have processed the given number of installations and are idle.
func (s *stand) start(b *testing.B, installations int) started {
	b.Helper()
	before, began := s.served(b), time.Now()
	s.run(b, s.server.Kubeconfig())
	s.controllers.AwaitPasses(b, installationPasses, installations)
	s.controllers.AwaitPasses(b, executionPasses, installations)
	took := time.Since(began)
	s.settle(b)
	cost := started{
		took: took, requests: s.served(b).Minus(before), memory: s.controllers.Memory(b), usage: s.controllers.Usage(b),
	}
	s.controllers.Stop(b)
	return cost
}

// applied returns an installation as kubectl apply creates it: with a copy of itself in an annotation.
func applied(b *testing.B, i *lsv1alpha1.Installation) *lsv1alpha1.Installation {
	b.Helper()
	text, err := json.Marshal(i)
	check(b, err)
	if i.Annotations == nil { // A root of the continuous flow needs no request.
		i.Annotations = map[string]string{}
	}
	i.Annotations[corev1.LastAppliedConfigAnnotation] = string(text)
	return i
}

// multiply copies the original with everything that was created for it: names and UIDs are those of the copy, everything else is the same.
func (s *stand) multiply(b *testing.B, count int) {
	b.Helper()
	root, execution := &lsv1alpha1.Installation{}, &lsv1alpha1.Execution{}
	key := client.ObjectKey{Namespace: namespace, Name: original}
	check(b, s.client.Get(b.Context(), key, root))
	check(b, s.client.Get(b.Context(), key, execution))
	var items lsv1alpha1.DeployItemList
	check(b, s.client.List(b.Context(), &items, client.InNamespace(namespace)))
	if len(items.Items) != 1 {
		b.Fatalf("the original has %d deploy items, want one", len(items.Items))
	}
	eachOf(b, copiers, names("copy", count), func(ctx context.Context, name string) error {
		uids := map[string]string{}
		for _, object := range []client.Object{root, execution, &items.Items[0]} {
			if err := s.copy(ctx, object, name, uids); err != nil {
				return fmt.Errorf("copy %T: %w", object, err)
			}
		}
		return nil
	})
}

// copy creates an object with another name instead of the original's, and sets its status. Owners are those that were copied before.
func (s *stand) copy(ctx context.Context, object client.Object, name string, uids map[string]string) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(original), []byte(name))
	for old, young := range uids {
		text = bytes.ReplaceAll(text, []byte(old), []byte(young))
	}
	created, stored := object.DeepCopyObject().(client.Object), object.DeepCopyObject().(client.Object)
	for _, into := range []client.Object{created, stored} {
		if err := json.Unmarshal(text, into); err != nil {
			return err
		}
	}
	created.SetUID("")
	created.SetResourceVersion("")
	created.SetManagedFields(nil)
	if err := s.client.Create(ctx, created); err != nil {
		return err
	}
	uids[string(object.GetUID())] = string(created.GetUID())
	stored.SetUID(created.GetUID())
	stored.SetResourceVersion(created.GetResourceVersion())
	return s.client.Status().Update(ctx, stored)
}

// reportSlimming compares the memory that installations take as received from the API server and as the controllers cache them.
func (s *stand) reportSlimming(b *testing.B) {
	b.Helper()
	var list lsv1alpha1.InstallationList
	empty := heapNow(b).bytes
	check(b, s.client.List(b.Context(), &list, client.InNamespace(namespace)))
	whole := heapNow(b).bytes
	for i := range list.Items {
		if _, err := manager.Slim(&list.Items[i]); err != nil {
			b.Fatal(err)
		}
	}
	slim := heapNow(b).bytes
	count := float64(len(list.Items))
	b.ReportMetric((whole-empty)/1024/count, "KiB-whole")
	b.ReportMetric((slim-empty)/1024/count, "KiB-slim")
	runtime.KeepAlive(list.Items)
}
