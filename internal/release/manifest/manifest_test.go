// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/config/crd"
	"espalier.dev/internal/rights"
)

// ofHelm are labels that say which tool installed an object, and as part of what.
var ofHelm = []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "app.kubernetes.io/instance"}

const withEverything = `
tenancy: strict
controller: {replicas: 2}
ui: {enabled: true, hosts: [espalier.example.com]}
networkPolicies: {enabled: true}
serviceMonitor: {enabled: true}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
`

// The controllers run in the same way, whichever tool installs them.
func TestTheChartAndTheKustomizationsAreTheSame(t *testing.T) {
	for folder, values := range map[string]string{
		Default: "", HighAvailability: "controller: {replicas: 2}", everything: withEverything,
	} {
		t.Run(folder, func(t *testing.T) {
			plain, charted := byKey(t, built(t, folder)), byKey(t, rendered(t, values))
			// A chart leaves the namespace to Helm, and contains the CRDs, which are otherwise separate.
			maps.DeleteFunc(plain, func(_ string, o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
			maps.DeleteFunc(charted, func(_ string, o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })
			for _, object := range charted {
				labels := object.GetLabels()
				for _, label := range ofHelm {
					if labels[label] == "" {
						t.Errorf("%s lacks the label %s", key(object), label)
					}
					delete(labels, label)
				}
				object.SetLabels(labels)
			}
			if diff := cmp.Diff(plain, charted); diff != "" {
				t.Errorf("kustomize (-) and Helm (+) differ:\n%s", diff)
			}
		})
	}
}

// The CRDs are the generated ones; Helm keeps them on uninstall, so that it never deletes users' objects.
func TestTheChartKeepsDefinitions(t *testing.T) {
	want, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	apart, charted := byKey(t, built(t, Definitions)), byKey(t, rendered(t, ""))
	for _, definition := range want {
		name := "CustomResourceDefinition /" + definition.Name
		if apart[name] == nil || charted[name] == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		annotations := charted[name].GetAnnotations()
		if annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("Helm would delete %s", name)
		}
		if annotations["espalier.dev/version"] != version {
			t.Errorf("%s is of version %q", name, annotations["espalier.dev/version"])
		}
		delete(annotations, "helm.sh/resource-policy")
		charted[name].SetAnnotations(annotations)
		if diff := cmp.Diff(apart[name], charted[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if len(apart) != len(want) {
		t.Errorf("there are %d definitions, and %d in crds.yaml", len(want), len(apart))
	}
	for name := range byKey(t, rendered(t, "crds: {install: false}")) {
		if strings.HasPrefix(name, "CustomResourceDefinition") {
			t.Errorf("%s is there although it was not wanted", name)
		}
	}
}

// Deleting install.yaml must not delete the CRDs, and with them users' objects.
func TestWhatIsInstalledHasNoDefinitions(t *testing.T) {
	for _, folder := range []string{Default, HighAvailability, everything} {
		for _, object := range built(t, folder) {
			if object.GetKind() == "CustomResourceDefinition" {
				t.Errorf("%s has %s", folder, object.GetName())
			}
		}
	}
}

// Each controller has its own role, and all of them run under one service account.
func TestEveryRoleOfAControllerIsBound(t *testing.T) {
	objects := byKey(t, built(t, everything))
	for _, role := range rights.Roles() {
		name := rights.Prefix + role.Name
		var binding *unstructured.Unstructured
		switch role.File {
		case rights.ControllerFile, rights.UIFile:
			binding = objects["ClusterRoleBinding /"+name]
		case rights.LeaderElectionFile:
			binding = objects["RoleBinding "+system+"/"+name]
		default:
			continue // These are for users, or for single namespaces.
		}
		if binding == nil {
			t.Errorf("nothing binds the role %s: add it to config/manager/account.yaml", name)
		}
	}
	for _, object := range objects {
		if !strings.HasSuffix(object.GetKind(), "RoleBinding") {
			continue
		}
		kind, _, _ := unstructured.NestedString(object.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
		if objects[kind+" "+object.GetNamespace()+"/"+name] == nil && objects[kind+" /"+name] == nil {
			t.Errorf("%s binds the role %s, which does not exist", key(object), name)
		}
		subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects")
		if len(subjects) != 1 {
			t.Errorf("%s is for %v", key(object), subjects)
			continue
		}
		account, _ := subjects[0].(map[string]any)
		if objects[fmt.Sprintf("ServiceAccount %s/%s", system, account["name"])] == nil || account["namespace"] != system {
			t.Errorf("%s is for %v, which does not exist", key(object), account)
		}
	}
}

func TestARoleForTokensIsBoundInSingleNamespaces(t *testing.T) {
	objects := byKey(t, rendered(t, "controller: {tokenNamespaces: [shop, blog]}"))
	for _, namespace := range []string{"shop", "blog"} {
		if objects["RoleBinding "+namespace+"/espalier-tokens"] == nil {
			t.Errorf("the role is not bound in %s", namespace)
		}
	}
	if objects["ClusterRoleBinding /espalier-tokens"] != nil {
		t.Error("the role is bound everywhere")
	}
}

// The right to impersonate is granted only in strict tenancy.
func TestImpersonationIsBoundInStrictTenancyOnly(t *testing.T) {
	for name, test := range map[string]struct {
		objects []*unstructured.Unstructured
		strict  bool
	}{
		"kustomize":                 {built(t, Default), false},
		"kustomize, high available": {built(t, HighAvailability), false},
		"kustomize, component":      {built(t, everything), true},
		"chart":                     {rendered(t, ""), false},
		"chart, strict":             {rendered(t, "tenancy: strict"), true},
	} {
		objects := byKey(t, test.objects)
		bound := objects["ClusterRoleBinding /espalier-tenancy"] != nil
		args := argsOf(t, objects["Deployment "+system+"/espalier-controller"])
		if bound != test.strict || slices.Contains(args, "--tenancy=strict") != test.strict {
			t.Errorf("%s: bound %t, arguments %q", name, bound, args)
		}
		if objects["ClusterRole /espalier-tenant"] == nil {
			t.Errorf("%s: there is no role for tenants", name)
		}
	}
}

func TestImagesHaveTheVersion(t *testing.T) {
	for _, folder := range []string{Default, HighAvailability, everything} {
		text, err := Build(kustomizations(t), folder)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("image: espalier.dev/espalier-controller:"+version+"\n")) || bytes.Contains(text, []byte(":devel")) {
			t.Errorf("%s does not name the images of %s", folder, version)
		}
	}
	mirror := byKey(t, rendered(t, "image: {registry: mirror.example.com/espalier, tag: v9}\nui: {enabled: true, hosts: [a]}"))
	for name, want := range map[string]string{
		"espalier-controller": "mirror.example.com/espalier/espalier-controller:v9", "espalier-ui": "mirror.example.com/espalier/espalier:v9",
	} {
		if got := containerOf(t, mirror["Deployment "+system+"/"+name])["image"]; got != want {
			t.Errorf("%s runs %v", name, got)
		}
	}
	want := "--container-image=mirror.example.com/espalier/espalier-container:v9"
	if args := argsOf(t, mirror["Deployment "+system+"/espalier-controller"]); !slices.Contains(args, want) {
		t.Errorf("the pods of the container deployer are not told of the mirror: %q", args)
	}
	pinned := byKey(t, rendered(t, "images: {controller: 'a/b@sha256:1'}"))
	if got := containerOf(t, pinned["Deployment "+system+"/espalier-controller"])["image"]; got != "a/b@sha256:1" {
		t.Errorf("the controller runs %v", got)
	}
}

func containerOf(t *testing.T, deployment *unstructured.Unstructured) map[string]any {
	t.Helper()
	if deployment == nil {
		t.Fatal("the deployment is missing")
	}
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("the containers are %v, %v", containers, err)
	}
	container, _ := containers[0].(map[string]any)
	return container
}

func argsOf(t *testing.T, deployment *unstructured.Unstructured) []string {
	t.Helper()
	args, _, err := unstructured.NestedStringSlice(containerOf(t, deployment), "args")
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func TestChartsAreThoseOfAVersion(t *testing.T) {
	loaded := loadedChart(t)
	if loaded.Metadata.Version != "1.2.3" || loaded.Metadata.AppVersion != version {
		t.Errorf("the chart is %s for %s", loaded.Metadata.Version, loaded.Metadata.AppVersion)
	}
	for _, file := range loaded.Raw {
		if strings.HasSuffix(file.Name, ".go") || strings.Contains(file.Name, "testdata") || strings.HasSuffix(file.Name, "ustomization.yaml") {
			t.Errorf("the chart has %s", file.Name)
		}
	}
	if !bytes.Equal(packedChart(t), packedChart(t)) {
		t.Error("the same chart gives different bytes")
	}
}

// Helm's own linter accepts the chart in the sources.
func TestHelmHasNoComplaints(t *testing.T) {
	result := lint.RunAll(chartFolder, parsed(t, withEverything), system)
	for _, message := range result.Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}

func TestVersionsThatHaveNoPlace(t *testing.T) {
	if _, err := Kustomizations(fstest.MapFS{"manager/a.yaml": {Data: []byte("image: espalier.dev/x:v1")}}, version); err == nil {
		t.Error("Kustomizations without an image to set were accepted")
	}
	if _, err := stamp([]byte("name: espalier\nversion: 1.0.0\n"), Versions{}); err == nil {
		t.Error("a chart without a version to set was accepted")
	}
	if _, err := Kustomizations(os.DirFS("nowhere"), version); err == nil {
		t.Error("a folder that is not there was read")
	}
}
