// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the first version of the manifest deployer's configuration and status: objects without
// policies. Version v1alpha2 replaces it.
//
// +kubebuilder:object:generate=true
// +groupName=manifest.deployer.landscaper.gardener.cloud
package v1alpha1
