// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API group pipelines.weave.works/v1alpha1: promotion of an application from one environment to
// the next.
//
// A Pipeline names an application and the environments it runs in, in order. When the application is seen to be healthy
// at one revision in an environment, that revision is promoted to the next one. Nothing has to notify the pipeline;
// what it waits for, and what it has done, stands in its status.
//
// +kubebuilder:object:generate=true
// +groupName=pipelines.weave.works
package v1alpha1
