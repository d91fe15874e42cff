// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// The samples are applied unchanged, in the order in which kubectl takes the files of a folder.
func TestSamplesRunAsTheyAre(t *testing.T) {
	w := worldIn(&testkit.World{T: t, APIServer: testkit.Server(t), Namespace: "orchard"})
	w.run()
	strict := client.WithFieldValidation(w.Client(), "Strict")
	var installations []*lsv1alpha1.Installation
	for _, object := range w.samples() {
		if err := strict.Create(t.Context(), object); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == "Installation" {
			installations = append(installations, w.installation(object.GetName()))
		}
	}
	if len(installations) == 0 {
		t.Fatal("the samples hold no installation")
	}
	for _, installation := range installations {
		testkit.Eventually(t, w.APIServer, installation, func(i *lsv1alpha1.Installation) error {
			if i.Status.Phase != lsv1alpha1.PhaseSucceeded || i.Status.ObservedGeneration != i.Generation {
				return fmt.Errorf("it is in phase %q of generation %d", i.Status.Phase, i.Status.ObservedGeneration)
			}
			return nil
		})
	}
	for _, name := range []string{"greeting", "lawn", "fence", "gate", "hive-north", "hive-south", "pipes"} {
		if !w.Read(w.configMap(name)) {
			t.Errorf("no sample has deployed the ConfigMap %s", name)
		}
	}
	if got := w.data("expected-harvest"); got != `{"baskets":36}` {
		t.Errorf("the harvest is %s", got)
	}
	var all lsv1alpha1.InstallationList
	w.names(&all)
	for i := range all.Items {
		for _, c := range all.Items[i].Status.Conditions {
			if c.Type == lsv1alpha1.ConditionBlueprintWarnings {
				t.Errorf("installation %s: %s", all.Items[i].Name, c.Message)
			}
		}
	}
}

func (w *world) samples() []*unstructured.Unstructured {
	w.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml")) // sorted by name
	if err != nil {
		w.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			w.Fatal(err)
		}
		objects = append(objects, w.parse(string(content))...)
	}
	return objects
}
