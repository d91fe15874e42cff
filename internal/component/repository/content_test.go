// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/signature"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/registry"
)

const (
	chartType      = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	provenanceType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
	artifactSet    = "application/vnd.oci.image.manifest.v1+tar+gzip"
)

// artifactSetOf packs an artifact as components store it in a blob.
func artifactSetOf(t testing.TB, configType string, layers ...blob) (string, oci.Manifest) {
	t.Helper()
	files, manifest := artifactSetFiles(t, oci.MediaTypeManifest, configType, layers...)
	return string(gzipOf(t, tarOf(t, files))), manifest
}

// artifactSetFiles returns the files of such an archive.
func artifactSetFiles(t testing.TB, mediaType, configType string, layers ...blob) (archive.Files, oci.Manifest) {
	t.Helper()
	a := oci.NewArchive()
	manifest := typedArtifactOf(t, mediaType, a, "x", "1", configType, layers...)
	files, err := a.Files()
	if err != nil {
		t.Fatal(err)
	}
	delete(files, "artifact-index.json")
	index, _ := json.Marshal(map[string]any{
		"schemaVersion": 2, "manifests": []oci.Descriptor{manifest.Descriptor}, "annotations": map[string]string{"software.ocm/main": manifest.Digest.String()},
	})
	files["index.json"], files["oci-layout"] = index, []byte(`{"imageLayoutVersion":"1.0.0"}`)
	return files, manifest
}

// scene returns a component in a registry with a resource of every kind.
func scene(t testing.TB) (*registry.Registry, *Repositories, component.Coordinates) {
	t.Helper()
	server := registry.Start(t, registry.Options{})
	c := client(t)
	s := store(t, c, server)
	tar := string(tarOf(t, blueprintFiles()))
	tgz := string(gzipOf(t, []byte(tar)))
	set, _ := artifactSetOf(t, MediaTypeBlueprintConfig, blob{"application/whatever", tgz})
	chartSet, _ := artifactSetOf(t, "application/vnd.cncf.helm.config.v1+json", blob{chartType, "chart in a set"})
	layers := map[string]blob{
		"hello": {"text/plain", "hello"}, "world": {"text/plain", " world"}, "tar": {"application/x-tar", tar}, "tgz": {MediaTypeBlueprintLayer, tgz},
		"set": {artifactSet, set}, "chartset": {artifactSet, chartSet}, "corrupt": {MediaTypeBlueprintLayer, tgz[:len(tgz)/2]},
	}
	artifactOf(t, s, "artifacts/blueprint", "1", MediaTypeBlueprintConfig, blob{"application/whatever", tgz})
	artifactOf(t, s, "artifacts/blueprint2", "1", "application/vnd.other", blob{blueprintLayers[2], tar})
	artifactOf(t, s, "artifacts/chart", "1", "application/vnd.cncf.helm.config.v1+json", blob{provenanceType, "p"}, blob{chartType, "chart"})
	artifactOf(t, s, "artifacts/oldchart", "1", "application/vnd.cncf.helm.config.v1+json", blob{"application/tar+gzip", "old chart"})
	artifactOf(t, s, "artifacts/two", "1", "application/vnd.cncf.helm.config.v1+json", blob{chartType, "1"}, blob{chartType, "2"})
	image := artifactOf(t, s, "artifacts/image", "1", "application/vnd.example", blob{"text/plain", "layer"})
	var resources, all []string
	add := func(name, access string) {
		resources = append(resources, "{name: "+name+", type: t, version: 1.0.0, access: "+access+"}")
	}
	for name, layer := range layers {
		add(name, `{type: localBlob, localReference: "`+layer.digest()+`", mediaType: "`+layer.mediaType+`"}`)
		all = append(all, name)
	}
	add("untyped", `{type: localOciBlob, digest: "`+layers["tgz"].digest()+`"}`)
	add("both", `{type: localBlob/v1, localReference: "`+layers["hello"].digest()+`,`+layers["world"].digest()+`", mediaType: text/plain}`)
	add("plain", `{type: localBlob, localReference: "`+layers["tgz"].digest()+`", mediaType: text/plain}`)
	add("lost", `{type: localBlob, localReference: "`+digest.FromString("lost").String()+`"}`)
	add("odd", `{type: localBlob, localReference: "../x"}`)
	add("empty", `{type: localBlob}`)
	add("unknown", `{type: s3, bucket: x}`)
	add("none", `{type: none}`)
	add("image", `{type: ociArtifact, imageReference: "`+server.Host+`/artifacts/image:1"}`)
	add("pinned", `{type: ociRegistry/v1, imageReference: "`+server.URL+`/artifacts/image:other@`+image.Digest.String()+`"}`)
	add("relative", `{type: relativeOciReference, reference: "artifacts/image:1"}`)
	add("blob", `{type: ociBlob, ref: "`+server.Host+`/artifacts/image", digest: "`+digest.FromString("layer").String()+`", mediaType: text/plain, size: 5}`)
	for _, name := range []string{"blueprint", "blueprint2", "chart", "oldchart", "two"} {
		add("artifact-"+name, `{type: ociArtifact, imageReference: "`+server.Host+`/artifacts/`+name+`:1"}`)
	}
	nested := artifactOf(t, s, "component-descriptors/example.org/a", "nested", MediaTypeBlueprintConfig, blob{"application/whatever", tgz})
	add("nested", `{type: localBlob, localReference: "`+nested.Digest.String()+`"}`)
	one := written{name: "example.org/a", version: "1.0.0", resources: strings.Join(resources, ", "), index: []oci.Descriptor{nested.Descriptor}}
	for _, name := range all {
		one.layers = append(one.layers, layers[name])
	}
	one.push(t, s)
	at := component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "oci", "baseUrl": server.URL}), Name: "example.org/a", Version: "1.0.0"}
	return server, New(Options{Client: c}), at
}

