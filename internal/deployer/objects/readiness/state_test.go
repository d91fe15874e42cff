// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestStates(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		missing string
		failed  string
	}{
		"a ConfigMap":       {text: "{apiVersion: v1, kind: ConfigMap}"},
		"a custom resource": {text: "{apiVersion: a/v1, kind: X}"},
		"a custom resource, not ready": {
			text:    "{apiVersion: a/v1, kind: X, status: {conditions: [{type: Ready, status: 'False', message: warming up}]}}",
			missing: "warming up",
		},
		"a custom resource, ready": {text: "{apiVersion: a/v1, kind: X, status: {conditions: [{type: Ready, status: 'True'}]}}"},
		"a custom resource, stalled": {
			text:    "{apiVersion: a/v1, kind: X, status: {conditions: [{type: Stalled, status: 'True', message: no quota}]}}",
			missing: "no quota",
		},
		"an old generation": {
			text:    "{apiVersion: a/v1, kind: X, metadata: {generation: 2}, status: {observedGeneration: 1}}",
			missing: "generation",
		},
		"a new StatefulSet": {text: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1}}", missing: "Replicas: 0/1"},
		"a new DaemonSet": {
			text:    "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}}",
			missing: "observedGeneration",
		},
		"a DaemonSet whose pods are scheduled": {
			text: "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, " +
				"currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 1, numberAvailable: 1}}",
			missing: "Available: 1/2",
		},
		"a DaemonSet with pods of before": {
			text: "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, status: {observedGeneration: 2, desiredNumberScheduled: 2, " +
				"currentNumberScheduled: 2, updatedNumberScheduled: 1, numberReady: 2, numberAvailable: 2}}",
			missing: "Updated: 1/2",
		},
		"a ready DaemonSet": {
			text: "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, " +
				"currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2, numberAvailable: 2}}",
		},
		"a new Job": {text: "{apiVersion: batch/v1, kind: Job}", missing: "not complete"},
		"a running Job": {
			text:    "{apiVersion: batch/v1, kind: Job, status: {active: 1, startTime: x}}",
			missing: "not complete",
		},
		"a complete Job": {text: "{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}"},
		"a failed Job": {
			text:   "{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True', message: too often}]}}",
			failed: "too often",
		},
		"a failed Pod":                 {text: "{apiVersion: v1, kind: Pod, status: {phase: Failed, message: evicted}}", failed: "evicted"},
		"a pending Pod":                {text: "{apiVersion: v1, kind: Pod, status: {phase: Pending}}", missing: "not ready"},
		"a Pod that has done its work": {text: "{apiVersion: v1, kind: Pod, status: {phase: Succeeded}}"},
		"a ReplicationController": {
			text:    "{apiVersion: v1, kind: ReplicationController, spec: {replicas: 2}, status: {observedGeneration: 1, readyReplicas: 1}}",
			missing: "1 of 2",
		},
		"a ready ReplicationController": {text: "{apiVersion: v1, kind: ReplicationController, status: {observedGeneration: 1, readyReplicas: 1}}"},
		"an unbound claim": {
			text:    "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}",
			missing: "PVC is not Bound",
		},
		"a definition":                    {text: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}", missing: "not ready"},
		"an APIService":                   {text: "{apiVersion: apiregistration.k8s.io/v1, kind: APIService}", missing: "not available"},
		"an APIService that is available": {text: "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: 'True'}]}}"},
		"something in deletion": {
			text:    "{apiVersion: v1, kind: ConfigMap, metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}}",
			missing: "deletion",
		},
		"a hostile status": {
			text:    "{apiVersion: v1, kind: Pod, status: {phase: Running, containerStatuses: [x]}}",
			missing: "cannot be parsed",
		},
		"conditions of another type": {text: "{apiVersion: a/v1, kind: X, status: {conditions: x}}", missing: "cannot be parsed"},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			raw, _ := yaml.YAMLToJSON([]byte(c.text))
			if err := object.UnmarshalJSON(raw); err != nil {
				t.Fatal(err)
			}
			state := Of(object)
			if state.Ready != (c.missing == "" && c.failed == "") || !strings.Contains(state.Missing, c.missing) ||
				!strings.Contains(state.Failed, c.failed) {
				t.Errorf("%+v", state)
			}
		})
	}
}
