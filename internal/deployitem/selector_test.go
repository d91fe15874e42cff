// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
)

func aTarget() *lsv1alpha1.Target {
	return &lsv1alpha1.Target{ObjectMeta: metav1.ObjectMeta{
		Namespace: "garden", Name: "north",
		Labels:      map[string]string{"fence": "blue"},
		Annotations: map[string]string{"team": "a"},
	}}
}

func TestTargetSelectors(t *testing.T) {
	tests := map[string]bool{
		"labels=fence=blue":                      true,
		"labels=fence==blue":                     true,
		"labels=fence":                           true,
		"labels=!fence":                          false,
		"labels=fence!=blue":                     false,
		"labels=gate!=blue":                      true,
		"labels=fence in (red,blue)":             true,
		"labels=fence notin (red,blue)":          false,
		"labels=gate notin (red)":                true,
		"labels=fence=blue,gate":                 false,
		"annotations=team=a":                     true,
		"annotations=team=b":                     false,
		"targets=garden/north":                   true,
		"targets=north":                          true,
		"targets=yard/north":                     false,
		"targets=garden/south,garden/north":      true,
		"targets=garden/north; labels=fence=red": false,
		"targets=garden/north; labels=fence=blue;annotations=team=a": true,
	}
	for text, want := range tests {
		s, err := deployitem.ParseTargetSelector(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := deployitem.Selects([]deployitem.TargetSelector{s}, aTarget()); got != want {
			t.Errorf("%s: chosen %v", text, got)
		}
	}
	if !deployitem.Selects(nil, aTarget()) {
		t.Error("without selectors nothing is chosen")
	}
	red, _ := deployitem.ParseTargetSelector("labels=fence=red")
	north, _ := deployitem.ParseTargetSelector("targets=north")
	if !deployitem.Selects([]deployitem.TargetSelector{red, north}, aTarget()) {
		t.Error("one of two selectors is not enough")
	}
}

func TestTargetSelectorsThatMakeNoSense(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "is invalid",
		"fence=blue":           "is invalid",
		"targets=":             "is not the name of a Target",
		"targets=/north":       "is not the name of a Target",
		"labels=":              "empty selector",
		"labels=fence in ()x(": "fence",
		"labels=a=b; whatever": "is invalid",
	} {
		if _, err := deployitem.ParseTargetSelector(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for want, s := range map[string]deployitem.TargetSelector{
		"targets[0].name is empty":               {Targets: []lsv1alpha1.ObjectReference{{}}},
		"labels[0]: key is empty":                {Labels: []deployitem.Requirement{{Operator: "exists"}}},
		"annotations[0]: unknown operator \"~\"": {Annotations: []deployitem.Requirement{{Key: "a", Operator: "~"}}},
		"operator in needs at least one":         {Labels: []deployitem.Requirement{{Key: "a", Operator: "in"}}},
		"operator = needs exactly one":           {Labels: []deployitem.Requirement{{Key: "a", Operator: "=", Values: []string{"b", "c"}}}},
		"operator exists takes no values":        {Labels: []deployitem.Requirement{{Key: "a", Operator: "exists", Values: []string{"b"}}}},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestWhoIsResponsible(t *testing.T) {
	blue, _ := deployitem.ParseTargetSelector("labels=fence=blue")
	red, _ := deployitem.ParseTargetSelector("labels=fence=red")
	on := func(name string) *lsv1alpha1.DeployItem {
		i := item("", "b", "")
		i.Namespace = "garden"
		if name != "" {
			i.Spec.Target = &lsv1alpha1.ObjectReference{Name: name, Namespace: "garden"}
		}
		return i
	}
	other := on("north")
	other.Spec.Type = "example.org/other"
	continuous := on("north")
	continuous.Spec.Flow = lsv1alpha1.FlowContinuous
	before := on("north")
	before.Status.Deployer = role.Info
	tests := map[string]struct {
		item      *lsv1alpha1.DeployItem
		target    *lsv1alpha1.Target
		selectors []deployitem.TargetSelector
		want      bool
	}{
		"no selectors":                      {on("north"), aTarget(), nil, true},
		"no selectors, no Target":           {on(""), nil, nil, true},
		"chosen":                            {on("north"), aTarget(), []deployitem.TargetSelector{blue}, true},
		"not chosen":                        {on("north"), aTarget(), []deployitem.TargetSelector{red}, false},
		"selectors, but no Target":          {on(""), nil, []deployitem.TargetSelector{blue}, false},
		"selectors, and the Target is gone": {on("north"), nil, []deployitem.TargetSelector{blue}, false},
		"the same, but worked on it before": {before, nil, []deployitem.TargetSelector{blue}, true},
		"another type":                      {other, aTarget(), nil, false},
		"the continuous flow":               {continuous, aTarget(), nil, true},
	}
	for name, test := range tests {
		r := role
		r.Selectors = test.selectors
		if got := deployitem.NewObserved(deployitem.Snapshot{Item: test.item, Target: test.target, Role: r, Now: noon}).Mine; got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
