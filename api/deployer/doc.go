// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package deployer contains what the configurations and statuses of several deployers have in common: which objects are
// managed, when they are ready, what is exported from them, and in which order they are deleted.
//
// Each deployer has a separate package below this one, with its kinds ProviderConfiguration and ProviderStatus.
//
// +kubebuilder:object:generate=true
package deployer
