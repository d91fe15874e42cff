// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

func TestDeployed(t *testing.T) {
	for name, test := range map[string]struct {
		status string
		want   []string
	}{
		"nothing":      {"", nil},
		"none of ours": {`{"managedResources":"many"}`, nil},
		"objects": {
			`{"managedResources":[{"policy":"manage","resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"a","name":"b"}},
				{"resource":{"apiVersion":"v1","kind":"Namespace","name":"a"}}]}`,
			[]string{"ConfigMap/b in a", "Namespace/a"},
		},
		"objects of the first version": {
			`{"managedResources":[{"apiVersion":"v1","kind":"ConfigMap","namespace":"a","name":"b"}]}`,
			[]string{"ConfigMap/b in a"},
		},
		"a release": {
			`{"release":{"name":"shop","namespace":"a","revision":2,"chart":"shop","chartVersion":"1.2.0"},
				"managedResources":[{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"a","name":"shop"}}]}`,
			[]string{"release a/shop, revision 2, chart shop 1.2.0", "Deployment/shop in a"},
		},
		"a release that is about to be": {`{"release":{"name":"shop","namespace":"a"}}`, []string{"release a/shop"}},
	} {
		item := &lsv1alpha1.DeployItem{}
		if test.status != "" {
			item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(test.status)}
		}
		node := &Node{Kind: DeployItem, Object: item}
		if diff := cmp.Diff(test.want, node.Deployed().Titles()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := (&Node{Kind: Installation, Object: &lsv1alpha1.Installation{}}).Deployed().Titles(); got != nil {
		t.Errorf("an installation: %q", got)
	}
}

// What is known of objects besides their names comes from both versions of the record.
func TestManagedBy(t *testing.T) {
	item := &lsv1alpha1.DeployItem{}
	if got := ManagedBy(item); got != nil {
		t.Errorf("of an item without a record: %v", got)
	}
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"managedResources":[
		{"policy":"keep","resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"a","name":"b","uid":"1"}},
		{"apiVersion":"v1","kind":"Secret","namespace":"a","name":"c"}]}`)}
	want := []Managed{
		{DeployedObject: DeployedObject{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "b"}, UID: "1", Policy: "keep"},
		{DeployedObject: DeployedObject{APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: "c"}},
	}
	if diff := cmp.Diff(want, ManagedBy(item)); diff != "" {
		t.Error(diff)
	}
}

// A valid name is shown, and an invalid one is not: it may be the value of a Secret.
func TestTargetsOfDeployItems(t *testing.T) {
	for name, want := range map[string]string{"": "", "cluster": "cluster", "garden.east-1": "garden.east-1", "Pa55_word+": "<masked>"} {
		item := &lsv1alpha1.DeployItem{Spec: lsv1alpha1.DeployItemSpec{Target: &lsv1alpha1.ObjectReference{Name: name}}}
		if got := (&Node{Kind: DeployItem, Object: item}).Target(); got != want {
			t.Errorf("target %q is shown as %q", name, got)
		}
	}
}
