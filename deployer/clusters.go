// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/target"
)

// Cluster is the target cluster of a Target of type landscaper.gardener.cloud/kubernetes-cluster: a client, the kinds that the
// cluster serves, and watches of single objects.
type Cluster = target.Cluster

// Clusters connects to the clusters of Targets. It keeps one client per credential, and drops a client when it has been idle for a while
// or its credential rotates.
type Clusters = target.Clusters

// NewClusters returns the Clusters for all Targets that a manager can read, for Options.Clusters. Secrets of Targets are read on demand
// and never cached, because a cache contains every Secret. Targets may point to loopback only if the manager's own API server is there.
// Clients and watches end with the manager.
func NewClusters(mgr ctrl.Manager) (*Clusters, error) {
	clusters := target.NewClusters(target.Options{
		Host:       mgr.GetAPIReader(),
		HostConfig: mgr.GetConfig(),
		Dialer:     dial.Rules{AllowLoopback: dial.IsLoopback(mgr.GetConfig().Host)},
	})
	return clusters, mgr.Add(closing{clusters})
}

// closing ends the watches in target clusters together with the manager.
type closing struct{ clusters *Clusters }

var _ manager.LeaderElectionRunnable = closing{}

func (c closing) Start(ctx context.Context) error {
	defer c.clusters.Report()()
	<-ctx.Done()
	c.clusters.Close()
	return nil
}

// NeedLeaderElection returns false, so that every replica starts it, and therefore stops its watches.
func (c closing) NeedLeaderElection() bool { return false }
