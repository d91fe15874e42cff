// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

var (
	environments = []string{"dev", "staging", "prod"}
	kinds        = []pipelines.AppReference{
		{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease"}, {APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization"},
	}
)

func pipelineName(number int) string { return fmt.Sprintf("pipeline-%04d", number) }

// appRef returns the application of a pipeline, which has the name of the pipeline. Of each group of as many pipelines as there are
// clusters, the first half has one kind and the second half the other, so that their environments cover all pairs of a cluster and a kind.
func (s *stand) appRef(number int) pipelines.AppReference {
	reference := kinds[len(kinds)*number/s.clusters%len(kinds)]
	reference.Name = pipelineName(number)
	return reference
}

// clusterOf returns the cluster of a pipeline's application in an environment: another cluster for each.
func (s *stand) clusterOf(number, environment int) int {
	return (number + environment*(s.clusters/len(environments))) % s.clusters
}

func (s *stand) pipeline(number int) *pipelines.Pipeline {
	app := s.appRef(number)
	b := testkit.Pipeline(namespace, pipelineName(number)).App(app.APIVersion, app.Kind, app.Name)
	for i, environment := range environments {
		cluster := clusterName(s.clusterOf(number, i))
		b = b.EnvironmentOn(cluster, environment, cluster)
	}
	return b.Notification().Build()
}

// numbers returns the numbers from the first to before the last.
func numbers(from, to int) []int {
	var all []int
	for number := from; number < to; number++ {
		all = append(all, number)
	}
	return all
}

// create creates applications that are healthy in all environments, and pipelines for them, and waits until the controller has seen all.
func (s *stand) create(members []int) {
	s.Helper()
	revision := s.nextRevision()
	s.all(members, func(ctx context.Context, number int) error {
		for environment := range environments {
			if err := s.install(ctx, number, environment, revision); err != nil {
				return err
			}
		}
		return s.host.client.Create(ctx, s.pipeline(number))
	})
	s.journal.await(s, marks(members, mark{stage: readable}))
	s.settle()
}

// marks returns the same mark for several pipelines.
func marks(members []int, like mark) []mark {
	var all []mark
	for _, number := range members {
		like.pipeline = pipelineName(number)
		all = append(all, like)
	}
	return all
}

func (s *stand) nextRevision() string {
	s.revisions++
	return fmt.Sprintf("1.0.%d", s.revisions)
}

func (s *stand) application(number, environment int) *unstructured.Unstructured {
	reference, application := s.appRef(number), &unstructured.Unstructured{}
	application.SetAPIVersion(reference.APIVersion)
	application.SetKind(reference.Kind)
	application.SetNamespace(clusterName(s.clusterOf(number, environment)))
	application.SetName(reference.Name)
	return application
}

func (s *stand) install(ctx context.Context, number, environment int, revision string) error {
	if err := s.leafOf(s.clusterOf(number, environment)).client.Create(ctx, s.application(number, environment)); err != nil {
		return err
	}
	return s.deploy(ctx, number, environment, revision)
}

// deploy makes an application healthy at a revision, as Flux would report it.
func (s *stand) deploy(ctx context.Context, number, environment int, revision string) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration":  1,
		"lastAppliedRevision": revision,
		"history":             []any{map[string]any{"chartVersion": revision, "status": "deployed", "version": 1}},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "as the benchmark says", "observedGeneration": 1,
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}})
	if err != nil {
		return err
	}
	leaf := s.leafOf(s.clusterOf(number, environment))
	return leaf.client.Status().Patch(ctx, s.application(number, environment), client.RawPatch(types.MergePatchType, patch))
}

// reaction is how long pipelines took to decide on a revision that appeared.
type reaction struct {
	single []time.Duration // for each, from its own write
	all    time.Duration   // from the first write to the last decision
	writes time.Duration   // that the writes took
}

// appear makes a revision appear in one environment of pipelines and waits until it is promoted to the next one.
func (s *stand) appear(members []int, environment int, revision string) reaction {
	s.Helper()
	began := time.Now()
	starts := make([]time.Time, len(members))
	s.all(numbers(0, len(members)), func(ctx context.Context, i int) error {
		starts[i] = time.Now()
		return s.deploy(ctx, members[i], environment, revision)
	})
	r := reaction{writes: time.Since(began)}
	if environment == len(environments)-1 {
		s.journal.await(s, marks(members, mark{stage: complete, revision: revision}))
		return r
	}
	next := environments[environment+1]
	for i, at := range s.journal.await(s, marks(members, mark{stage: decided, environment: next, revision: revision})) {
		r.single = append(r.single, at.Sub(starts[i]))
		r.all = max(r.all, at.Sub(began))
	}
	s.journal.await(s, marks(members, mark{stage: sent, environment: next, revision: revision}))
	return r
}

// walk promotes a new revision through all environments of pipelines, and returns how fast they reacted to its appearance in the first.
func (s *stand) walk(members []int) reaction {
	s.Helper()
	revision := s.nextRevision()
	first := s.appear(members, 0, revision)
	for environment := 1; environment < len(environments); environment++ {
		s.appear(members, environment, revision)
	}
	return first
}

// writers is how many clients write concurrently.
const writers = 16

// each calls a function for each number below count, several concurrently.
func (s *stand) each(count int, do func(context.Context, int) error) {
	s.Helper()
	s.all(numbers(0, count), do)
}

func (s *stand) all(members []int, do func(context.Context, int) error) {
	s.Helper()
	queue := make(chan int)
	var workers sync.WaitGroup
	for range writers {
		workers.Go(func() {
			for number := range queue {
				if err := do(s.Context(), number); err != nil {
					s.Errorf("%d: %v", number, err)
				}
			}
		})
	}
	for _, number := range members {
		queue <- number
	}
	close(queue)
	workers.Wait()
	if s.Failed() {
		s.FailNow()
	}
}

func median(times []time.Duration) time.Duration { return quantile(times, 0.5) }

func quantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
