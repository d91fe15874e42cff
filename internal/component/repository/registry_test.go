// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/registry"
)

// Every way to write a repository context leads to the same component.
func TestContexts(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	c := client(t)
	s := store(t, c, server)
	written{name: "example.org/a", version: "1.0.0", repository: "team/ocm/component-descriptors/example.org/a"}.push(t, s)
	written{name: "example.org/a", version: "1.0.0", repository: "team/ocm/94584207f807e901fa3f47eaaf3d3ff3e62e2edaaf9edcf3d7accf0391740f58"}.push(t, s)
	for name, fields := range map[string]map[string]any{
		"OCIRegistry":    {"type": "OCIRegistry", "baseUrl": server.URL, "subPath": "team/ocm"},
		"OCIRegistry/v1": {"type": "OCIRegistry/v1", "baseUrl": server.URL + "/team/ocm", "componentNameMapping": "urlPath"},
		"ociRegistry":    {"type": "ociRegistry", "baseUrl": server.URL + "/team/ocm/"},
		"oci":            {"type": "oci", "baseUrl": server.URL + "/", "subPath": "/team/ocm/"},
		"oci/v1":         {"type": "oci/v1", "baseUrl": server.URL + "/team", "subPath": "ocm"},
		"by digest":      {"type": "OCIRegistry", "baseUrl": server.URL + "/team/ocm", "componentNameMapping": "sha256-digest"},
	} {
		r := New(Options{Client: c})
		d, err := r.Descriptor(t.Context(), component.Coordinates{RepositoryContext: contextOf(t, fields), Name: "example.org/a", Version: "1.0.0"})
		if err != nil || d.Name != "example.org/a" {
			t.Errorf("%s: got %v, %v", name, d, err)
		}
	}
	for name, test := range map[string]struct {
		fields map[string]any
		want   string
	}{
		"an unknown type":    {map[string]any{"type": "ftp"}, `unknown type "ftp"`},
		"an unknown version": {map[string]any{"type": "oci/v7"}, `no version "v7"`},
		"no address":         {map[string]any{"type": "oci"}, "baseUrl"},
		"a password":         {map[string]any{"type": "oci", "baseUrl": "https://me:canary@host"}, "no user or password"},
		"an unknown mapping": {map[string]any{"type": "oci", "baseUrl": "host", "componentNameMapping": "x"}, "urlPath or sha256-digest"},
		"a path that is out": {map[string]any{"type": "local", "filePath": "../x"}, "filePath"},
		"an odd file system": {map[string]any{"type": "inline", "fileSystem": "x"}, "fileSystem: must be an object"},
		"an odd name":        {map[string]any{"type": "inline", "fileSystem": map[string]any{"../x": ""}}, "not a name"},
		"an odd file":        {map[string]any{"type": "inline", "fileSystem": map[string]any{"x": []any{}}}, "must be a text"},
		"an odd mode":        {map[string]any{"type": "inline", "fileSystem": map[string]any{}, "blobFsMode": "x"}, "blobFsMode"},
	} {
		_, err := New(Options{Client: c}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: contextOf(t, test.fields), Name: "a", Version: "1.0.0"})
		wantError(t, name, err, failure.Terminal, test.want)
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A component is read regardless of its writer's media types and the order of its layers.
func TestLayouts(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	c := client(t)
	s := store(t, c, server)
	at := contextOf(t, map[string]any{"type": "OCIRegistry", "baseUrl": server.URL})
	cases := map[string]written{
		"today":        {},
		"build":        {version: "1.0.0+x.1"},
		"a leading v":  {version: "v1.0"},
		"swapped":      {layers: []blob{{"text/plain", "1"}, {"text/plain", "2"}}, swapped: true},
		"legacy":       {configType: configTypes[1], layerType: "application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml+tar"},
		"oldest":       {configType: configTypes[2], layerType: "application/vnd.oci.gardener.cloud.cnudie.component-descriptor.config.v2+yaml+tar"},
		"within-index": {index: []oci.Descriptor{}},
		"yaml":         {layerType: "application/vnd.ocm.software.component-descriptor.v2+yaml"},
		"json":         {layerType: "application/vnd.ocm.software.component-descriptor.v2+json"},
		"legacy-json":  {layerType: "application/vnd.gardener.cloud.cnudie.component-descriptor.v2+json"},
		"legacy-yaml":  {layerType: "application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml"},
	}
	for name, one := range cases {
		one.name = "example.org/" + strings.ReplaceAll(name, " ", "-")
		if one.version == "" {
			one.version = "1.0.0"
		}
		one.push(t, s)
		d, err := New(Options{Client: c}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: at, Name: one.name, Version: one.version})
		if err != nil || d.ID() != (component.ID{Name: one.name, Version: one.version}) {
			t.Errorf("%s: got %v, %v", name, d, err)
		}
	}
	for name, test := range map[string]struct {
		component written
		want      string
	}{
		"no component":       {written{configType: "application/vnd.oci.image.config.v1+json"}, "the artifact is not a component"},
		"an unknown layer":   {written{layerType: "application/vnd.ocm.software.component-descriptor.v2+yaml+tar+gzip"}, "unknown media type"},
		"a broken component": {written{resources: "{name: x}"}, "access: is required"},
	} {
		test.component.name, test.component.version = "example.org/"+strings.ReplaceAll(name, " ", "-"), "1.0.0"
		test.component.push(t, s)
		_, err := New(Options{Client: c}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: at, Name: test.component.name, Version: "1.0.0"})
		wantError(t, name, err, failure.Terminal, test.want, test.component.name)
	}
	before := len(server.Requests())
	for _, version := range []string{"", "latest", "1.0.0 "} {
		_, err := New(Options{Client: c}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: at, Name: "a", Version: version})
		wantError(t, version, err, failure.Terminal, "a semantic version")
	}
	if len(server.Requests()) != before {
		t.Error("the registry was asked for a version that cannot be")
	}
	_, err := New(Options{Client: c}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: at, Name: "nothing", Version: "1.0.0"})
	wantMissing(t, "nothing", err, "component nothing:1.0.0 was not found", "push it")
}

