// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

// unruly are objects that break our rules. They can exist where today's definitions are installed without admission.
var unruly = []string{
	namedInstallation("{name: " + strings.Repeat("long.", 20) + "name}"),
	strings.Replace(installation("{blueprint: {ref: {resourceName: b}, inline: {filesystem: {a: {b: [c]}}}}, "+
		"componentDescriptor: {ref: {repositoryContext: {a: {b: [c]}}, componentName: c, version: v}, inline: {a: {b: [c]}}}, "+
		`imports: {data: [{name: a}, {name: a, dataRef: d}], targets: [{name: a, targetMap: {A: ""}}, {name: a, targets: [""]}]}, `+
		`exports: {data: [{name: "", dataRef: ""}, {name: "", dataRef: ""}], targets: [{name: a}, {name: a}]}, `+
		`automaticReconcile: {failedReconcile: {interval: soon, cronSpec: often}}, importDataMappings: {a: {b: [c]}}}`), "name: i", "name: odd", 1),
	strings.Replace(installation("{blueprint: {}, componentDescriptor: {}}"), "name: i", "name: empty", 1),
	execution(`{name: a, type: "", config: {apiVersion: v1, kind: K, a: {b: [c]}}, dependsOn: [z], target: {name: ""}, timeout: soon}, ` +
		`{name: a, type: "", config: {apiVersion: v1, kind: K}}`),
	deployItem(`{type: "", target: {name: a}, timeout: soon, config: {apiVersion: v1, kind: K, a: {b: [c]}}}`),
	target("{type: t, config: {a: {b: [c]}}, secretRef: {name: s}}"),
}

// A cluster that has run another controller is taken over by replacing the definitions. What is in it must still be
// reconciled and deleted, whatever it looks like.
func TestTakenOverObjectsAreNotStuck(t *testing.T) {
	server := testkit.NewServer(t)
	server.InstallCRD(t, installable(references(t))...)
	namespace := server.Namespace(t)
	var existing []*unstructured.Unstructured
	for _, manifest := range unruly {
		object := parse(t, []byte(manifest))[0]
		object.SetNamespace(namespace)
		if err := server.Client().Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s under today's definitions: %v", object.GetKind(), object.GetName(), err)
		}
		existing = append(existing, object)
	}
	replaceDefinitions(t, server, namespace)
	for _, object := range existing {
		t.Run(object.GetKind()+"/"+object.GetName(), func(t *testing.T) { checkNotStuck(t, server.Client(), object) })
	}
}

// checkNotStuck does what controllers do with every object.
func checkNotStuck(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	object.SetAnnotations(map[string]string{"landscaper.gardener.cloud/operation": "reconcile"})
	object.SetFinalizers([]string{"finalizer.landscaper.gardener.cloud"})
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatalf("change the metadata: %v", err)
	}
	if object.GetKind() != "Target" {
		object.Object["status"] = map[string]any{"phase": "Failed", "observedGeneration": int64(1), "jobID": "a", "jobIDFinished": "a"}
		if err := c.Status().Update(t.Context(), object); err != nil {
			t.Fatalf("change the status: %v", err)
		}
	}
	if err := c.Delete(t.Context(), object); err != nil {
		t.Fatalf("delete: %v", err)
	}
	object.SetFinalizers(nil)
	if err := c.Update(t.Context(), object); err != nil && !apierrors.IsConflict(err) {
		t.Fatalf("remove the finalizer: %v", err)
	}
}

// replaceDefinitions returns when the API server goes by the new ones, which is when it refuses a new unruly object.
func replaceDefinitions(t *testing.T, server *testkit.APIServer, namespace string) {
	t.Helper()
	server.InstallCRD(t, all(t)...)
	refused := func(ctx context.Context) (bool, error) {
		for _, manifest := range unruly {
			object := parse(t, []byte(manifest))[0]
			object.SetNamespace(namespace)
			object.SetName(object.GetName() + "-new")
			if err := server.Client().Create(ctx, object, client.DryRunAll); !apierrors.IsInvalid(err) {
				return false, err
			}
		}
		return true, nil
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testkit.Patience, true, refused); err != nil {
		t.Fatalf("wait for the new definitions: %v", err)
	}
}

// installable completes references to definitions that an API server accepts.
func installable(references map[string]*apiextensionsv1.CustomResourceDefinition) []*apiextensionsv1.CustomResourceDefinition {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for plural, reference := range references {
		reference.Name = plural + "." + reference.Spec.Group
		definitions = append(definitions, reference)
	}
	return definitions
}
