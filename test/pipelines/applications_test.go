// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

// application is an application without Flux: the test sets its status.
type application struct {
	apiVersion, kind, namespace string
	revision                    string
	ready                       bool
}

// says writes what a controller would write.
func (w *world) says(cluster client.Client, a application) {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": a.apiVersion, "kind": a.kind}}
	object.SetNamespace(a.namespace)
	object.SetName("app")
	if err := cluster.Create(w.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
	if err := cluster.Get(w.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.Fatal(err)
	}
	condition := map[string]any{
		"type": "Ready", "status": "False", "reason": "Progressing", "message": "as the test says", "observedGeneration": object.GetGeneration(),
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}
	if a.ready {
		condition["status"] = "True"
	}
	status := map[string]any{"observedGeneration": object.GetGeneration(), "conditions": []any{condition}}
	switch {
	case a.revision == "":
	case a.apiVersion == helmV2:
		status["history"] = []any{map[string]any{"chartVersion": a.revision, "status": "deployed"}}
	default:
		status["lastAppliedRevision"] = a.revision
	}
	object.Object["status"] = status
	if err := cluster.Status().Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

const helmV2 = "helm.toolkit.fluxcd.io/v2"

// runs makes the HelmRelease app in a namespace of the management cluster healthy at a version.
func (w *world) runs(namespace, version string) {
	w.Helper()
	w.says(w.Client(), application{apiVersion: helmV2, kind: "HelmRelease", namespace: namespace, revision: version, ready: true})
}

// pair returns a pipeline from dev, which runs 1.1.0, to prod, which runs 1.0.0, both in the management cluster.
func (w *world) pair(name string) (builder *testkit.PipelineBuilder, dev, prod string) {
	w.Helper()
	w.InstallCRD(w.T, testkit.FluxKinds(w.T)...)
	dev, prod = w.GrantedNamespace(w.T, w.Namespace), w.GrantedNamespace(w.T, w.Namespace)
	w.runs(dev, "1.1.0")
	w.runs(prod, "1.0.0")
	return testkit.Pipeline(w.Namespace, name).App(helmV2, "HelmRelease", "app").Environment("dev", dev).Environment("prod", prod), dev, prod
}
