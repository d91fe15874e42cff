// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

// leaves are two leaf control planes with a separate Flux in each.
type leaves struct{ north, south *testkit.APIServer }

func newLeaves(t *testing.T) leaves {
	t.Helper()
	l := leaves{north: testkit.NewServer(t), south: testkit.NewServer(t, testkit.Persistent())}
	externals.Flux(t, l.north)
	externals.Flux(t, l.south)
	return l
}

// place is the place of an environment: a namespace of a leaf cluster, into which Flux deploys a folder of the repository.
type place struct {
	leaf      *testkit.APIServer
	namespace string
}

// follow makes Flux follow a folder of a repository, and charts.
func (p place) follow(t *testing.T, repository *externals.Repository, folder string, charts *externals.ChartRepository) {
	t.Helper()
	objects := append(externals.GitSource(p.namespace, "git", repository), externals.Kustomization(p.namespace, "apps", "git", "./"+folder))
	if charts != nil {
		objects = append(objects, externals.HelmSource(p.namespace, "charts", charts))
	}
	testkit.Create(t, p.leaf, objects...)
}

// release returns the HelmRelease in the place.
func (p place) release() *unstructured.Unstructured {
	return p.object(externals.HelmReleaseKind.Kind, externals.HelmReleaseKind.GroupVersion().String(), "app")
}

func (p place) object(kind, apiVersion, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace(p.namespace)
	object.SetName(name)
	return object
}

// untilReleased waits until Flux reports the release of a version.
func (p place) untilReleased(t *testing.T, version string) {
	t.Helper()
	testkit.Eventually(t, p.leaf, p.release(), testkit.Is("ready with "+version, func(r *unstructured.Unstructured) bool {
		releases := history(r)
		return readiness(r) == "True" && len(releases) > 0 && releases[0] == version+" deployed"
	}))
}

// running returns the output of the chart: the version that actually runs.
func (p place) running(t *testing.T, name string) string {
	t.Helper()
	var config corev1.ConfigMap
	if err := p.leaf.Client().Get(t.Context(), types.NamespacedName{Namespace: p.namespace, Name: name}, &config); err != nil {
		t.Fatal(err)
	}
	return config.Data["version"]
}

// mark sets a label on an object, which all controllers ignore.
func (p place) mark(t *testing.T, object client.Object) {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"touched":"true"}}}`)
	if err := p.leaf.Client().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

// readiness returns the status of the condition Ready, if it is about the current generation.
func readiness(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		if fields["type"] == "Ready" && fields["observedGeneration"] == object.GetGeneration() {
			return fmt.Sprint(fields["status"])
		}
	}
	return ""
}

// history lists the history of a release in helm-controller, the newest entry first.
func history(release *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(release.Object, "status", "history")
	var lines []string
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		lines = append(lines, fmt.Sprint(fields["chartVersion"], " ", fields["status"]))
	}
	return lines
}

// appliedCommit waits until a Kustomization has applied a commit, in whatever form it reports that.
func (p place) appliedCommit(t *testing.T, name, sha string) {
	t.Helper()
	kustomization := p.object(externals.KustomizationKind.Kind, externals.KustomizationKind.GroupVersion().String(), name)
	testkit.Eventually(t, p.leaf, kustomization, testkit.Is("ready at "+sha, func(k *unstructured.Unstructured) bool {
		applied, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
		return readiness(k) == "True" && strings.HasSuffix(applied, "sha1:"+sha)
	}))
}
