// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestTenRevisionsAreKept(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	for job := range 13 {
		w.succeed(fmt.Sprintf("values: {key: job-%d}", job+1))
	}
	var want []string
	for revision := 4; revision < 13; revision++ {
		want = append(want, fmt.Sprintf("%d=superseded", revision))
	}
	if diff := cmp.Diff(append(want, "13=deployed"), w.history("shop")); diff != "" {
		t.Error(diff)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

// forget deletes the records of revisions, like somebody who cleans up Secrets.
func (w *world) forget(revisions ...int) {
	w.t.Helper()
	for _, revision := range revisions {
		record := &corev1.Secret{}
		w.read(fmt.Sprintf("sh.helm.release.v1.shop.v%d", revision), record)
		if err := w.server.Client().Delete(w.t.Context(), record); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The objects of a release are known only from its records. Without the records, the deletion finishes, and the objects
// stay.
func TestDeletionWithoutTheRecordsOfTheReleaseEnds(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps)
	w.succeed("")
	w.forget(1)
	w.delete()
	if diff := cmp.Diff([]string{"one=default", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

// The next job creates a release again from the existing objects.
func TestAReleaseWithoutItsRecordsIsMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		gone []int
		want []string
	}{
		"all":        {[]int{1, 2}, []string{"1=deployed"}},
		"the newest": {[]int{2}, []string{"1=superseded", "2=deployed"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap)
			w.succeed("")
			w.use(twoConfigMaps)
			w.succeed("")
			one, two := w.uid("one"), w.uid("two")
			w.forget(c.gone...)
			w.succeed("")
			if diff := cmp.Diff(c.want, w.history("shop")); diff != "" {
				t.Error(diff)
			}
			if w.uid("one") != one || w.uid("two") != two {
				t.Error("an object was deleted and created anew")
			}
			if got, want := w.status().Release.Revision, len(c.want); got != want {
				t.Errorf("the status shows revision %d, want %d", got, want)
			}
			w.delete()
			if diff := cmp.Diff([]string{}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const keptConfigMap = `
-- templates/kept.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}, data: {key: kept}}
`

func TestWhatAChartWantsToBeKeptOutlivesTheRelease(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap + keptConfigMap)
	w.succeed("")
	before := w.uid("kept")
	w.use(oneConfigMap)
	w.succeed("")
	if diff := cmp.Diff([]string{"kept=kept", "one=default"}, w.content()); diff != "" {
		t.Errorf("after an upgrade without it: %s", diff)
	}
	w.use(oneConfigMap + keptConfigMap)
	w.succeed("")
	w.delete()
	if diff := cmp.Diff([]string{"kept=kept"}, w.content()); diff != "" {
		t.Errorf("after the deletion: %s", diff)
	}
	if w.uid("kept") != before {
		t.Error("the object was deleted and created anew")
	}
}

// vanish removes a namespace with its content, as the namespace controller does.
func (w *world) vanish(namespace string) {
	w.t.Helper()
	c, object := w.server.Client(), &corev1.Namespace{}
	object.Name = namespace
	for _, step := range []func() error{
		func() error { return c.DeleteAllOf(w.t.Context(), &corev1.ConfigMap{}, client.InNamespace(namespace)) },
		func() error { return c.DeleteAllOf(w.t.Context(), &corev1.Secret{}, client.InNamespace(namespace)) },
		func() error { return c.Delete(w.t.Context(), object) },
		func() error { return c.Get(w.t.Context(), client.ObjectKeyFromObject(object), object) },
		func() error {
			object.Spec.Finalizers = nil
			return c.SubResource("finalize").Update(w.t.Context(), object)
		},
	} {
		if err := step(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// An upgrade does not handle the namespace. It need not: the records of the release are deleted with the namespace, so the next job
// installs.
func TestCreateNamespaceIsForInstallations(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap)
			other, seen := w.namespace+"-other", 0
			deploy := func(key string) (created bool) {
				w.succeed("{namespace: " + other + ", createNamespace: true, helmDeployment: " + mode + ", values: {key: " + key + "}}")
				object := &corev1.ConfigMap{}
				err := w.server.Client().Get(t.Context(), client.ObjectKey{Namespace: other, Name: "one"}, object)
				if err != nil || object.Data["key"] != key {
					t.Errorf("the object has %q instead of %q: %v", object.Data["key"], key, err)
				}
				return slices.Contains(w.writes(&seen), "create namespaces")
			}
			if !deploy("first") {
				t.Error("the installation did not create the namespace")
			}
			if deploy("second") {
				t.Error("the upgrade created the namespace")
			}
			w.vanish(other)
			if !deploy("third") {
				t.Error("the job after its end did not create the namespace")
			}
		})
	}
}
