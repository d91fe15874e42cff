// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import gitops "espalier.dev/api/gitops/v1alpha1"

const (
	// gitopsKey is where the Secret of a GitopsCluster has its kubeconfig.
	gitopsKey = "kubeconfig"
	// Cluster API keeps the kubeconfig of a cluster in a Secret that is named after it, under this key.
	capiSuffix = "-kubeconfig"
	capiKey    = "value"
)

// KubeconfigSecret says which Secret in the namespace of a GitopsCluster has its kubeconfig, and under which key. It is not found if the
// cluster says nothing about it.
func KubeconfigSecret(cluster *gitops.GitopsCluster) (name, key string, found bool) {
	switch spec := cluster.Spec; {
	case spec.SecretRef != nil && spec.SecretRef.Name != "":
		return spec.SecretRef.Name, gitopsKey, true
	case spec.CAPIClusterRef != nil && spec.CAPIClusterRef.Name != "":
		return spec.CAPIClusterRef.Name + capiSuffix, capiKey, true
	}
	return "", "", false
}
