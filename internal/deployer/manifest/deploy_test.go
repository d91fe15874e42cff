// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"slices"
	"testing"

	manifestapi "espalier.dev/api/deployer/manifest/v1alpha2"
)

const oneConfigMap = `
manifests:
- manifest:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: one, namespace: NAMESPACE}
    data: {key: value}
`

func TestAnObjectIsAppliedTrackedAndDeleted(t *testing.T) {
	w := newWorld(t)
	w.succeed(oneConfigMap)
	if object := w.configMap("one"); object == nil || object.Data["key"] != "value" ||
		object.Labels[manifestapi.ManagedDeployItemLabel] != "item" {
		t.Fatalf("the object is %+v", object)
	}
	if got := w.managed(); !slices.Equal(got, []string{"ConfigMap/one"}) {
		t.Errorf("the inventory is %v", got)
	}
	w.delete()
	if object := w.configMap("one"); object != nil {
		t.Errorf("it is still there: %+v", object)
	}
	if got := w.managed(); len(got) != 0 {
		t.Errorf("the inventory is %v", got)
	}
}

func TestRequestsOfAJob(t *testing.T) {
	w := newWorld(t)
	seen := 0
	w.succeed(oneConfigMap)
	if got := w.requests(&seen); !slices.Equal(got, []string{"create configmaps"}) {
		t.Errorf("a new object took %v", got)
	}
	w.succeed(oneConfigMap)
	if got := w.requests(&seen); !slices.Equal(got, []string{"get configmaps"}) {
		t.Errorf("an unchanged object took %v", got)
	}
	w.restart()
	w.succeed(oneConfigMap)
	if got := w.requests(&seen); !slices.Equal(got, []string{"get configmaps"}) {
		t.Errorf("an unchanged object took %v after a restart", got)
	}
}
