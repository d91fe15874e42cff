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

// Cluster is what a Target of type landscaper.gardener.cloud/kubernetes-cluster leads to: a client, the kinds that are served, and
// watches of single objects.
type Cluster = target.Cluster

// Clusters leads from Targets to their clusters. It keeps one client per credential, and drops it when nobody has used it for a while or
// the credential rotates.
type Clusters = target.Clusters

// NewClusters returns the way to the clusters of all Targets that a manager can read, for Options.Clusters. Secrets of Targets are read
// when they are needed and never cached: a cache would hold all Secrets there are. Targets lead to loopback only if the manager's own API
// server is there. Clients and watches end with the manager.
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

// NeedLeaderElection has it run in every replica, so that it also ends in every one.
func (c closing) NeedLeaderElection() bool { return false }
