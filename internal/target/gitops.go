// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import gitops "espalier.dev/api/gitops/v1alpha1"

const (
	// gitopsKey is the key of the kubeconfig in the Secret of a GitopsCluster.
	gitopsKey = "kubeconfig"
	// Cluster API stores the kubeconfig of a cluster in a Secret named after the cluster, under this key.
	capiSuffix = "-kubeconfig"
	capiKey    = "value"
)

// KubeconfigSecret returns the name of the Secret, in the namespace of a GitopsCluster, with its kubeconfig, and the key. found is false
// if the cluster names none.
func KubeconfigSecret(cluster *gitops.GitopsCluster) (name, key string, found bool) {
	switch spec := cluster.Spec; {
	case spec.SecretRef != nil && spec.SecretRef.Name != "":
		return spec.SecretRef.Name, gitopsKey, true
	case spec.CAPIClusterRef != nil && spec.CAPIClusterRef.Name != "":
		return spec.CAPIClusterRef.Name + capiSuffix, capiKey, true
	}
	return "", "", false
}
