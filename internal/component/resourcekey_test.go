// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/base64"
	"reflect"
	"testing"
)

func TestResourceKey(t *testing.T) {
	cases := map[string]struct {
		key  ResourceKey
		text string
	}{
		"by name": {ResourceKey{ID{"example.com/garden", "1.0.0"}, Named("gate")},
			"component:\n  name: example.com/garden\n  version: 1.0.0\nresource:\n  name: gate\n"},
		"with extra identity": {ResourceKey{ID{"example.com/garden", "1.10"}, Identity{"name": "bench", "seats": "3", "version": "1.0"}},
			"component:\n  name: example.com/garden\n  version: \"1.10\"\nresource:\n  name: bench\n  seats: \"3\"\n  version: \"1.0\"\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			encoded, err := c.key.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if decoded, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(decoded) != c.text {
				t.Errorf("got %q, %v, want %q", decoded, err, c.text)
			}
			if again, err := ParseResourceKey(encoded); err != nil || !reflect.DeepEqual(again, c.key) {
				t.Errorf("read again it is %+v, %v", again, err)
			}
		})
	}
}

func TestResourceKeyLeadsBackToTheResource(t *testing.T) {
	set := fixture(t)
	for _, d := range set.All() {
		for i := range d.Resources {
			encoded, err := Resolution{Component: d, Resource: &d.Resources[i]}.Key().Encode()
			if err != nil {
				t.Fatal(err)
			}
			key, err := ParseResourceKey(encoded)
			if err != nil {
				t.Fatal(err)
			}
			component, err := set.Lookup(key.Component)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := component.Resource(key.Resource); err != nil || r != &d.Resources[i] {
				t.Errorf("%+v leads to %v, %v", key, r, err)
			}
		}
	}
}

func TestParseResourceKeyRefuses(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for text, want := range map[string]string{
		"not base64!":  "not a text that getResourceKey returned",
		"":             "the document is empty",
		encode("[]"):   "must be an object",
		encode("a: b"): "component.name: is required",
		encode("component: {name: a, version: 1}\nresource: {name: r}"):        "component.version: must be a text",
		encode("component: {name: a, version: '1'}\nresource: {version: '1'}"): "resource.name: is required",
	} {
		_, err := ParseResourceKey(text)
		wantError(t, err, want)
	}
}