func TestVersionOf(t *testing.T) {
	for tag, want := range map[string]string{"1.0.0": "1.0.0", "1.0.0.build-x": "1.0.0+x", "1.0.0-a.build-b.build-c": "1.0.0-a.build-b+c"} {
		if got := VersionOf(tag); got != want {
			t.Errorf("%s: got %s", tag, got)
		}
	}
}

func TestResolvers(t *testing.T) {
	one, two := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	c := client(t)
	written{name: "example.org/one", version: "1.0.0"}.push(t, store(t, c, one))
	for _, name := range []string{"example.org/one", "example.org/two/x"} {
		written{name: name, version: "1.0.0", resources: "{name: here, type: t, version: 1.0.0, access: {type: none}}"}.push(t, store(t, c, two))
	}
	here := contextOf(t, map[string]any{"type": "oci", "baseUrl": one.URL})
	for name, test := range map[string]struct {
		at        component.RepositoryContext
		component string
		resolvers []credentials.Resolver
		from      string
	}{
		"the context comes first":  {here, "example.org/one", []credentials.Resolver{resolver(two.URL, "")}, "one"},
		"what it lacks is further": {here, "example.org/two/x", []credentials.Resolver{resolver(two.URL, "example.org/two")}, "two"},
		"no context":               {component.RepositoryContext{}, "example.org/one", []credentials.Resolver{resolver(two.URL, "")}, "two"},
		"a resolver that lacks it": {component.RepositoryContext{}, "example.org/two/x", []credentials.Resolver{resolver(one.URL, ""), resolver(two.URL, "")}, "two"},
		"another prefix":           {here, "example.org/two/x", []credentials.Resolver{resolver(two.URL, "example.org/tw")}, ""},
		"no resolvers":             {here, "example.org/two/x", nil, ""},
	} {
		r := New(Options{Client: c, Resolvers: test.resolvers})
		d, err := r.Descriptor(t.Context(), component.Coordinates{RepositoryContext: test.at, Name: test.component, Version: "1.0.0"})
		if test.from == "" {
			wantMissing(t, name, err)
			continue
		}
		if err != nil || (len(d.Resources) > 0) != (test.from == "two") {
			t.Errorf("%s: got %v, %v", name, d, err)
		}
	}
	// An image beside the component is read in the same way as the component, as its resolver says.
	artifactOf(t, store(t, c, two), "images/x", "1", "application/vnd.example", blob{"text/plain", "image"})
	written{name: "example.org/image", version: "1.0.0", resources: `{name: image, type: t, version: 1.0.0, access: {type: ociArtifact, imageReference: "` + two.Host + `/images/x:1"}}`}.push(t, store(t, c, two))
	r := New(Options{Client: c, Resolvers: []credentials.Resolver{resolver(two.URL, "")}})
	if got, err := read(t.Context(), t, r, component.Coordinates{Name: "example.org/image", Version: "1.0.0"}, "image"); err != nil ||
		string(got.Data) != "image" {
		t.Errorf("got %q, %v", got.Data, err)
	}
	_, err := New(Options{Client: c}).Descriptor(t.Context(), component.Coordinates{Name: "a", Version: "1.0.0"})
	wantError(t, "nowhere", err, failure.Retryable, "no repository is named")
	// A failing registry may have the component.
	one.Break(registry.Status(403))
	_, err = New(Options{Client: c, Resolvers: []credentials.Resolver{resolver(two.URL, "")}}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: here, Name: "example.org/one", Version: "1.0.0"})
	wantError(t, "forbidden", err, failure.Retryable, "grant it")
	one.Break(registry.Status(500))
	_, err = New(Options{Client: c, Resolvers: []credentials.Resolver{resolver(two.URL, "")}}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: here, Name: "example.org/one", Version: "1.0.0"})
	wantError(t, "failing", err, failure.Retryable, "fails (status 500)")
}

