// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API group espalier.dev/v1alpha1: what this project adds beside the APIs that it serves for others. So far that
// is ReferenceGrant, by which a namespace lets objects of another one refer to its own.
//
// +kubebuilder:object:generate=true
// +groupName=espalier.dev
package v1alpha1
