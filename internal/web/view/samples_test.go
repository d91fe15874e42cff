// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

// samples returns the objects of the samples as input for documents.
func samples(t *testing.T) []client.Object {
	files, err := filepath.Glob("../../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	var objects []client.Object
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split("\n"+string(text), "\n---\n") {
			kinds := map[string]client.Object{
				"Installation": &lsv1alpha1.Installation{}, "Target": &lsv1alpha1.Target{}, "DataObject": &lsv1alpha1.DataObject{},
			}
			var head struct {
				Kind string `json:"kind"`
			}
			if err := yaml.Unmarshal([]byte(part), &head); err != nil || kinds[head.Kind] == nil {
				continue
			}
			if err := yaml.Unmarshal([]byte(part), kinds[head.Kind]); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			objects = append(objects, kinds[head.Kind])
		}
	}
	return objects
}

func TestSamples(t *testing.T) {
	s := sceneOf(samples(t)...)
	o := view.NewOverview(s)
	noNulls(t, o)
	noNulls(t, view.NewTargets(s))
	if len(o.Installations) == 0 {
		t.Fatal("the samples have no installation")
	}
	for _, row := range o.Installations {
		page := view.NewInstallation(s, row.Ref.Namespace, row.Ref.Name)
		noNulls(t, page)
		expect(t, row.Ref.Name, page.Exists, true)
		for _, value := range page.Rows[0].Imports {
			if value.Source.Kind == "DataObject" {
				expect(t, "import "+value.Name+" of "+row.Ref.Name+", which the samples provide, is missing", value.State == "missing", false)
			}
		}
	}
}

// Anybody can write labels, including circular ones, and names of all sorts.
func TestHostileObjects(t *testing.T) {
	a := testkit.Installation("a", "a").Label(lsv1alpha1.EncompassedByLabel, "b").ImportData("x", "x").ExportData("x", "x").Build()
	b := testkit.Installation("a", "b").Label(lsv1alpha1.EncompassedByLabel, "a").ImportData("x", "#x").Build()
	c := testkit.Installation("a", "c").Label(lsv1alpha1.EncompassedByLabel, "c").ImportTargets("t", "", "#").Build()
	d := testkit.Installation("a", "d").ImportData("y", "y").ExportData("z", "z").Build()
	e := testkit.Installation("a", "e").ImportData("z", "z").ExportData("y", "y").Build()
	for _, object := range []*lsv1alpha1.Installation{a, b, c, d, e} {
		object.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit, clitest.Error("<script>", "\x1b[31m%s%n<script>"))
		object.Spec.RevisionField = "importDataMappings.<script>"
	}
	orphan := testkit.Execution("a", "orphan").Build()
	item := clitest.ItemOf(orphan, "item")
	copied := testkit.Target("a", "copied").Label(lsv1alpha1.DataObjectSourceTypeLabel, "import").
		Label(lsv1alpha1.DataObjectSourceLabel, "Inst.c").Label(lsv1alpha1.DataObjectKeyLabel, "t").Label(lsv1alpha1.DataObjectIndexLabel, "-7").Build()
	item.Spec.Target = &lsv1alpha1.ObjectReference{Namespace: "a", Name: "copied"}
	s := sceneOf(a, b, c, d, e, orphan, item, copied)
	noNulls(t, view.NewOverview(s))
	noNulls(t, view.NewTargets(s))
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		page := view.NewInstallation(s, "a", name)
		noNulls(t, page)
		if page.Why == nil || !strings.Contains(page.Why.Quote, "<script>") &&
			!strings.Contains(page.Why.Quote, "installations wait for each other") {
			t.Errorf("%s: the words of others must stay as they are: %+v", name, page.Why)
		}
	}
}
