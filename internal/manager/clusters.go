// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"espalier.dev/deployer"
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
