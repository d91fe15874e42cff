// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	watchesMetric = prometheus.NewDesc("espalier_fleet_watches",
		"Watches of application kinds by cluster, including those that currently fail.", []string{"cluster"}, nil)
	brokenMetric = prometheus.NewDesc("espalier_fleet_watches_broken",
		"Watches that currently fail, by cluster.", []string{"cluster"}, nil)
	syncAgeMetric = prometheus.NewDesc("espalier_fleet_sync_age_seconds",
		"Age of the oldest known state of a cluster: zero if all watches are current.", []string{"cluster"}, nil)
	objectsMetric = prometheus.NewDesc("espalier_fleet_objects",
		"Objects whose state is cached, by cluster.", []string{"cluster"}, nil)
)

var _ prometheus.Collector = (*Fleet)(nil)

// Describe implements prometheus.Collector.
func (f *Fleet) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{watchesMetric, brokenMetric, syncAgeMetric, objectsMetric} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (f *Fleet) Collect(metrics chan<- prometheus.Metric) {
	for cluster, figures := range f.figures() {
		for description, value := range map[*prometheus.Desc]float64{
			watchesMetric: float64(figures.watches), brokenMetric: float64(figures.broken),
			syncAgeMetric: figures.age.Seconds(), objectsMetric: float64(figures.objects),
		} {
			metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, cluster)
		}
	}
}

// figures are the metrics of one cluster.
type figures struct {
	watches, broken, objects int
	age                      time.Duration
}

func (f *Fleet) figures() map[string]figures {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	all := map[string]figures{}
	for key, l := range f.links {
		all[key.label()] = l.figuresLocked(f.clock.Now())
	}
	return all
}

func (l *link) figuresLocked(now time.Time) figures {
	sum := figures{watches: len(l.feeds)}
	for _, feed := range l.feeds {
		sum.objects += len(feed.records)
		if feed.synced() {
			continue
		}
		sum.broken++
		since := feed.lost
		if since.IsZero() {
			since = l.begun
		}
		sum.age = max(sum.age, now.Sub(since))
	}
	return sum
}

// label returns the value of the label cluster.
func (k ClusterKey) label() string {
	if k.IsManagement() {
		return "management"
	}
	return string(k.Kind) + "/" + k.Namespace + "/" + k.Name
}
