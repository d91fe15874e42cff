// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"net"
	"net/url"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"espalier.dev/internal/deployer"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/target"
)

// setupInClusters adds a deployer that works in target clusters. Secrets of Targets are read when they are needed and
// never cached: a cache would hold all Secrets there are.
func setupInClusters(mgr ctrl.Manager, d deployer.Deployer, opts deployer.Options) error {
	opts.Clusters = target.NewClusters(target.Options{
		Host:       mgr.GetAPIReader(),
		HostConfig: mgr.GetConfig(),
		Dialer:     dial.Rules{AllowLoopback: onLoopback(mgr.GetConfig())},
	})
	if err := mgr.Add(closing{opts.Clusters}); err != nil {
		return err
	}
	return deployer.Setup(mgr, d, opts)
}

// closing ends the watches in target clusters together with the manager.
type closing struct{ clusters *target.Clusters }

var _ manager.LeaderElectionRunnable = closing{}

func (c closing) Start(ctx context.Context) error {
	<-ctx.Done()
	c.clusters.Close()
	return nil
}

// NeedLeaderElection has it run in every replica, so that it also ends in every one.
func (c closing) NeedLeaderElection() bool { return false }

// onLoopback tells whether the API server of the manager listens on this machine. Only then may Targets lead there.
func onLoopback(config *rest.Config) bool {
	host := config.Host
	if address, err := url.Parse(host); err == nil && address.Host != "" {
		host = address.Host
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
