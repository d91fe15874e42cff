// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatAHandoverTakesAway(t *testing.T) {
	const object = `{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},
		"spec":{"replicas":2,"ports":[{"port":80,"name":"a","protocol":"TCP"},{"port":81,"name":"b","protocol":"TCP"}]}}`
	for name, test := range map[string]struct{ ours, needed, want string }{
		"nothing of ours": {`{}`, `{}`, object},
		"what the manifest still has": {
			`{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:replicas":{}}}`, object,
		},
		"a field, and an element of a list": {
			`{"f:spec":{"f:replicas":{},"f:ports":{".":{},"k:{\"port\":80}":{".":{},"f:port":{}},"k:{\"port\":81}":{".":{},"f:port":{}}}}}`,
			`{"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}`,
			`{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},"spec":{"ports":[{"port":80,"name":"a","protocol":"TCP"}]}}`,
		},
		"a field of an element that others have": {
			`{"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:name":{},"f:port":{}}}}}`,
			`{"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}`,
			`{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x","y"]},"spec":{"replicas":2,
				"ports":[{"port":80,"protocol":"TCP"},{"port":81,"name":"b","protocol":"TCP"}]}}`,
		},
		"labels and finalizers, and what is empty then": {
			`{"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}},"f:finalizers":{".":{},"v:\"x\"":{}}}}`,
			`{"f:metadata":{"f:finalizers":{"v:\"y\"":{}}}}`,
			`{"metadata":{"finalizers":["y"]},"spec":{"replicas":2,
				"ports":[{"port":80,"name":"a","protocol":"TCP"},{"port":81,"name":"b","protocol":"TCP"}]}}`,
		},
		"what is not there": {`{"f:data":{"f:a":{}},"f:spec":{"f:replicas":{"f:deep":{}}}}`, `{}`, object},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want map[string]any
			var ours, needed fieldSet
			for _, each := range []struct {
				text string
				into any
			}{{object, &got}, {test.ours, &ours}, {test.needed, &needed}, {test.want, &want}} {
				if err := json.Unmarshal([]byte(each.text), each.into); err != nil {
					t.Fatal(err)
				}
			}
			changed := takeAway(got, []fieldSet{ours}, []fieldSet{needed})
			if difference := cmp.Diff(want, got); difference != "" || changed == (test.want == object) {
				t.Errorf("changed: %v\n%s", changed, difference)
			}
		})
	}
}
