// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"maps"
	"testing"
)

const toolbox = `
meta: {schemaVersion: v2}
component:
  name: example.com/toolbox
  version: 1.0.0
  resources:
  - {name: saw, version: 1.0.0, access: {type: x}}
  - {name: saw, version: 2.0.0, access: {type: x}}
  - {name: hammer, version: 1.0.0, access: {type: x}}
  - {name: drill, version: 1.0.0, extraIdentity: {os: linux, arch: amd64}, access: {type: x}}
  - {name: drill, version: 1.0.0, extraIdentity: {os: linux, arch: arm64}, access: {type: x}}
  - {name: nail, version: 1.0.0, access: {type: x}}
  - {name: nail, version: 1.0.0, extraIdentity: {length: "80"}, access: {type: x}}
  - {name: glue, version: 3.0.0, extraIdentity: {version: "9"}, access: {type: x}}
  componentReferences:
  - {name: box, componentName: example.com/box, version: 1.0.0}
`

func TestResourceBySelector(t *testing.T) {
	d := describe(t, toolbox)
	cases := map[string]struct {
		selector Identity
		// index is the expected position, -1 if an error with the given texts is expected.
		index int
		wrong []string
	}{
		"a name that is unique": {Named("hammer"), 2, nil},
		"a name with two versions": {
			Named("saw"),
			-1,
			[]string{"2 resources match name=saw", "saw,version=1.0.0", "saw,version=2.0.0"},
		},
		"with the version":                  {Identity{"name": "saw", "version": "2.0.0"}, 1, nil},
		"with a version that is not needed": {Identity{"name": "hammer", "version": "1.0.0"}, 2, nil},
		"with a wrong version": {
			Identity{"name": "hammer", "version": "9"},
			-1,
			[]string{
				"example.com/toolbox:1.0.0",
				"no resource with name=hammer,version=9",
				"it has the resources saw,version=1.0.0; saw,version=2.0.0; hammer",
			},
		},
		"extra identity in full":       {Identity{"name": "drill", "os": "linux", "arch": "arm64"}, 4, nil},
		"enough of the extra identity": {Identity{"name": "drill", "arch": "amd64"}, 3, nil},
		"too little of the extra identity": {
			Identity{"name": "drill", "os": "linux"},
			-1,
			[]string{"2 resources match", "arch=amd64", "arch=arm64"},
		},
		"a version that tells nothing":        {Identity{"name": "nail", "version": "1.0.0"}, -1, []string{"2 resources match"}},
		"a name that is an identity":          {Named("nail"), 5, nil},
		"no name at all":                      {Identity{"length": "80"}, 6, nil},
		"a version in the extra identity":     {Identity{"name": "glue", "version": "9"}, 7, nil},
		"the version behind that is no match": {Identity{"name": "glue", "version": "3.0.0"}, -1, []string{"no resource"}},
		"nothing of the kind":                 {Named("axe"), -1, []string{"no resource with name=axe"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := d.Resource(c.selector)
			if c.index < 0 {
				wantError(t, err, c.wrong...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r != &d.Resources[c.index] {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// The identity of a resource always selects it.
func TestIdentityLeadsBack(t *testing.T) {
	d := describe(t, toolbox)
	want := []Identity{
		{"name": "saw", "version": "1.0.0"}, {"name": "saw", "version": "2.0.0"}, {"name": "hammer"},
		{"name": "drill", "os": "linux", "arch": "amd64"}, {"name": "drill", "os": "linux", "arch": "arm64"},
		{"name": "nail"}, {"name": "nail", "length": "80"}, {"name": "glue", "version": "9"},
	}
	for i := range d.Resources {
		identity := d.IdentityOf(&d.Resources[i])
		if !maps.Equal(identity, want[i]) {
			t.Errorf("identity %v, want %v", identity, want[i])
		}
		if r, err := d.Resource(identity); err != nil || r != &d.Resources[i] {
			t.Errorf("%v leads to %v, %v", identity, r, err)
		}
	}
}

func TestReferenceBySelector(t *testing.T) {
	d := describe(t, toolbox)
	if r, err := d.Reference(Named("box")); err != nil || r.Target() != (ID{"example.com/box", "1.0.0"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err := d.Reference(Named("bag"))
	wantError(t, err, "no component reference with name=bag", "it has the component references box")
	_, err = named(t, "lonely").Reference(Named("bag"))
	wantError(t, err, "it has none")
}

func TestLongListsAreCut(t *testing.T) {
	var targets []string
	for c := 'a'; c <= 'z'; c++ {
		targets = append(targets, string(c))
	}
	_, err := named(t, "root", targets...).Reference(Named("none"))
	wantError(t, err, "a; b; c; d; e; f; g; h; i; j; and 16 more")
}

func TestIdentityAsText(t *testing.T) {
	for want, identity := range map[string]Identity{
		"name=a":               {"name": "a"},
		"name=a,arch=x,os=y":   {"os": "y", "name": "a", "arch": "x"},
		`name="a,b",os="c=d"`:  {"name": "a,b", "os": "c=d"},
		`name="",os="\n"`:      {"name": "", "os": "\n"},
		`name="say \"hi\""`:    {"name": `say "hi"`},
		"":                     {},
		"length=80,version=v1": {"version": "v1", "length": "80"},
	} {
		if got := identity.String(); got != want {
			t.Errorf("%v: got %s, want %s", map[string]string(identity), got, want)
		}
	}
}
