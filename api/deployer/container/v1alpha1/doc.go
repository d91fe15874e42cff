// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the configuration and status of the container deployer, which runs an image.
//
// +kubebuilder:object:generate=true
// +groupName=container.deployer.landscaper.gardener.cloud
package v1alpha1
