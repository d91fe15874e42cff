// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	espalier "espalier.dev/api/espalier/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func TestPIP08_WhichReferencesLeaveTheNamespace(t *testing.T) {
	app := pipelines.AppReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: "app"}
	on := func(kind pipelines.ClusterKind, namespace string) *pipelines.ClusterReference {
		return &pipelines.ClusterReference{Kind: kind, Namespace: namespace, Name: "c"}
	}
	for _, test := range []struct {
		target pipelines.Target
		want   string
	}{
		{pipelines.Target{Namespace: "here"}, ""},
		{pipelines.Target{Namespace: "there"}, "helm.toolkit.fluxcd.io HelmRelease there/app"},
		{pipelines.Target{Namespace: "there", ClusterRef: on("Target", "")}, ""},
		{pipelines.Target{Namespace: "there", ClusterRef: on("Target", "here")}, ""},
		{pipelines.Target{Namespace: "here", ClusterRef: on("Target", "there")}, "landscaper.gardener.cloud Target there/c"},
		{pipelines.Target{Namespace: "here", ClusterRef: on("GitopsCluster", "there")}, "gitops.weave.works GitopsCluster there/c"},
		{pipelines.Target{Namespace: "here", ClusterRef: on("GitopsCluster", "")}, ""},
	} {
		got := ""
		if r, foreign := ReferenceOf("here", app, test.target); foreign {
			got = r.To.Group + " " + r.To.String()
		}
		if got != test.want {
			t.Errorf("%+v refers to %q, want %q", test.target, got, test.want)
		}
	}
}

// A grant that differs from the right one in at least one respect permits nothing.
func TestPIP08_OnlyTheGrantForItPermitsAReference(t *testing.T) {
	r := Reference{From: "here", To: ObjectName{Group: "g.example", Kind: "K", Namespace: "there", Name: "app"}}
	choose := func(number *int, right string, wrong ...string) (string, bool) {
		options := append([]string{right}, wrong...)
		i := *number % len(options)
		*number /= len(options)
		return options[i], i == 0
	}
	for number := range 2 * 3 * 2 * 2 * 2 * 2 * 3 {
		rest := number
		namespace, a := choose(&rest, "there", "elsewhere")
		group, b := choose(&rest, pipelines.GroupName, "", "other.example")
		kind, c := choose(&rest, "Pipeline", "Installation")
		from, d := choose(&rest, "here", "there")
		toGroup, e := choose(&rest, "g.example", "")
		toKind, f := choose(&rest, "K", "Secret")
		name, g := choose(&rest, "app", "ap", "application")
		grant := espalier.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: espalier.ReferenceGrantSpec{
			From: []espalier.ReferenceGrantFrom{{Group: group, Kind: kind, Namespace: from}},
			To:   []espalier.ReferenceGrantTo{{Group: toGroup, Kind: toKind, Name: name}},
		}}
		if got, want := r.PermittedBy([]espalier.ReferenceGrant{{}, grant}), a && b && c && d && e && f && g; got != want {
			t.Errorf("%+v permits it: %t", grant, got)
		}
		grant.Spec.To[0].Name = ""
		if got, want := r.PermittedBy([]espalier.ReferenceGrant{grant}), a && b && c && d && e && f; got != want {
			t.Errorf("%+v permits it: %t", grant, got)
		}
	}
}

// Grants do not complete each other: from of one and to of another do not form a pair.
func TestPIP08_GrantsAreNotMixed(t *testing.T) {
	r := Reference{From: "here", To: ObjectName{Group: "g.example", Kind: "K", Namespace: "there", Name: "app"}}
	grant := func(from, kind string) espalier.ReferenceGrant {
		return espalier.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: "there"}, Spec: espalier.ReferenceGrantSpec{
			From: []espalier.ReferenceGrantFrom{{Group: pipelines.GroupName, Kind: "Pipeline", Namespace: from}},
			To:   []espalier.ReferenceGrantTo{{Group: "g.example", Kind: kind}},
		}}
	}
	if r.PermittedBy([]espalier.ReferenceGrant{grant("here", "Other"), grant("elsewhere", "K")}) {
		t.Error("two halves were taken for a whole")
	}
	if !r.PermittedBy([]espalier.ReferenceGrant{grant("here", "Other"), grant("here", "K")}) {
		t.Error("it is not permitted")
	}
}

func TestPIP08_KindsAreAClosedSet(t *testing.T) {
	own := []schema.GroupKind{{Group: "apps.example", Kind: "App"}}
	for _, test := range []struct {
		version, kind string
		kinds         []schema.GroupKind
		permitted     bool
	}{
		{"helm.toolkit.fluxcd.io/v2", "HelmRelease", DefaultKinds(), true},
		{"helm.toolkit.fluxcd.io/v2beta1", "HelmRelease", DefaultKinds(), true},
		{"kustomize.toolkit.fluxcd.io/v1", "Kustomization", DefaultKinds(), true},
		{"infra.contrib.fluxcd.io/v1alpha2", "Terraform", DefaultKinds(), true},
		{"landscaper.gardener.cloud/v1alpha1", "Installation", DefaultKinds(), true},
		{"landscaper.gardener.cloud/v1alpha1", "Target", DefaultKinds(), false},
		{"v1", "Secret", DefaultKinds(), false},
		{"apps.example/v1", "App", DefaultKinds(), false},
		{"apps.example/v1", "App", own, true},
		{"helm.toolkit.fluxcd.io/v2", "HelmRelease", own, false},
		{"v1", "HelmRelease", DefaultKinds(), false},
		{"a/b/c", "HelmRelease", DefaultKinds(), false},
	} {
		problem := KindRefused(pipelines.AppReference{APIVersion: test.version, Kind: test.kind, Name: "x"}, test.kinds)
		if (problem == Problem{}) != test.permitted {
			t.Errorf("%s of %s: %+v", test.kind, test.version, problem)
		}
		if !test.permitted &&
			(!strings.Contains(problem.Message, test.kinds[0].String()) || !strings.Contains(problem.Message, fmt.Sprintf("%q", test.kind))) {
			t.Errorf("it says %q", problem.Message)
		}
	}
}

// A target that may not be read never leads to a promotion, whatever the other targets are.
func TestPIP08_ADeniedReferenceHoldsAndIsReportedOnce(t *testing.T) {
	gone := Target{Problem: Reference{From: "shop", To: ObjectName{Kind: "HelmRelease", Namespace: "prod", Name: "app"}}.Refused()}
	s := newScene(t, notifications(), []Target{at("1")}, []Target{gone, at("0")})
	if done := s.decide(); len(done) > 0 {
		t.Fatalf("it does %v", done)
	}
	told := func() (count int) {
		for _, n := range s.announced {
			if n.Reason == pipelines.ReasonReferenceNotPermitted && n.Warning {
				count++
			}
		}
		return count
	}
	if hold := s.Status.Holds[0]; hold.Reason != pipelines.HoldReferenceNotPermitted || told() != 1 {
		t.Errorf("the hold is %+v, told %d times", hold, told())
	}
	s.decide()
	if told() != 0 {
		t.Error("it is told again")
	}
	s.set(1, at("0"), at("0")).decide()
	if len(s.Status.Holds) > 0 && s.Status.Holds[0].Reason == pipelines.HoldReferenceNotPermitted {
		t.Errorf("it is still held: %+v", s.Status.Holds)
	}
}
