// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const threeConfigMaps = twoConfigMaps + `
-- templates/three.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: three}, data: {key: third}}
`

func (w *world) uid(name string) types.UID {
	w.t.Helper()
	object := w.configMap(name)
	if object == nil {
		w.t.Fatalf("ConfigMap %s is missing", name)
	}
	return object.UID
}

// The objects keep their identity; what the chart no longer has is removed; the deletion removes everything.
func TestFromATemplateToARelease(t *testing.T) {
	w := newWorld(t)
	group := w.namespace + ".example"
	w.use(threeConfigMaps + withDefinition(group))
	w.succeed("{helmDeployment: false, createNamespace: true}")
	before := w.uid("one")
	w.use(twoConfigMaps + withDefinition(group))
	w.succeed("{helmDeployment: true, values: {key: other}}")
	if diff := cmp.Diff([]string{"one=other", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if w.uid("one") != before {
		t.Error("the object was deleted and created anew")
	}
	if diff := cmp.Diff([]string{"1=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, w.managed()); diff != "" {
		t.Error(diff)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := w.server.Client().Get(t.Context(), client.ObjectKey{Name: "gates." + group}, definition); err != nil ||
		definition.DeletionTimestamp != nil {
		t.Errorf("the definition is gone, and with it all its objects: %v", err)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestFromAReleaseToATemplate(t *testing.T) {
	w := newWorld(t)
	w.use(threeConfigMaps)
	w.succeed("")
	before := w.uid("one")
	w.use(twoConfigMaps)
	w.succeed("{helmDeployment: false, values: {key: other}}")
	if diff := cmp.Diff([]string{"one=other", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if w.uid("one") != before {
		t.Error("the object was deleted and created anew")
	}
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Errorf("records of the release are left: %s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap/one", "ConfigMap/two"}, w.managed()); diff != "" {
		t.Error(diff)
	}
	if got := w.status(); got.Release != nil || len(got.FormerReleases) > 0 {
		t.Errorf("the status is %+v", got)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

// A process may die between any two passes.
func TestBackAndForthWithRestarts(t *testing.T) {
	w := newWorld(t)
	for i, mode := range []string{"true", "false", "true", "false"} {
		w.use(threeConfigMaps)
		if i%2 == 1 {
			w.use(twoConfigMaps)
		}
		w.configure("helmDeployment: " + mode)
		if err := w.start(); err != nil {
			t.Fatal(err)
		}
		w.restart()
		if _, err := w.goOn(); err != nil {
			t.Fatal(err)
		}
		w.restart()
	}
	if diff := cmp.Diff([]string{"one=default", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

// An object of somebody else is neither taken over by the change of the mode nor deleted.
func TestAnObjectOfSomebodyElseIsNotHandedOver(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed("helmDeployment: false")
	w.use(twoConfigMaps)
	foreign := w.configMap("one").DeepCopy()
	foreign.ResourceVersion, foreign.UID, foreign.Name, foreign.Labels, foreign.Annotations = "", "", "two", nil, nil
	if err := w.server.Client().Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	_, err := w.deploy("helmDeployment: true")
	assertFailure(t, err, failed{reason: "installRelease", contains: []string{`ConfigMap "two"`, "cannot be imported"}})
	w.succeed("{helmDeployment: true, helmDeploymentConfig: {install: {takeOwnership: true}}}")
	if diff := cmp.Diff([]string{"one=default", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
}
