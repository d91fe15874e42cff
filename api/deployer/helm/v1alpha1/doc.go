// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the configuration and status of the helm deployer, which installs Helm charts or applies what they
// render.
//
// +kubebuilder:object:generate=true
// +groupName=helm.deployer.landscaper.gardener.cloud
package v1alpha1
