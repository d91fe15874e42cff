// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fuzzLimits are small, so that the fuzzer reaches them.
var fuzzLimits = Limits{Bytes: 4 << 10, Depth: 16, Values: 200, Elements: 8}

// Every accepted descriptor can be written and read again with the same result in its own schema. In the other schema, what both know stays
// the same. The limits hold for everything that is accepted.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/convert/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{"meta":{"schemaVersion":"v2"},"component":{"name":"a","version":"1","provider":"{\"name\":\"{\"}","resources":[{"name":"r","version":"","extraIdentity":{"":""},"access":{"type":"x","n":-0.0}}]}}`,
		`{apiVersion: ocm.software/v3alpha1, metadata: {name: "a b", version: "\n", provider: {name: "{}"}}, repositoryContexts: [{type: x, n: 1e20}], spec: {name: b, meta: 1}}`,
		"meta: {schemaVersion: v2, apiVersion: 1}\napiVersion: null\nkind: x\ncomponent: {name: 日本, version: 2024-01-01, labels: [{name: l, value: 0x10}]}\nspec: {a: b}",
		nest,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data, fuzzLimits)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		checkLimits(t, data, d)
		own := reread(t, d, d.Schema)
		if !reflect.DeepEqual(own, d) {
			t.Fatalf("read again: %+v, want %+v", own, d)
		}
		other := SchemaV2
		if d.Schema == SchemaV2 {
			other = SchemaV3
		}
		back := reread(t, reread(t, d, other), d.Schema)
		back.unknown = d.unknown
		if !reflect.DeepEqual(back, d) {
			t.Fatalf("through %s: %+v, want %+v", other, back, d)
		}
	})
}

func checkLimits(t *testing.T, data []byte, d *Descriptor) {
	t.Helper()
	if len(data) > fuzzLimits.Bytes || max(len(d.Resources), len(d.Sources), len(d.References)) > fuzzLimits.Elements {
		t.Fatalf("%d bytes, %d resources, %d sources, %d references", len(data), len(d.Resources), len(d.Sources), len(d.References))
	}
	depth, values := extent(d.View(d.Schema))
	// A view adds to the descriptor the missing lists, and their places.
	const added = 32
	if depth > fuzzLimits.Depth+added || values > fuzzLimits.Values+added*(1+len(d.Resources)+len(d.Sources)+len(d.References)) {
		t.Fatalf("depth %d, %d values", depth, values)
	}
}

// extent measures a JSON value.
func extent(value any) (depth, values int) {
	add := func(inner any) {
		d, v := extent(inner)
		depth, values = max(depth, d), values+v
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			add(inner)
		}
	case []any:
		for _, inner := range v {
			add(inner)
		}
	default:
		return 0, 1
	}
	return depth + 1, values + 1
}

// reread writes a descriptor and reads it again, without limits.
func reread(t *testing.T, d *Descriptor, schema Schema) *Descriptor {
	t.Helper()
	text, err := d.JSON(schema)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text, unlimited)
	if err != nil {
		t.Fatalf("%v\nin %s", err, text)
	}
	return again
}

// An accepted reference is its repository and its version, joined by the right separator.
func FuzzParseImageReference(f *testing.F) {
	for _, text := range []string{
		"host.example.com:5000/team/image:1.0.0@" + digest, "host:5000/image", "ubuntu", "ubuntu:18.04", "image@" + digest,
		"oci://host.example.com/a/b:c", "[::1]:5000/a", "a:b/c:d", "localhost/x", "A.b/c", "://", "@", ":", "a@b@c", "a__b/c--d",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseImageReference(text)
		if err != nil {
			return
		}
		plain := text
		if _, after, found := strings.Cut(text, "://"); found {
			plain = after
		}
		if ref.String() != plain {
			t.Fatalf("%q became %q", text, ref)
		}
		checkParts(t, plain, ref)
		if again, err := ParseImageReference(ref.String()); err != nil || again != ref {
			t.Fatalf("%q read again is %+v, %v", ref, again, err)
		}
	})
}

// checkParts joins repository and version as users do.
func checkParts(t *testing.T, text string, ref ImageReference) {
	t.Helper()
	var together string
	switch {
	case ref.Digest != "" && ref.Tag != "":
		text = strings.Replace(text, ":"+ref.Tag+"@", "@", 1)
		together = ref.Repository + "@" + ref.Version()
	case ref.Digest != "":
		together = ref.Repository + "@" + ref.Version()
	case ref.Tag != "":
		together = ref.Repository + ":" + ref.Version()
	default:
		text += ":latest"
		together = ref.Repository + ":" + ref.Version()
	}
	if together != text {
		t.Fatalf("%q became %q", text, together)
	}
	if strings.ContainsAny(ref.Repository, "@ \n") || strings.ContainsAny(ref.Tag, ":/@") {
		t.Fatalf("%+v", ref)
	}
}

// An accepted URI is written as an equivalent one, and never refers to nothing.
func FuzzParseURI(f *testing.F) {
	for _, text := range []string{
		"cd://resources/y", "cd://componentReferences/x/resources/y#/a/b", "cd://componentReferences/x/componentReferences/z",
		"cd://resources/a%2Fb%23#%25", "cd://resources/%00", "cd://resources/../resources/x", "cd://resources/y/", "cd:///", "cd://resources/a?b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		uri, err := ParseURI(text)
		if err != nil {
			return
		}
		if len(text) > maxURI || !IsURI(text) {
			t.Fatalf("accepted %q", text)
		}
		ref := uri.Reference()
		if len(ref.Path) == 0 && len(ref.Resource) == 0 {
			t.Fatalf("%q means nothing", text)
		}
		for _, identity := range append(ref.Path, ref.Resource) {
			if identity != nil && identity[identityName] == "" {
				t.Fatalf("%q has an empty name", text)
			}
		}
		again, err := parseURI(uri.String())
		if err != nil || !reflect.DeepEqual(again, uri) {
			t.Fatalf("%q is written as %q, which is %+v, %v", text, uri, again, err)
		}
	})
}

// An accepted key is written as an equivalent one.
func FuzzParseResourceKey(f *testing.F) {
	for _, key := range []ResourceKey{
		{ID{"example.com/a", "1.0.0"}, Named("r")},
		{ID{"a", "1e3"}, Identity{"name": "true", "os": "~", "": "x"}},
	} {
		text, err := key.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add("e30=")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := ParseResourceKey(text)
		if err != nil {
			return
		}
		encoded, err := key.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseResourceKey(encoded); err != nil || !reflect.DeepEqual(again, key) {
			t.Fatalf("%+v became %+v, %v", key, again, err)
		}
	})
}
