// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

const (
	atRest      = "spec.flow: Invalid value: flow can only be changed while the installation is at rest: wait until status.phase is Succeeded, Failed or Aborted"
	typeIsFinal = "type cannot be changed, because another deployer would not know what this one has deployed"
)

func TestFlowChangesOnlyAtRest(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	tests := map[string]struct {
		status  string
		refusal string
	}{
		"never seen":                 {"", accepted},
		"seen, not started":          {"{observedGeneration: 0, phase: ''}", accepted},
		"succeeded":                  {"{observedGeneration: 1, phase: Succeeded, jobID: a, jobIDFinished: a}", accepted},
		"failed":                     {"{observedGeneration: 1, phase: Failed, jobID: a, jobIDFinished: a}", accepted},
		"aborted":                    {"{observedGeneration: 1, phase: Aborted}", accepted},
		"succeeded, next job given":  {"{observedGeneration: 1, phase: Succeeded, jobID: b, jobIDFinished: a}", atRest},
		"first job given":            {"{observedGeneration: 1, jobID: a}", atRest},
		"progressing":                {"{observedGeneration: 1, phase: Progressing, jobID: a}", atRest},
		"pending":                    {"{observedGeneration: 1, phase: PendingDependencies}", atRest},
		"deleting":                   {"{observedGeneration: 1, phase: Deleting}", atRest},
		"deletion failed, job ended": {"{observedGeneration: 1, phase: DeleteFailed, jobID: a, jobIDFinished: a}", atRest},
	}
	number := 0
	for name, test := range tests {
		for _, flows := range [][2]string{{"", "Continuous"}, {"Job", "Continuous"}, {"Continuous", "Job"}, {"Continuous", ""}} {
			number++
			t.Run(fmt.Sprintf("%s/%s to %s", name, flows[0], flows[1]), func(t *testing.T) {
				object := started{name: fmt.Sprintf("i%d", number), flow: flows[0], status: test.status}.create(t, server, namespace)
				setFlow(t, object, flows[1])
				checkRefusal(t, server.Client().Update(t.Context(), object), test.refusal)
			})
		}
	}
}

// Everything else can be changed at any time, the flow can be named explicitly, and the status can be written.
func TestFlowRuleStandsInNobodysWay(t *testing.T) {
	server := testkit.Server(t)
	object := started{name: "busy", status: "{observedGeneration: 1, phase: Progressing, jobID: a}"}.create(t, server, server.Namespace(t))
	setFlow(t, object, "Job")
	if err := unstructured.SetNestedField(object.Object, "other", "spec", "context"); err != nil {
		t.Fatal(err)
	}
	if err := server.Client().Update(t.Context(), object); err != nil {
		t.Errorf("a change of the context while a job runs: %v", err)
	}
	if err := unstructured.SetNestedField(object.Object, "Completing", "status", "phase"); err != nil {
		t.Fatal(err)
	}
	if err := server.Client().Status().Update(t.Context(), object); err != nil {
		t.Errorf("a change of the phase: %v", err)
	}
}

func TestTypeOfDeployItemIsFinal(t *testing.T) {
	server := testkit.Server(t)
	object := parse(t, []byte(deployItem("{type: t}")))[0]
	object.SetNamespace(server.Namespace(t))
	if err := server.Client().Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(object.Object, "5m", "spec", "timeout"); err != nil {
		t.Fatal(err)
	}
	if err := server.Client().Update(t.Context(), object); err != nil {
		t.Errorf("a change of the timeout: %v", err)
	}
	if err := unstructured.SetNestedField(object.Object, "u", "spec", "type"); err != nil {
		t.Fatal(err)
	}
	checkRefusal(t, server.Client().Update(t.Context(), object), typeIsFinal)
}

// Rules cost time, and the API server refuses an object whose rules take too long. Large objects must not meet that limit.
func TestRulesBearLargeObjects(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	for name, object := range map[string]*unstructured.Unstructured{
		"execution":    largeExecution(t, 2000),
		"installation": largeInstallation(1000, 300),
		"target maps":  largeTargetMaps(40, 500),
	} {
		t.Run(name, func(t *testing.T) {
			object.SetNamespace(namespace)
			if err := server.Client().Create(t.Context(), object, strict); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// largeExecution has items that each depend on many others.
func largeExecution(t *testing.T, count int) *unstructured.Unstructured {
	t.Helper()
	execution := &landscaper.Execution{}
	execution.SetGroupVersionKind(landscaper.SchemeGroupVersion.WithKind("Execution"))
	execution.Name = "large"
	timeout := landscaper.Duration("1h30m")
	for i := range count {
		item := landscaper.DeployItemTemplate{
			Name: fmt.Sprintf("item-%d", i), Type: "t", Timeout: &timeout,
			Target:        &landscaper.ObjectReference{Name: "cluster", Namespace: "default"},
			Configuration: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"K"}`)},
		}
		for before := max(0, i-20); before < i; before++ {
			item.DependsOn = append(item.DependsOn, fmt.Sprintf("item-%d", before))
		}
		execution.Spec.DeployItems = append(execution.Spec.DeployItems, item)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(execution)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func largeInstallation(dataImports, targetImports int) *unstructured.Unstructured {
	var data, targets []any
	for i := range dataImports {
		data = append(data, map[string]any{"name": fmt.Sprintf("data-%d", i), "dataRef": "d"})
	}
	for i := range targetImports {
		targets = append(targets, map[string]any{"name": fmt.Sprintf("target-%d", i), "target": "t"})
	}
	return installationObject("large", map[string]any{"data": data, "targets": targets})
}

func largeTargetMaps(maps, entries int) *unstructured.Unstructured {
	var targets []any
	for i := range maps {
		content := map[string]any{}
		for k := range entries {
			content[fmt.Sprintf("cluster-%d", k)] = fmt.Sprintf("target-%d", k)
		}
		targets = append(targets, map[string]any{"name": fmt.Sprintf("map-%d", i), "targetMap": content})
	}
	return installationObject("large-maps", map[string]any{"targets": targets})
}

func installationObject(name string, imports map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"blueprint": map[string]any{"ref": map[string]any{"resourceName": "b"}},
		},
	}}
	if imports != nil {
		object.Object["spec"].(map[string]any)["imports"] = imports
	}
	object.SetGroupVersionKind(landscaper.SchemeGroupVersion.WithKind("Installation"))
	object.SetName(name)
	return object
}

// started is an installation in some state.
type started struct{ name, flow, status string }

func (s started) create(t *testing.T, server *testkit.APIServer, namespace string) *unstructured.Unstructured {
	t.Helper()
	object := installationObject(s.name, nil)
	object.SetNamespace(namespace)
	setFlow(t, object, s.flow)
	if err := server.Client().Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if s.status == "" {
		return object
	}
	object.Object["status"] = parse(t, []byte("{apiVersion: v1, kind: K, status: "+s.status+"}"))[0].Object["status"]
	if err := server.Client().Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func setFlow(t *testing.T, object *unstructured.Unstructured, flow string) {
	t.Helper()
	if flow == "" {
		unstructured.RemoveNestedField(object.Object, "spec", "flow")
		return
	}
	if err := unstructured.SetNestedField(object.Object, flow, "spec", "flow"); err != nil {
		t.Fatal(err)
	}
}
