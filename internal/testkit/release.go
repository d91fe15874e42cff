// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HealthyRelease stores a HelmRelease, one of FluxKinds, with the status that helm-controller sets when a version of its chart is deployed.
func HealthyRelease(t testing.TB, server *APIServer, namespace, name, version string) {
	t.Helper()
	release := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}}
	release.SetNamespace(namespace)
	release.SetName(name)
	Create(t, server, release)
	release.Object["status"] = map[string]any{
		"observedGeneration": release.GetGeneration(),
		"history":            []any{map[string]any{"chartVersion": version, "status": "deployed", "version": int64(1)}},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "message": "as the test says",
			"observedGeneration": release.GetGeneration(), "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}
	if err := server.Client().Status().Update(t.Context(), release); err != nil {
		t.Fatalf("store the status of HelmRelease %s/%s: %v", namespace, name, err)
	}
}
