// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

func anyJSON(text string) *lsv1alpha1.AnyJSON { return &lsv1alpha1.AnyJSON{Raw: []byte(text)} }

func TestRepositoryContextsAreEqualIfTheyAreTheSameJSON(t *testing.T) {
	read := func(text string) RepositoryContext {
		context, err := ParseRepositoryContext(anyJSON(text))
		if err != nil {
			t.Fatal(err)
		}
		return context
	}
	one := read(`{"type": "ociRegistry", "baseUrl": "a.example.com", "n": 1}`)
	if same := read(`{"n": 1.0, "baseUrl":"a.example.com","type":"ociRegistry"}`); one != same {
		t.Errorf("%+v is not %+v", one, same)
	}
	if other := read(`{"type": "ociRegistry", "baseUrl": "b.example.com", "n": 1}`); one == other {
		t.Errorf("%+v is %+v", one, other)
	}
	if one.Type() != "ociRegistry" || one.BaseURL() != "a.example.com" || one.Object()["n"] != int64(1) {
		t.Errorf("got %v", one.Object())
	}
	if again := read(string(one.API().Raw)); again != one {
		t.Errorf("%+v became %+v on its way through the API", one, again)
	}
	for _, none := range []*lsv1alpha1.AnyJSON{nil, {}, anyJSON("null")} {
		context, err := ParseRepositoryContext(none)
		if err != nil || !context.IsZero() {
			t.Errorf("%v: got %+v, %v", none, context, err)
		}
		if context.API() != nil || context.Object() != nil {
			t.Errorf("%v: the API gets %v, templates get %v", none, context.API(), context.Object())
		}
	}
}

func TestRepositoryContextRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"baseUrl": "x"}`: "needs a type",
		`{"type": 5}`:      "needs a type",
		`[]`:               "must be an object, is a list",
		`{"type"`:          "repository context: ",
	} {
		_, err := ParseRepositoryContext(anyJSON(text))
		wantError(t, err, want)
	}
}

func TestCoordinatesOf(t *testing.T) {
	fallback := registryAt(t, "fallback.example.com")
	got, err := CoordinatesOf(lsv1alpha1.ComponentDescriptorReference{ComponentName: "c", Version: "v"}, fallback)
	if want := at(t, "fallback.example.com", "c", "v"); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	ref := at(t, "own.example.com", "c", "v").Reference()
	if got, err = CoordinatesOf(ref, fallback); err != nil || got != at(t, "own.example.com", "c", "v") {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = CoordinatesOf(lsv1alpha1.ComponentDescriptorReference{RepositoryContext: anyJSON("5")}, fallback)
	wantError(t, err, "repository context")
}

func TestInlineCoordinates(t *testing.T) {
	fallback := registryAt(t, "fallback.example.com")
	if got := InlineCoordinates(named(t, "c"), fallback); got != at(t, "fallback.example.com", "c", "1.0.0") {
		t.Errorf("got %v", got)
	}
	d := describe(t, `
meta: {schemaVersion: v2}
component:
  name: c
  version: 1.0.0
  repositoryContexts:
  - {type: ociRegistry, baseUrl: first.example.com}
  - {type: ociRegistry, baseUrl: last.example.com}`)
	if got := InlineCoordinates(d, fallback); got != at(t, "last.example.com", "c", "1.0.0") {
		t.Errorf("got %v", got)
	}
}

// Texts about a repository contain no credentials.
func TestCoordinatesForPeople(t *testing.T) {
	for want, coordinates := range map[string]Coordinates{
		"c:1":                                 at(t, "", "c", "1"),
		"c:1 in registry.example.com/x":       at(t, "registry.example.com/x", "c", "1"),
		"c:1 in https://host.example.com:1/x": at(t, "https://user:secret@host.example.com:1/x?token=secret", "c", "1"),
		"c:1 in host.example.com":             at(t, "user:secret@host.example.com", "c", "1"),
		"c:1 in host.example.com/a@b":         at(t, "host.example.com/a@b", "c", "1"),
	} {
		if got := coordinates.String(); got != want || strings.Contains(got, "secret") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	local, err := NewRepositoryContext(map[string]any{"type": "CommonTransportFormat/v1", "filePath": "x", "token": "secret"})
	if err != nil || local.String() != "a repository of type CommonTransportFormat/v1" {
		t.Errorf("got %q, %v", local, err)
	}
}

func TestDifference(t *testing.T) {
	from := at(t, "a.example.com", "c", "1")
	for want, to := range map[string]Coordinates{
		"":                from,
		"version: 1 -> 2": at(t, "a.example.com", "c", "2"),
		"componentName: c -> d, repositoryContext: a.example.com -> b.example.com": at(t, "b.example.com", "d", "1"),
	} {
		if got := from.Difference(to); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := at(t, "", "c", "1").Difference(from); got != "repositoryContext: no repository -> a.example.com" {
		t.Errorf("got %q", got)
	}
}
