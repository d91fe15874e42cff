// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// stage is the progress of a pipeline.
type stage string

const (
	readable stage = "readable" // all targets are readable
	decided  stage = "decided"  // it is recorded that the revision will be promoted to the environment
	sent     stage = "sent"     // the promotion was handed over
	complete stage = "complete" // the revision is in all environments
)

// mark is a stage that a pipeline has reached, with a revision in an environment where that matters.
type mark struct {
	pipeline    string
	stage       stage
	environment string
	revision    string
}

// journal records when marks are first seen.
type journal struct {
	mutex   sync.Mutex
	seen    map[mark]time.Time
	changed chan struct{}
}

// newJournal follows all pipelines until the test ends.
func newJournal(t testing.TB, host client.WithWatch) *journal {
	t.Helper()
	j := &journal{seen: map[mark]time.Time{}, changed: make(chan struct{})}
	var list pipelines.PipelineList
	check(t, host.List(t.Context(), &list, client.InNamespace(namespace)))
	// The API server ends a watch whose reader is slow, which is not a failure.
	events, err := watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return host.Watch(ctx, &pipelines.PipelineList{}, &client.ListOptions{Namespace: namespace, Raw: &raw})
		},
	})
	check(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		for event := range events.ResultChan() {
			if p, ok := event.Object.(*pipelines.Pipeline); ok {
				j.note(p, time.Now())
			}
		}
	})
	t.Cleanup(func() {
		events.Stop()
		group.Wait()
	})
	return j
}

func (j *journal) note(p *pipelines.Pipeline, now time.Time) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for _, m := range marksOf(p) {
		if _, known := j.seen[m]; !known {
			j.seen[m] = now
		}
	}
	close(j.changed)
	j.changed = make(chan struct{})
}

func marksOf(p *pipelines.Pipeline) []mark {
	var marks []mark
	if meta.IsStatusConditionTrue(p.Status.Conditions, pipelines.ConditionReady) {
		marks = append(marks, mark{pipeline: p.Name, stage: readable})
	}
	for name, e := range p.Status.Environments {
		if e.Promotion == nil {
			continue
		}
		marks = append(marks, mark{p.Name, decided, name, e.Promotion.Revision})
		if e.Promotion.State == pipelines.PromotionSucceeded {
			marks = append(marks, mark{p.Name, sent, name, e.Promotion.Revision})
		}
	}
	if run := p.Status.Run; run != nil && run.CompletionTime != nil {
		marks = append(marks, mark{pipeline: p.Name, stage: complete, revision: run.Revision})
	}
	return marks
}

// patience ends a run that hangs.
const patience = 10 * time.Minute

// await returns when each of the marks was first seen.
func (j *journal) await(t testing.TB, marks []mark) []time.Time {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	var times []time.Time
	for len(times) < len(marks) {
		wanted := marks[len(times)]
		j.mutex.Lock()
		at, known := j.seen[wanted]
		changed := j.changed
		j.mutex.Unlock()
		if known {
			times = append(times, at)
			continue
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("waited in vain for %+v", wanted)
		}
	}
	return times
}
