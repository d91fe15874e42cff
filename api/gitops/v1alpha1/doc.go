// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the part of the API group gitops.weave.works/v1alpha1 that pipelines read: GitopsCluster, which
// says how to reach a cluster.
//
// +kubebuilder:object:generate=true
// +groupName=gitops.weave.works
package v1alpha1
