// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"testing"

	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit/registry"
)

// What names no repository is in the default one, with everything that belongs to it, and then where resolvers lead.
func TestDefault(t *testing.T) {
	c := client(t)
	pushed := func(name, layer string) string {
		server := registry.Start(t, registry.Options{})
		content := blob{"text/plain", layer}
		written{
			name: name, version: "1.0.0", layers: []blob{content},
			resources: `{name: layer, type: t, version: 1.0.0, access: {type: localBlob, localReference: "` + content.digest() + `"}},
				{name: image, type: t, version: 1.0.0, access: {type: ociArtifact, imageReference: "` + server.Host + `/images/x:1"}}`,
		}.push(t, store(t, c, server))
		artifactOf(t, store(t, c, server), "images/x", "1", "application/vnd.example", blob{"text/plain", layer})
		return server.URL
	}
	standard, other, further := pushed("a", "standard"), pushed("a", "other"), pushed("b", "further")
	in := func(url string) component.RepositoryContext {
		return contextOf(t, map[string]any{"type": "OCIRegistry", "baseUrl": url})
	}
	r := New(Options{Client: c, Default: in(standard), Resolvers: []credentials.Resolver{resolver(other, "a"), resolver(further, "b")}})
	for name, test := range map[string]struct {
		at   component.Coordinates
		want string
	}{
		"nothing is named":       {component.Coordinates{Name: "a", Version: "1.0.0"}, "standard"},
		"a repository is named":  {component.Coordinates{RepositoryContext: in(other), Name: "a", Version: "1.0.0"}, "other"},
		"only a resolver has it": {component.Coordinates{Name: "b", Version: "1.0.0"}, "further"},
	} {
		for _, resource := range []string{"layer", "image"} {
			if got, err := read(t.Context(), t, r, test.at, resource); err != nil || string(got.Data) != test.want {
				t.Errorf("%s: %s is %q, %v", name, resource, got.Data, err)
			}
		}
	}
	// The default does not complete what is named.
	at := component.Coordinates{RepositoryContext: in(further), Name: "a", Version: "1.0.0"}
	_, err := New(Options{Client: c, Default: in(standard)}).Descriptor(t.Context(), at)
	wantMissing(t, "named, and not there", err)
	_, err = New(Options{Client: c}).Descriptor(t.Context(), component.Coordinates{Name: "a", Version: "1.0.0"})
	wantError(t, "no default", err, failure.Retryable, "no repository is named: set repositoryContext in the reference or in the Context, "+
		"a resolver in its ocmConfig, or --default-repository-context")
}
