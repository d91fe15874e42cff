// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/objecttree"
)

func target(name string, labels map[string]string) *lsv1alpha1.Target {
	return &lsv1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name, Labels: labels}}
}

// copied is the Target that an installation creates from an imported one. An element of a list or map has one more label.
func copied(installation, imported string, element ...string) *lsv1alpha1.Target {
	context, reference := dataflow.ContextOf(installation), imported
	labels := map[string]string{
		lsv1alpha1.DataObjectContextLabel: context, lsv1alpha1.DataObjectSourceLabel: context, lsv1alpha1.DataObjectKeyLabel: imported,
		lsv1alpha1.DataObjectSourceTypeLabel: lsv1alpha1.DataObjectSourceImport,
	}
	if len(element) > 0 {
		labels[element[0]], reference = element[1], imported+"["+element[1]+"]"
	}
	return target(dataflow.ObjectName(context, reference), labels)
}

// importing is an installation with imports.
func importing(name, parent string, imports ...lsv1alpha1.TargetImport) *lsv1alpha1.Installation {
	i := installation(name, parent, lsv1alpha1.RunStatus{})
	i.Namespace, i.Spec.Imports.Targets = "shops", imports
	return i
}

// A Target that installations have passed down has the name that its user gave it, however often it was passed down and whatever its name
// on the way.
func TestOrigins(t *testing.T) {
	var objects objecttree.Objects
	for _, inst := range []*lsv1alpha1.Installation{
		importing("shop", "", lsv1alpha1.TargetImport{Name: "main", Target: "production"},
			lsv1alpha1.TargetImport{Name: "some", Targets: []string{"north", "south"}},
			lsv1alpha1.TargetImport{Name: "by-region", TargetMap: map[string]string{"eu": "frankfurt"}}),
		importing("web", "shop", lsv1alpha1.TargetImport{Name: "cluster", Target: "main"},
			lsv1alpha1.TargetImport{Name: "second", Target: "some[1]"}, lsv1alpha1.TargetImport{Name: "third", Target: "by-region[eu]"}),
		importing("leaf", "web", lsv1alpha1.TargetImport{Name: "there", Target: "cluster"},
			lsv1alpha1.TargetImport{Name: "made", Target: "made"}, lsv1alpha1.TargetImport{Name: "round", Target: "round"}),
	} {
		objects.Put(inst)
	}
	exported := target(dataflow.ObjectName(dataflow.ContextOf("web"), "made"), map[string]string{
		lsv1alpha1.DataObjectContextLabel: dataflow.ContextOf("web"), lsv1alpha1.DataObjectKeyLabel: "made",
		lsv1alpha1.DataObjectSourceTypeLabel: lsv1alpha1.DataObjectSourceExport,
	})
	circle := copied("leaf", "round")
	circle.Name = dataflow.ObjectName(dataflow.ContextOf("web"), "round")
	targets := map[string]*lsv1alpha1.Target{
		"production": copied("shop", "main"), "south": copied("shop", "some", lsv1alpha1.DataObjectIndexLabel, "1"),
		"frankfurt": copied("shop", "by-region", lsv1alpha1.DataObjectTargetMapKeyLabel, "eu"), "made": exported,
	}
	handedDown := map[string]*lsv1alpha1.Target{
		"production": copied("leaf", "there"), "south": copied("web", "second"), "frankfurt": copied("web", "third"), "made": copied("leaf", "made"),
	}
	between := copied("web", "cluster")
	origins := objecttree.NewOrigins(objects.Forest())
	for _, target := range []*lsv1alpha1.Target{between, circle, target("own", nil)} {
		origins.Add(target)
	}
	for want := range targets {
		origins.Add(targets[want])
		origins.Add(handedDown[want])
		for _, target := range []*lsv1alpha1.Target{targets[want], handedDown[want]} {
			if got := origins.Name("shops", target.Name); got != want {
				t.Errorf("the Target %s of %s is called %s", want, target.Labels[lsv1alpha1.DataObjectSourceLabel], got)
			}
		}
	}
	for _, name := range []string{"own", "unknown"} {
		if got := origins.Name("shops", name); got != name {
			t.Errorf("%s is called %s", name, got)
		}
	}
	if got := origins.Name("shops", circle.Name); got != "round" {
		t.Errorf("one of a circle is called %s", got)
	}
	if got := origins.Name("elsewhere", between.Name); got != between.Name {
		t.Errorf("a Target of another namespace is called %s", got)
	}
}
