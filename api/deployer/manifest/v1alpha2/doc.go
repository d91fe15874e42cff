// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 is the configuration and status of the manifest deployer, which applies Kubernetes objects.
//
// +kubebuilder:object:generate=true
// +groupName=manifest.deployer.landscaper.gardener.cloud
package v1alpha2
