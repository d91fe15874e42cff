// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/deployer/helm/charts"
)

// setupInClusters adds a deployer that works in target clusters.
func setupInClusters(mgr ctrl.Manager, d deployer.Deployer, opts deployer.Options) error {
	clusters, err := deployer.NewClusters(mgr)
	if err != nil {
		return err
	}
	opts.Clusters = clusters
	return deployer.Setup(mgr, d, opts)
}

// setupHelm adds the deployer of charts. Users name the addresses of charts: loopback is permitted only if the API server is also there.
func setupHelm(mgr ctrl.Manager, opts Options) error {
	options := opts.deployerOptions(helm.Name)
	options.CallTimeout = helm.CallTimeout
	return setupInClusters(mgr, helm.New(charts.Options{
		Host:       mgr.GetAPIReader(),
		Dialer:     dialRules(mgr),
		Registries: opts.registries.Open,
	}), options)
}