func TestContent(t *testing.T) {
	_, r, at := scene(t)
	for name, want := range map[string]string{
		"hello": "hello", "both": "hello world", "image": "layer", "pinned": "layer", "relative": "layer", "blob": "layer",
	} {
		got, err := read(t.Context(), t, r, at, name)
		if err != nil || string(got.Data) != want || got.MediaType != "text/plain" {
			t.Errorf("%s: got %q (%s), %v", name, got.Data, got.MediaType, err)
		}
		stream, err := r.Open(t.Context(), at, resource(t, r, at, name).Access)
		if err != nil {
			t.Error(err)
			continue
		}
		if data, err := io.ReadAll(stream); err != nil || string(data) != want {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
		_ = stream.Close()
	}
	for name, want := range map[string]string{
		"odd": "must be a digest", "empty": "localReference: is required", "unknown": "access of type s3: content of type s3 cannot be read",
		"none": "cannot be read", "artifact-chart": "has 2 layers",
	} {
		_, err := read(t.Context(), t, r, at, name)
		wantError(t, name, err, failure.Terminal, want)
	}
	_, err := read(t.Context(), t, r, at, "lost")
	wantMissing(t, "lost", err, "push it")
	small := New(Options{Client: r.options.Client, ContentBytes: 4})
	_, err = read(t.Context(), t, small, at, "hello")
	wantError(t, "too large", err, failure.Terminal, "exceeds the limit of 4 bytes")
}

func TestBlueprints(t *testing.T) {
	server, r, at := scene(t)
	for _, name := range []string{"tar", "tgz", "untyped", "set", "nested", "artifact-blueprint", "artifact-blueprint2"} {
		got, err := r.Blueprint(t.Context(), at, resource(t, r, at, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(blueprintFiles(), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, want := range map[string]string{
		"plain": `media type "text/plain" is not that of a blueprint: set mediaType`, "corrupt": "unpack it", "image": "the artifact is not a blueprint", "unknown": "blueprint unknown of component example.org/a:1.0.0: content of type s3 cannot be read",
	} {
		_, err := r.Blueprint(t.Context(), at, resource(t, r, at, name))
		wantError(t, name, err, failure.Terminal, want)
	}
	limited := New(Options{Client: r.options.Client, ArchiveLimits: archive.Limits{Bytes: 1 << 20, FileBytes: 1 << 20, Entries: 1, Depth: 1}})
	_, err := limited.Blueprint(t.Context(), at, resource(t, r, at, "tar"))
	wantError(t, "too many files", err, failure.Terminal, "more than 1 files")
	server.Break(registry.On("GET", registry.Status(500)))
	_, err = New(Options{Client: client(t)}).Blueprint(t.Context(), at, resource(t, r, at, "tgz"))
	wantError(t, "failing", err, failure.Retryable, "fails (status 500)")
}

func TestPushBlueprint(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	r := New(Options{Client: client(t)})
	reference, err := r.PushBlueprint(t.Context(), server.URL+"/team/blueprint:1.0.0", blueprintFiles())
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.PushBlueprint(t.Context(), server.URL+"/team/blueprint:1.0.1", blueprintFiles())
	if err != nil || strings.Replace(again, "1.0.1", "1.0.0", 1) != reference {
		t.Errorf("got %s and %s, %v", reference, again, err)
	}
	for _, name := range []string{"/team/blueprint:1.0.0", "/team/blueprint@" + reference[strings.Index(reference, "@")+1:]} {
		got, _, err := r.BlueprintArtifact(t.Context(), server.URL+name, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(blueprintFiles(), got); diff != "" {
			t.Error(diff)
		}
	}
	for _, bad := range []string{"team/blueprint", reference, "x y:1"} {
		_, err := r.PushBlueprint(t.Context(), bad, blueprintFiles())
		wantError(t, bad, err, failure.Terminal, "push the blueprint")
	}
	_, _, err = r.BlueprintArtifact(t.Context(), server.URL+"/team/other:1", "")
	wantMissing(t, "other", err)
}

func TestCharts(t *testing.T) {
	server, r, at := scene(t)
	for name, want := range map[string]string{"artifact-chart": "chart", "artifact-oldchart": "old chart", "chartset": "chart in a set", "hello": "hello"} {
		if got, err := r.Chart(t.Context(), at, resource(t, r, at, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	_, err := r.Chart(t.Context(), at, resource(t, r, at, "artifact-two"))
	wantError(t, "two", err, failure.Terminal, "2 chart layers")
	_, err = r.Chart(t.Context(), at, resource(t, r, at, "image"))
	wantError(t, "image", err, failure.Terminal, "the artifact is not a chart")
	_, err = r.Chart(t.Context(), at, resource(t, r, at, "unknown"))
	wantError(t, "unknown", err, failure.Terminal, "chart unknown of component example.org/a:1.0.0: content of type s3 cannot be read")
	if got, err := r.ChartArtifact(t.Context(), server.URL+"/artifacts/chart:1"); err != nil || string(got) != "chart" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = r.ChartArtifact(t.Context(), server.URL+"/artifacts/chart")
	wantError(t, "no tag", err, failure.Terminal, "a tag is required")
}

func TestImageAddresses(t *testing.T) {
	for text, want := range map[string]oci.Address{
		"nginx":                {Host: "docker.io", Path: "library/nginx"},
		"team/image:1":         {Host: "docker.io", Path: "team/image"},
		"localhost/x":          {Host: "localhost", Path: "x"},
		"r.example.com:5000/x": {Host: "r.example.com:5000", Path: "x"},
		"http://r.io/x:1":      {Host: "r.io", Path: "x", PlainHTTP: true},
	} {
		_, got, err := imageAddress(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", text, diff, err)
		}
	}
}

func TestDigests(t *testing.T) {
	server, r, at := scene(t)
	manifest := func(name string) string {
		s := store(t, r.options.Client, server)
		m, err := s.Manifest(t.Context(), name, "1")
		if err != nil {
			t.Fatal(err)
		}
		return m.Digest.Encoded()
	}
	_, set := artifactSetOf(t, MediaTypeBlueprintConfig, blob{"application/whatever", string(gzipOf(t, tarOf(t, blueprintFiles())))})
	for name, want := range map[string]signature.Digest{
		"hello": {Hash: signature.SHA256, Normalisation: signature.BlobDigest, Value: digest.FromString("hello").Encoded()},
		"image": {Hash: signature.SHA256, Normalisation: signature.ArtifactDigest, Value: manifest("artifacts/image")},
		"set":   {Hash: signature.SHA256, Normalisation: signature.ArtifactDigest, Value: set.Digest.Encoded()},
	} {
		got, err := r.Digest(t.Context(), at, resource(t, r, at, name), signature.Digest{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", name, diff, err)
		}
	}
	got, err := r.Digest(t.Context(), at, resource(t, r, at, "hello"), signature.Digest{Hash: signature.SHA512, Normalisation: signature.BlobDigest})
	if err != nil || got.Value != digest.SHA512.FromString("hello").Encoded() {
		t.Errorf("got %v, %v", got, err)
	}
	// An archive of an artifact is a blob, too.
	got, err = r.Digest(t.Context(), at, resource(t, r, at, "set"), signature.Digest{Hash: "sha256", Normalisation: signature.BlobDigest})
	if err != nil || got.Value == set.Digest.Encoded() || got.Hash != "sha256" {
		t.Errorf("got %v, %v", got, err)
	}
	for name, test := range map[string]struct {
		want    signature.Digest
		because string
	}{
		"hello": {signature.Digest{Hash: signature.SHA256, Normalisation: signature.ArtifactDigest}, "but the resource is a blob"},
		"image": {signature.Digest{Hash: signature.SHA256, Normalisation: signature.BlobDigest}, "but the resource is an artifact"},
		"world": {signature.Digest{Hash: "MD5"}, `unknown hash algorithm "MD5"`},
		"none":  {signature.Digest{}, "content of type none cannot be read"},
	} {
		_, err := r.Digest(t.Context(), at, resource(t, r, at, name), test.want)
		wantError(t, name, err, failure.Terminal, test.because)
	}
}

// The blueprint of an archive equals that of a registry, and a push into an archive that was read adds to it.
func TestStoreBlueprint(t *testing.T) {
	into := oci.NewArchive()
	r := New(Options{})
	first, err := StoreBlueprint(t.Context(), into, StoredAs{Repository: "team/shop", Tag: "1"}, blueprintFiles())
	if err != nil {
		t.Fatal(err)
	}
	files, err := into.Files()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := oci.OpenArchive(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	other := archive.Files{"blueprint.yaml": []byte("kind: Other")}
	second, err := StoreBlueprint(t.Context(), opened, StoredAs{Repository: "team/shop", Tag: "2"}, other)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]archive.Files{
		"1": blueprintFiles(), first.Digest.String(): blueprintFiles(), "2": other, second.Digest.String(): other,
	} {
		got, digest, err := r.BlueprintIn(t.Context(), opened, "team/shop", version)
		if err != nil || !strings.HasPrefix(digest, "sha256:") {
			t.Errorf("%s: %s, %v", version, digest, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
	_, _, err = r.BlueprintIn(t.Context(), opened, "team/shop", "3")
	wantMissing(t, "another tag", err, "not in the archive")
	changes, index, err := opened.Changes()
	if err != nil || len(changes) != 3 || !strings.Contains(string(index), first.Digest.String()) {
		t.Errorf("%d files, index %s, %v", len(changes), index, err)
	}
	_, err = StoreBlueprint(t.Context(), into, StoredAs{Repository: "x", Tag: "1"}, archive.Files{"a\\b": nil})
	wantError(t, "a name that others do not read", err, failure.Terminal, "the blueprint would not be readable", "not a clean path")
}

// One archive can replace all named repositories.
func TestInstead(t *testing.T) {
	store := oci.NewArchive()
	hello := blob{"text/plain", "hello"}
	written{name: "a", version: "1.0.0", layers: []blob{hello}, resources: `{name: txt, type: t, version: 1.0.0, relation: local, access: {type: localBlob, localReference: "` +
		hello.digest() + `"}}`}.push(t, store)
	files, err := store.Files()
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{
		Files:   files,
		Default: contextOf(t, map[string]any{"type": "oci", "baseUrl": "default.example.com"}),
		Instead: contextOf(t, map[string]any{"type": "CommonTransportFormat", "filePath": "."}),
	})
	for _, at := range []component.RepositoryContext{{}, contextOf(t, map[string]any{"type": "oci", "baseUrl": "r.example.com"})} {
		content, err := read(t.Context(), t, r, component.Coordinates{RepositoryContext: at, Name: "a", Version: "1.0.0"}, "txt")
		if err != nil || string(content.Data) != "hello" {
			t.Errorf("%v: got %q, %v", at, content.Data, err)
		}
	}
	_, err = r.Descriptor(t.Context(), component.Coordinates{Name: "b", Version: "1.0.0"})
	wantMissing(t, "another component", err, "component b:1.0.0 was not found")
}
