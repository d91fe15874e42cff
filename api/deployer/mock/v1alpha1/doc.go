// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the configuration of the mock deployer, which deploys nothing and reports what its configuration says.
//
// +kubebuilder:object:generate=true
// +groupName=mock.deployer.landscaper.gardener.cloud
package v1alpha1
