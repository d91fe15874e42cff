// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
)

var (
	objectsMetric = prometheus.NewDesc("espalier_objects",
		"Objects by kind and phase; None before their first run.", []string{"kind", "phase"}, nil)
	waitingMetric = prometheus.NewDesc("espalier_waiting_objects",
		"Objects with a run under way, by kind and by the reason of their condition Reconciling: what they wait for, or what they do.",
		[]string{"kind", "reason"}, nil)
	longestMetric = prometheus.NewDesc("espalier_waiting_longest_seconds",
		"Age of the oldest run of those objects, by kind and by its current reason.",
		[]string{"kind", "reason"}, nil)
	pipelinesMetric = prometheus.NewDesc("espalier_pipelines",
		"Pipelines by the status of their condition Ready: True, False or Unknown.", []string{"ready"}, nil)
	holdsMetric = prometheus.NewDesc("espalier_pipeline_holds",
		"Holds that block revisions, by reason.", []string{"reason"}, nil)
	environmentsMetric = prometheus.NewDesc("espalier_pipeline_environments",
		"Environments of pipelines by the state of their last promotion; None before the first one.", []string{"state"}, nil)
	pullRequestsMetric = prometheus.NewDesc("espalier_pipeline_pull_requests_open",
		"Pull requests of promotions that are open.", nil, nil)
)

// patience is how long a scrape waits for a cache that is not filled yet.
const patience = time.Second

// states counts the contents of this process's caches. Only the leader among several replicas counts, and each kind is counted by the
// process that runs its controller, so that sums over all processes are correct.
var states = &collector{counted: map[*counting]bool{}}

type collector struct {
	mutex   sync.Mutex
	counted map[*counting]bool
}

// counting counts the objects of one kind while a manager leads.
type counting struct {
	reader  client.Reader
	list    client.ObjectList
	foreign func(client.Object) bool
}

// Count counts all objects of a kind while the manager leads, except foreign ones, which another process counts; nil if none are. They are
// read from its cache, so one of its controllers must work on that kind: metrics alone add no watch.
func Count(mgr manager.Manager, list client.ObjectList, foreign func(client.Object) bool) error {
	return mgr.Add(&counting{reader: mgr.GetCache(), list: list, foreign: foreign})
}

var _ manager.LeaderElectionRunnable = &counting{}

// NeedLeaderElection returns true: only the leader counts objects.
func (c *counting) NeedLeaderElection() bool { return true }

// Start counts until the manager ends.
func (c *counting) Start(ctx context.Context) error {
	states.mutex.Lock()
	states.counted[c] = true
	states.mutex.Unlock()
	<-ctx.Done()
	states.mutex.Lock()
	defer states.mutex.Unlock()
	delete(states.counted, c)
	return nil
}

// into adds all objects to a state. A kind that cannot be read now is omitted.
func (c *counting) into(ctx context.Context, s *State, now time.Time) {
	list, ok := c.list.DeepCopyObject().(client.ObjectList)
	if !ok || c.reader.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
		return
	}
	_, isPipelines := list.(*pipelinesv1alpha1.PipelineList)
	s.HasPipelines = s.HasPipelines || isPipelines
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if object, ok := o.(client.Object); ok && (c.foreign == nil || !c.foreign(object)) {
			s.Add(object, now)
		}
		return nil
	})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{
		objectsMetric, waitingMetric, longestMetric, pipelinesMetric, holdsMetric, environmentsMetric, pullRequestsMetric,
	} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.mutex.Lock()
	all := make([]*counting, 0, len(c.counted))
	for one := range c.counted {
		all = append(all, one)
	}
	c.mutex.Unlock()
	var s State
	now := time.Now()
	for _, one := range all {
		one.into(ctx, &s, now)
	}
	s.send(metrics)
}

func (s *State) send(metrics chan<- prometheus.Metric) {
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	for key, n := range s.Objects {
		gauge(objectsMetric, float64(n), key[:]...)
	}
	for key, n := range s.Waiting {
		gauge(waitingMetric, float64(n), key[:]...)
		gauge(longestMetric, s.Longest[key].Seconds(), key[:]...)
	}
	for description, counts := range map[*prometheus.Desc]map[string]int{
		pipelinesMetric: s.Pipelines, holdsMetric: s.Holds, environmentsMetric: s.Environments,
	} {
		for label, n := range counts {
			gauge(description, float64(n), label)
		}
	}
	if s.HasPipelines {
		gauge(pullRequestsMetric, float64(s.OpenPullRequests))
	}
}
