// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"reflect"
	"testing"

	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/web/view"
)

func TestLiveObjects(t *testing.T) {
	got := view.NewLive([]objecttree.DeployedObject{{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "web", State: objecttree.NotReady, Message: "0 of 1",
		Below: []objecttree.DeployedObject{{APIVersion: "v1", Kind: "Pod", Name: "web-1", State: objecttree.Broken}},
	}, {Kind: "ConfigMap", Name: "x"}})
	want := []view.LiveObject{{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "web",
		Status: view.Status{Tone: view.Waits, Word: "NotReady", Message: "0 of 1"},
		Below: []view.LiveObject{{
			APIVersion: "v1", Kind: "Pod", Name: "web-1", Status: view.Status{Tone: view.Failed, Word: "Failed"}, Below: []view.LiveObject{},
		}},
	}, {Kind: "ConfigMap", Name: "x", Status: view.Status{Tone: view.NotYet, Word: "NotChecked"}, Below: []view.LiveObject{}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if none := view.NewLive(nil); none == nil || len(none) != 0 {
		t.Errorf("no objects are %v, which JSON has no list for", none)
	}
}
