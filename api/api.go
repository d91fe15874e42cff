// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package api registers all kinds that Espalier serves or reads. The kinds themselves are in the packages below, one for
// each API group and version.
package api

import (
	"k8s.io/apimachinery/pkg/runtime"

	container "espalier.dev/api/deployer/container/v1alpha1"
	helm "espalier.dev/api/deployer/helm/v1alpha1"
	manifestv1alpha1 "espalier.dev/api/deployer/manifest/v1alpha1"
	manifestv1alpha2 "espalier.dev/api/deployer/manifest/v1alpha2"
	mock "espalier.dev/api/deployer/mock/v1alpha1"
	espalier "espalier.dev/api/espalier/v1alpha1"
	gitops "espalier.dev/api/gitops/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// AddToScheme registers the kinds of all API groups, the configurations and statuses of deployers included.
var AddToScheme = schemeBuilder.AddToScheme

var schemeBuilder = runtime.NewSchemeBuilder(
	landscaper.AddToScheme,
	pipelines.AddToScheme,
	gitops.AddToScheme,
	espalier.AddToScheme,
	manifestv1alpha1.AddToScheme,
	manifestv1alpha2.AddToScheme,
	helm.AddToScheme,
	container.AddToScheme,
	mock.AddToScheme,
)
