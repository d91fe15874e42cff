// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Each shard has its own Deployment, whose process knows its number, and whose pods belong only to it.
func TestEachShardHasADeployment(t *testing.T) {
	const shards = 3
	objects := byKey(t, rendered(t, "controller: {shards: 3, replicas: 2, flags: {workers: 4}}"))
	for number := 1; number <= shards; number++ {
		deployment := objects[fmt.Sprintf("Deployment %s/espalier-controller-%d", system, number)]
		if deployment == nil {
			t.Fatalf("there is no Deployment for shard %d", number)
		}
		flags, options := controllerFlags()
		if err := flags.Parse(argsOf(t, deployment)); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%d/%d", number, shards); options.Shard != want || options.Workers != 4 || options.Validate() != nil {
			t.Errorf("the process of shard %d is told %q, which means %v", number, argsOf(t, deployment), options.Shard)
		}
		selector, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
		labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
		if selector["espalier.dev/shard"] != fmt.Sprint(number) {
			t.Errorf("shard %d selects %v", number, selector)
		}
		for name, value := range selector {
			if labels[name] != value {
				t.Errorf("the pods of shard %d have the labels %v, and it selects %v", number, labels, selector)
			}
		}
	}
	if objects["Deployment "+system+"/espalier-controller"] != nil {
		t.Error("there is a Deployment for all of the work as well")
	}
}

// Each shard has one active replica: its own replicas are spread over nodes, and a drain takes one of them at a time, whatever the other
// shards' pods do.
func TestReplicasOfAShardAreSpread(t *testing.T) {
	const shards = 2
	objects := byKey(t, rendered(t, "controller: {shards: 2, replicas: 2}"))
	for number := 1; number <= shards; number++ {
		name := fmt.Sprintf("%s/espalier-controller-%d", system, number)
		deployment, budget := &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}
		for kind, into := range map[string]any{"Deployment ": deployment, "PodDisruptionBudget ": budget} {
			if objects[kind+name] == nil {
				t.Fatalf("there is no %s%s", kind, name)
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[kind+name].Object, into); err != nil {
				t.Fatal(err)
			}
		}
		own := deployment.Spec.Selector
		if diff := cmp.Diff(own, budget.Spec.Selector); diff != "" {
			t.Errorf("the budget of shard %d covers other pods than its Deployment: %s", number, diff)
		}
		constraints := deployment.Spec.Template.Spec.TopologySpreadConstraints
		for _, constraint := range constraints {
			if diff := cmp.Diff(own, constraint.LabelSelector); diff != "" {
				t.Errorf("shard %d is spread over %s among other pods than its own: %s", number, constraint.TopologyKey, diff)
			}
		}
		if len(constraints) != 2 {
			t.Errorf("shard %d is spread over %d kinds of places, not over nodes and zones", number, len(constraints))
		}
	}
	if objects["PodDisruptionBudget "+system+"/espalier-controller"] != nil {
		t.Error("a second budget covers all pods: the API server refuses to evict a pod with two")
	}
}

// Without shards nothing changes: the selector of a Deployment is immutable.
func TestWithoutShardsThereIsOneDeployment(t *testing.T) {
	deployment := byKey(t, rendered(t, "controller: {shards: 1}"))["Deployment "+system+"/espalier-controller"]
	if deployment == nil {
		t.Fatal("there is no Deployment")
	}
	args, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if text := fmt.Sprint(args); strings.Contains(text, "shard") {
		t.Errorf("the process is told %s", text)
	}
	selector, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	if len(selector) != 1 {
		t.Errorf("it selects %v", selector)
	}
}

func TestTheSchemaRefusesNumbersOfShards(t *testing.T) {
	for _, number := range []string{"0", "-1", "101", "1.5", "two"} {
		if _, err := renderWith(t, "controller: {shards: "+number+"}"); err == nil || !strings.Contains(err.Error(), "/controller/shards") {
			t.Errorf("%s: %v", number, err)
		}
	}
	if _, listed := readSchema(t).Properties["controller"].Properties["flags"].Properties["shard"]; listed {
		t.Error("the number of a shard can be set by a flag, for all shards alike")
	}
}
