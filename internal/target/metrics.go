// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"maps"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var upMetric = prometheus.NewDesc("espalier_target_up",
	"Whether the cluster of a Target answered the last request, by namespace and name of the Target: 1 or 0. Targets that were not used for "+
		"15 minutes are omitted.", []string{"target_namespace", "target"}, nil)

func init() { metrics.Registry.MustRegister(reports) }

// reports are all Clusters measured in this process.
var reports = &collector{clusters: map[*Clusters]bool{}}

type collector struct {
	mutex    sync.Mutex
	clusters map[*Clusters]bool
}

// Report measures the clusters until stop is called.
func (c *Clusters) Report() (stop func()) {
	reports.mutex.Lock()
	defer reports.mutex.Unlock()
	reports.clusters[c] = true
	return func() {
		reports.mutex.Lock()
		defer reports.mutex.Unlock()
		delete(reports.clusters, c)
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- upMetric }

// Collect implements prometheus.Collector. Several controllers may use one Target; it is down if one of them cannot reach it.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	c.mutex.Lock()
	measured := maps.Clone(c.clusters)
	c.mutex.Unlock()
	up := map[string]bool{}
	for clusters := range measured {
		for owner, reached := range clusters.reached() {
			before, known := up[owner]
			up[owner] = reached && (before || !known)
		}
	}
	for owner, reached := range up {
		namespace, name, _ := strings.Cut(owner, "/")
		value := 0.0
		if reached {
			value = 1
		}
		metrics <- prometheus.MustNewConstMetric(upMetric, prometheus.GaugeValue, value, namespace, name)
	}
}

// reached reports for each Target in use whether its cluster answered the last request.
func (c *Clusters) reached() map[string]bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	result := map[string]bool{}
	for owner, has := range c.owners {
		entry := c.clients[has.client]
		if entry == nil || strings.HasPrefix(owner, ownerOfKubeconfig) {
			continue
		}
		name, _, _ := strings.Cut(owner, actingAs)
		before, known := result[name]
		result[name] = entry.cluster.breaker.reached() && (before || !known)
	}
	return result
}

// reached reports whether the cluster answered the last request, or there was none yet.
func (b *breaker) reached() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.failures == 0
}
