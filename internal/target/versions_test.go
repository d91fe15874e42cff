// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

func TestFewKindsAreFoundWithoutAskingForAll(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.FewKinds = true })
	server := testkit.NewServer(t)
	cluster := w.cluster(t, testkit.Target(w.namespace, "a").Cluster(t, server).Build())
	get := func() error {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(sapling)
		return cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "x"}, object)
	}
	if err := get(); !meta.IsNoMatchError(err) {
		t.Fatalf("error = %v, want an unknown kind", err)
	}
	server.InstallCRD(t, saplings())
	w.advance(unknownFor)
	for range 3 {
		if err := get(); !apierrors.IsNotFound(err) {
			t.Fatalf("a kind that was added: error = %v, want not found", err)
		}
	}
	if err := cluster.Client().List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	if paths, want := discoveries(w.traffic), []string{"/apis/target.example.org/v1", "/apis/target.example.org/v1", "/api/v1"}; !slices.Equal(
		paths,
		want,
	) {
		t.Errorf("asked for %q, want %q", paths, want)
	}
	mapping, err := cluster.Mapper().RESTMapping(sapling.GroupKind())
	if err != nil || mapping.GroupVersionKind != sapling {
		t.Errorf("without a version: %+v, error %v", mapping, err)
	}
}

// discoveries are the paths of discovery requests.
func discoveries(tr *traffic.Traffic) []string {
	var paths []string
	for _, request := range tr.Requests() {
		path, _, _ := strings.Cut(strings.TrimPrefix(request, "GET "), "?")
		if !strings.Contains(path, "/namespaces/") {
			paths = append(paths, path)
		}
	}
	return paths
}
