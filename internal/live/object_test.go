// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/live"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/testkit"
)

// The objects of a deploy item can be read, down to its pods. Other objects cannot, even though the Target permits it.
func TestSingleObjects(t *testing.T) {
	s := newStage(t, "")
	s.deployment(t)
	testkit.Create(t, s.server,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "settings"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "of-others"}})
	of := func(apiVersion, kind, name string) objecttree.DeployedObject {
		return objecttree.DeployedObject{APIVersion: apiVersion, Kind: kind, Namespace: s.namespace, Name: name}
	}
	deployed := objecttree.Deployed{Objects: []objecttree.DeployedObject{
		of("apps/v1", "Deployment", "web"), of("v1", "ConfigMap", "settings"), of("v1", "Secret", "lost"), of("example.org/v1", "Unknown", "x"),
	}}
	for name, test := range map[string]struct {
		wanted objecttree.DeployedObject
		err    live.ObjectError
		found  bool
	}{
		"recorded":                {wanted: of("v1", "ConfigMap", "settings"), found: true},
		"made for a workload":     {wanted: of("apps/v1", "ReplicaSet", "web-new"), found: true},
		"made for what was made":  {wanted: of("v1", "Pod", "web-new-1"), found: true},
		"recorded and gone":       {wanted: of("v1", "Secret", "lost"), err: live.ObjectError{Gone: true}},
		"of a kind nobody knows":  {wanted: of("example.org/v1", "Unknown", "x")},
		"somebody else's":         {wanted: of("v1", "ConfigMap", "of-others"), err: live.ObjectError{Strange: true}},
		"a pod of somebody else":  {wanted: of("v1", "Pod", "stranger"), err: live.ObjectError{Strange: true}},
		"a Secret of the cluster": {wanted: of("v1", "Secret", "of-others"), err: live.ObjectError{Strange: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.reader.Object(t.Context(), s.item, deployed, test.wanted)
			if test.found {
				if err != nil || got.GetName() != test.wanted.Name || got.GetUID() == "" {
					t.Errorf("%v %v", got, err)
				}
				return
			}
			var refused *live.ObjectError
			if !errors.As(err, &refused) || refused.Gone != test.err.Gone || refused.Strange != test.err.Strange {
				t.Errorf("%v", err)
			}
		})
	}
}

// A pod may lie about its owner: the owner must be the recorded one.
func TestAPodThatClaimsAnOwner(t *testing.T) {
	s := newStage(t, "")
	s.deployment(t)
	yes := true
	liar := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "liar"}, Spec: podTemplate.Spec}
	liar.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-new", UID: "another", Controller: &yes},
	}
	testkit.Create(t, s.server, liar)
	deployed := objecttree.Deployed{Objects: []objecttree.DeployedObject{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: s.namespace, Name: "web"},
	}}
	wanted := objecttree.DeployedObject{APIVersion: "v1", Kind: "Pod", Namespace: s.namespace, Name: "liar"}
	var refused *live.ObjectError
	if _, err := s.reader.Object(t.Context(), s.item, deployed, wanted); !errors.As(err, &refused) || !refused.Strange {
		t.Errorf("%v", err)
	}
}