// The most specific consumer's credential is used, and the authority of a private registry is trusted.
func TestCredentials(t *testing.T) {
	server := registry.Start(t, registry.Options{TLS: true, Username: "me", Password: "secret"})
	c := client(t)
	host, port, _ := strings.Cut(server.Host, ":")
	indent := strings.ReplaceAll(string(server.CA), "\n", "\n          ")
	config, err := credentials.ParseCredentialConfig([]byte(`
type: credentials.config.ocm.software
consumers:
- identity: {type: OCIRegistry, hostname: "` + host + `"}
  credentials: [{type: Credentials, properties: {username: nobody, password: x}}]
- identity: {type: OCIRegistry, hostname: "` + host + `", port: ` + port + `}
  credentials:
  - type: Credentials
    properties:
      username: me
      password: secret
      certificateAuthority: |
          ` + indent))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := oci.ParseAddress(server.URL)
	s, err := c.Registry(at, oci.Credential{Username: "me", Password: "secret", CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	written{name: "a", version: "1.0.0"}.push(t, s)
	where := component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "oci", "baseUrl": server.Host}), Name: "a", Version: "1.0.0"}
	if _, err := New(Options{Client: c, Credentials: config.Credentials}).Descriptor(t.Context(), where); err != nil {
		t.Error(err)
	}
	_, err = New(Options{Client: c}).Descriptor(t.Context(), where)
	wantError(t, "nothing known", err, failure.Retryable, "certificateAuthority")
}

// A closure is read from a real registry, each component once.
func TestClosure(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	c := client(t)
	s := store(t, c, server)
	written{name: "root", version: "1.0.0", references: "{name: l, componentName: left, version: 1.0.0}, {name: r, componentName: right, version: 1.0.0}"}.push(t, s)
	written{name: "left", version: "1.0.0", references: "{name: b, componentName: base, version: 1.0.0}"}.push(t, s)
	written{name: "right", version: "1.0.0", references: "{name: b, componentName: base, version: 1.0.0}"}.push(t, s)
	written{name: "base", version: "1.0.0"}.push(t, s)
	root := component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "oci", "baseUrl": server.URL}), Name: "root", Version: "1.0.0"}
	set, err := resolve.Closure(t.Context(), New(Options{Client: c}), component.ClosureOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range set.All() {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"root", "left", "base", "right"}, names); diff != "" {
		t.Error(diff)
	}
	if got := server.Count("GET /v2/component-descriptors/base/manifests"); got != 1 {
		t.Errorf("base was read %d times", got)
	}
}

// The same component in an archive, as a directory, tar and tgz.
func TestTransportArchive(t *testing.T) {
	a := oci.NewArchive()
	layer := blob{"text/plain", "hello"}
	written{name: "example.org/a", version: "1.0.0+b", layers: []blob{layer}, resources: `{name: txt, type: t, version: 1.0.0, access: {type: localBlob, localReference: "` + layer.digest() + `"}},
		{name: image, type: t, version: 1.0.0, access: {type: relativeOciReference, reference: "images/x:1"}}`}.push(t, a)
	artifactOf(t, a, "images/x", "1", "application/vnd.example", blob{"text/plain", "image"})
	files, err := a.Files()
	if err != nil {
		t.Fatal(err)
	}
	all := archive.Files{"x/a.tar": tarOf(t, files), "x/a.tgz": gzipOf(t, tarOf(t, files))}
	for name, content := range files {
		all["x/dir/"+name] = content
	}
	for _, form := range []string{"dir", "a.tar", "a.tgz"} {
		at := component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "CommonTransportFormat/v1", "filePath": "/x/" + form}), Name: "example.org/a", Version: "1.0.0+b"}
		r := New(Options{Files: all})
		for name, want := range map[string]string{"txt": "hello", "image": "image"} {
			if got, err := read(t.Context(), t, r, at, name); err != nil || string(got.Data) != want || got.MediaType != "text/plain" {
				t.Errorf("%s: got %q, %v", form, got.Data, err)
			}
		}
		at.Name = "example.org/b"
		_, err := r.Descriptor(t.Context(), at)
		wantMissing(t, form, err, "not in the archive")
	}
	at := component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "CommonTransportFormat", "filePath": "y"}), Name: "a", Version: "1.0.0"}
	_, err = New(Options{}).Descriptor(t.Context(), at)
	wantMissing(t, "no files", err, "the file does not exist")
	_, err = New(Options{}).Descriptor(t.Context(), component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "oci", "baseUrl": "r.example.com"}), Name: "a", Version: "1.0.0"})
	wantError(t, "no client", err, failure.Terminal, "cannot be read here")
}
