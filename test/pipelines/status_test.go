// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// olderFlux returns the kinds of Flux, with a former version of helm-controller.
func olderFlux(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	kinds := testkit.FluxKinds(t)
	for _, kind := range kinds {
		if kind.Spec.Names.Kind == "HelmRelease" {
			older := *kind.Spec.Versions[0].DeepCopy()
			older.Name, older.Storage = "v2beta1", false
			kind.Spec.Versions = append(kind.Spec.Versions, older)
		}
	}
	return kinds
}

// The known state of a target in another cluster, from absent to a healthy revision.
func TestPIP04_PIP05_PIP06_ATargetFromNothingToHealthy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leaf := testkit.NewServer(t)
	leaf.InstallCRD(t, olderFlux(t)...)
	w.enrol("leaf", leaf)
	for name, a := range map[string]application{
		"older-release": {apiVersion: "helm.toolkit.fluxcd.io/v2beta1", kind: "HelmRelease", revision: "1.0.0"},
		"release":       {apiVersion: helmV2, kind: "HelmRelease", revision: "1.0.0"},
		"kustomization": {apiVersion: "kustomize.toolkit.fluxcd.io/v1", kind: "Kustomization", revision: "main@sha1:0a1b2c"},
	} {
		a.namespace = leaf.Namespace(t)
		w.Create(testkit.Pipeline(w.Namespace, name).App(a.apiVersion, a.kind, "app").EnvironmentOn("leaf", "dev", a.namespace).Build())
		target := func(what string, ready bool, holds func(pipelines.TargetStatus) bool) {
			t.Helper()
			w.until(name, what, func(p *pipelines.Pipeline) bool {
				targets := p.Status.Environments["dev"].Targets
				condition := meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionReady)
				return len(targets) == 1 && holds(targets[0]) && condition != nil && (condition.Status == "True") == ready
			})
		}
		target("absent", false, func(s pipelines.TargetStatus) bool {
			return !s.Ready && strings.Contains(s.Error, "not found") && s.Revision == ""
		})
		w.says(leaf.Client(), application{apiVersion: a.apiVersion, kind: a.kind, namespace: a.namespace})
		target("there, and not ready", true, func(s pipelines.TargetStatus) bool {
			return !s.Ready && s.Error == "" && strings.Contains(s.Message, "as the test says") && s.Revision == ""
		})
		w.says(leaf.Client(), application{apiVersion: a.apiVersion, kind: a.kind, namespace: a.namespace, ready: true})
		target("ready at nothing", false, func(s pipelines.TargetStatus) bool { return !s.Ready && s.Error != "" && s.Revision == "" })
		a.ready = true
		w.says(leaf.Client(), a)
		target("healthy", true, func(s pipelines.TargetStatus) bool {
			return s.Ready && s.Error == "" && s.Revision == a.revision && s.ClusterAppRef.ClusterRef != nil && s.ClusterAppRef.Kind == a.kind
		})
	}
}
