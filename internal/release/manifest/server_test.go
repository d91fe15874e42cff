// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

// withAllValues sets every value of the chart.
const withAllValues = `
image: {registry: mirror.example.com, tag: v9, pullPolicy: Always, pullSecrets: [registry]}
images: {controller: "a/b:1", container: "a/c:1", ui: "a/d:1"}
crds: {install: true}
controller:
  replicas: 3
  flags: {workers: 4, namespaces: [shop]}
  extraArgs: [--log-format=console]
  env: [{name: HTTPS_PROXY, value: "http://proxy.example.com:3128"}]
  resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 2Gi}}
  temporarySize: 5Gi
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}
  priorityClassName: system-cluster-critical
  podLabels: {team: platform}
  podAnnotations: {note: "true"}
  serviceAccountAnnotations: {role: reader}
  tokenNamespaces: [espalier-system]
approvals: {enabled: true, policy: true, tlsSecret: approvals}
tenancy: strict
ui:
  enabled: true
  hosts: [espalier.example.com, other.example.com]
  clusterName: "production: north"
  tlsSecret: certificate
  sessionKeySecret: session
  oidc: {issuer: "https://login.example.com", clientID: espalier, clientSecret: oidc, scopes: [openid, groups], name: "Example: SSO"}
  extraArgs: [--only-namespace=shop]
  env: [{name: A, value: b}]
  resources: {requests: {cpu: 10m}}
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{operator: Exists}]
  affinity: {podAntiAffinity: {}}
  priorityClassName: system-cluster-critical
  podLabels: {team: platform}
  podAnnotations: {note: "true"}
networkPolicies: {enabled: true, metricsFrom: [{podSelector: {}}]}
serviceMonitor: {enabled: true, interval: 1m, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
dashboard: {enabled: true, labels: {folder: espalier}}
`

// withSystem returns the shared server with the namespace of the controllers, and with kinds of the Prometheus operator.
func withSystem(t *testing.T) *testkit.APIServer {
	t.Helper()
	server := testkit.Server(t)
	server.InstallCRD(t, kindsOfPrometheus()...)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: system, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := server.Client().Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return server
}

// kindsOfPrometheus defines the kinds of the Prometheus operator, with the fields that we use; it rejects others.
func kindsOfPrometheus() []*apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	list := func(fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		item := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: fields}
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
	}
	open := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	rule := map[string]apiextensionsv1.JSONSchemaProps{"alert": text, "expr": text, "for": text, "labels": open, "annotations": open}
	return []*apiextensionsv1.CustomResourceDefinition{
		kindOfPrometheus("ServiceMonitor", map[string]apiextensionsv1.JSONSchemaProps{
			"selector": open, "endpoints": list(map[string]apiextensionsv1.JSONSchemaProps{"port": text, "path": text, "interval": text}),
		}),
		kindOfPrometheus("PrometheusRule", map[string]apiextensionsv1.JSONSchemaProps{
			"groups": list(map[string]apiextensionsv1.JSONSchemaProps{"name": text, "interval": text, "rules": list(rule)}),
		}),
	}
}

func kindOfPrometheus(kind string, spec map[string]apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s.monitoring.coreos.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "monitoring.coreos.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: spec}},
				}},
			}},
		},
	}
}

// tried applies an object in a dry run. The server rejects unknown fields.
func tried(t *testing.T, server *testkit.APIServer, object *unstructured.Unstructured) error {
	t.Helper()
	return server.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()),
		client.FieldOwner("install"), client.ForceOwnership, client.DryRunAll)
}

func TestAnAPIServerAcceptsEverything(t *testing.T) {
	server := withSystem(t)
	for name, objects := range map[string][]*unstructured.Unstructured{
		"definitions": built(t, Definitions), "kustomize": built(t, Default), "kustomize, high availability": built(t, HighAvailability),
		"kustomize, everything": built(t, everything), "chart": rendered(t, ""), "chart, everything": rendered(t, withEverything),
		"chart, all values": rendered(t, withAllValues),
	} {
		t.Run(name, func(t *testing.T) {
			for _, object := range objects {
				if err := tried(t, server, object); err != nil {
					t.Errorf("%s: %v", key(object), err)
				}
			}
		})
	}
	t.Run("and would refuse a typo", func(t *testing.T) {
		for _, object := range built(t, everything) {
			if object.GetKind() != "Deployment" && object.GetKind() != "NetworkPolicy" {
				continue
			}
			if err := unstructured.SetNestedField(object.Object, "x", "spec", "replica"); err != nil {
				t.Fatal(err)
			}
			if err := tried(t, server, object); err == nil || !strings.Contains(err.Error(), "replica") {
				t.Errorf("%s: got %v", key(object), err)
			}
		}
	})
}

// The namespace enforces the restricted standard, so the API server itself validates the pods.
func TestPodsKeepToTheRestrictedStandard(t *testing.T) {
	server := withSystem(t)
	for _, object := range append(built(t, everything), rendered(t, withAllValues)...) {
		if object.GetKind() != "Deployment" {
			continue
		}
		pod := podOf(t, object)
		createAccount(t, server, pod.Spec.ServiceAccountName)
		if err := server.Client().Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", key(object), err)
		}
		if container := pod.Spec.Containers[0].SecurityContext; container.ReadOnlyRootFilesystem == nil || !*container.ReadOnlyRootFilesystem {
			t.Errorf("%s can write to its image", key(object))
		}
		pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = ptr.To(true)
		if err := server.Client().Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s may become more than it is: %v", key(object), err)
		}
	}
}

func podOf(t *testing.T, deployment *unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	template, _, err := unstructured.NestedMap(deployment.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	var typed corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &typed); err != nil {
		t.Fatal(err)
	}
	typed.Spec.PriorityClassName = "" // the classes of Kubernetes are created by a controller that does not run here
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: deployment.GetName()}, Spec: typed.Spec}
}

func createAccount(t *testing.T, server *testkit.APIServer, name string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}}
	if err := server.Client().Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// The web UI finds the log of the controllers by this label.
func TestPodsOfControllersCanBeFound(t *testing.T) {
	object := byKey(t, rendered(t, withAllValues))["Deployment "+system+"/espalier-controller"]
	labels, _, err := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "labels")
	if err != nil || labels["app.kubernetes.io/name"] != "espalier-controller" || labels["team"] != "platform" {
		t.Errorf("the labels are %v, %v", labels, err)
	}
	if args := argsOf(t, object); !slices.Contains(args, "--log-format=console") {
		t.Errorf("the arguments are %q", args)
	}
}
