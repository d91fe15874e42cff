// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The polling intervals of sources and of the others; the latter follow their sources at once anyway.
const (
	sourceInterval = "1s"
	otherInterval  = "10m"
)

// The kinds of Flux with functions here.
var (
	GitRepositoryKind  = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	HelmRepositoryKind = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"}
	KustomizationKind  = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	HelmReleaseKind    = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
)

// GitSource returns a GitRepository that follows the branch main, and its Secret.
func GitSource(namespace, name string, repository *Repository) []client.Object {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{
		"username": []byte(repository.gitea.User), "password": []byte(repository.gitea.Token), "ca.crt": repository.gitea.CA,
	}}
	return []client.Object{secret, fluxObject(GitRepositoryKind, namespace, name, map[string]any{
		"interval":  sourceInterval,
		"url":       repository.CloneURL(),
		"ref":       map[string]any{"branch": "main"},
		"secretRef": map[string]any{"name": name},
	})}
}

// Kustomization returns a Kustomization that applies a folder of a GitRepository.
func Kustomization(namespace, name, source, path string) *unstructured.Unstructured {
	return fluxObject(KustomizationKind, namespace, name, map[string]any{
		"interval": otherInterval, "retryInterval": sourceInterval, "path": path, "prune": true, "targetNamespace": namespace,
		"sourceRef": map[string]any{"kind": "GitRepository", "name": source},
	})
}

// HelmSource returns a HelmRepository for a chart repository.
func HelmSource(namespace, name string, charts *ChartRepository) *unstructured.Unstructured {
	return fluxObject(HelmRepositoryKind, namespace, name, map[string]any{
		"interval": sourceInterval, "url": charts.URL,
	})
}

// Chart is a version of a chart, or a range of versions, in a HelmRepository.
type Chart struct {
	Source  string // name of the HelmRepository
	Name    string
	Version string
}

// HelmRelease returns a HelmRelease that installs a chart.
func HelmRelease(namespace, name string, chart Chart) *unstructured.Unstructured {
	return fluxObject(HelmReleaseKind, namespace, name, map[string]any{
		"interval": otherInterval,
		"chart": map[string]any{"spec": map[string]any{
			"interval": sourceInterval, "chart": chart.Name, "version": chart.Version,
			"sourceRef": map[string]any{"kind": "HelmRepository", "name": chart.Source},
		}},
	})
}

func fluxObject(kind schema.GroupVersionKind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
