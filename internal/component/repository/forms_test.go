// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/signature"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/registry"
)

// Media types of Docker, in addition to those of its manifests.
const (
	dockerConfig = "application/vnd.docker.container.image.v1+json"
	dockerLayer  = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// Manifests and layers with Docker's media types are read like those of OCI: those of components, and of what they refer to.
func TestDockerManifests(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	c := client(t)
	s := store(t, c, server)
	tgz := string(gzipOf(t, tarOf(t, blueprintFiles())))
	image := typedArtifactOf(t, oci.MediaTypeDockerManifest, s, "artifacts/image", "1", dockerConfig, blob{dockerLayer, "layer"})
	typedArtifactOf(t, oci.MediaTypeDockerManifest, s, "artifacts/blueprint", "1", MediaTypeBlueprintConfig, blob{dockerLayer, tgz})
	typedArtifactOf(t, oci.MediaTypeDockerManifest, s, "artifacts/chart", "1", dockerConfig, blob{chartType, "chart"})
	beside := typedArtifactOf(
		t, oci.MediaTypeDockerManifest, s, "component-descriptors/list", "nested", MediaTypeBlueprintConfig, blob{dockerLayer, tgz},
	)
	local := blob{dockerLayer, "local"}
	resources := `{name: local, type: t, version: 1.0.0, access: {type: localOciBlob, digest: "` + local.digest() + `"}}`
	for _, name := range []string{"image", "blueprint", "chart"} {
		resources += `, {name: ` + name + `, type: t, version: 1.0.0, access: {type: ociArtifact, imageReference: "` +
			server.Host + `/artifacts/` + name + `:1"}}`
	}
	written{name: "plain", version: "1.0.0", docker: true, layers: []blob{local}, resources: resources}.push(t, s)
	resources += `, {name: beside, type: t, version: 1.0.0, access: {type: localBlob, localReference: "` + beside.Digest.String() + `"}}`
	written{
		name: "list", version: "1.0.0", docker: true, layers: []blob{local}, resources: resources, index: []oci.Descriptor{beside.Descriptor},
	}.push(t, s)
	r := New(Options{Client: c})
	in := contextOf(t, map[string]any{"type": "OCIRegistry", "baseUrl": server.URL})
	blueprints := map[string][]string{"plain": {"blueprint"}, "list": {"blueprint", "beside"}}
	for name, mine := range blueprints {
		at := component.Coordinates{RepositoryContext: in, Name: name, Version: "1.0.0"}
		for resource, want := range map[string]string{"local": "local", "image": "layer"} {
			if got, err := read(t.Context(), t, r, at, resource); err != nil || string(got.Data) != want || got.MediaType != dockerLayer {
				t.Errorf("%s: %s is %q (%s), %v", name, resource, got.Data, got.MediaType, err)
			}
		}
		for _, one := range mine {
			got, err := r.Blueprint(t.Context(), at, resource(t, r, at, one))
			if diff := cmp.Diff(blueprintFiles(), got); diff != "" || err != nil {
				t.Errorf("%s: %s: %s %v", name, one, diff, err)
			}
		}
		if got, err := r.Chart(t.Context(), at, resource(t, r, at, "chart")); err != nil || string(got) != "chart" {
			t.Errorf("%s: the chart is %q, %v", name, got, err)
		}
		digest, err := r.Digest(t.Context(), at, resource(t, r, at, "image"), signature.Digest{})
		if err != nil || digest.Normalisation != signature.ArtifactDigest || digest.Value != image.Digest.Encoded() {
			t.Errorf("%s: the digest is %v, %v", name, digest, err)
		}
	}
}

// setForm is a format in which past or present tools pack an artifact into a blob.
type setForm struct {
	mediaType    string
	manifestType string
	// change converts the current format into this one.
	change func(archive.Files) archive.Files
	plain  bool
	// broken is why it cannot be read, or empty.
	broken string
}

// Artifacts that are local blobs are read in current and former formats.
func TestArtifactSetForms(t *testing.T) {
	forms := map[string]setForm{
		"today":         {},
		"not packed":    {mediaType: "application/vnd.oci.image.manifest.v1+tar", plain: true},
		"as an index":   {mediaType: "application/vnd.oci.image.index.v1+tar+gzip"},
		"of Docker":     {mediaType: "application/vnd.docker.distribution.manifest.v2+tar+gzip", manifestType: oci.MediaTypeDockerManifest},
		"Docker's list": {mediaType: "application/vnd.docker.distribution.manifest.list.v2+tar+gzip", manifestType: oci.MediaTypeDockerManifest},
		"the old index": {change: func(files archive.Files) archive.Files {
			files["artifact-descriptor.json"] = files["index.json"]
			delete(files, "index.json")
			delete(files, "oci-layout")
			return files
		}},
		"the only one": {change: func(files archive.Files) archive.Files {
			return withIndex(t, files, func(index map[string]any) { delete(index, "annotations") })
		}},
		"blobs in folders": {change: func(files archive.Files) archive.Files {
			for name, content := range files {
				if rest, isBlob := strings.CutPrefix(name, "blobs/sha256."); isBlob {
					delete(files, name)
					files["blobs/sha256/"+rest] = content
				}
			}
			return files
		}},
		"one of two": {
			change: func(files archive.Files) archive.Files {
				return withIndex(t, files, func(index map[string]any) {
					delete(index, "annotations")
					manifests := index["manifests"].([]any)
					index["manifests"] = append(manifests, manifests[0])
				})
			},
			broken: "does not indicate which of its 2 manifests to use",
		},
		"no index": {
			change: func(files archive.Files) archive.Files { delete(files, "index.json"); return files },
			broken: "has no index",
		},
	}
	server := registry.Start(t, registry.Options{})
	c := client(t)
	in := contextOf(t, map[string]any{"type": "OCIRegistry", "baseUrl": server.URL})
	for name, form := range forms {
		layer, digest := form.layer(t)
		at := component.Coordinates{
			RepositoryContext: in,
			Name:              "example.org/" + strings.ToLower(strings.NewReplacer(" ", "-", "'", "").Replace(name)),
			Version:           "1.0.0",
		}
		written{
			name: at.Name, version: at.Version, layers: []blob{layer},
			resources: `{name: set, type: t, version: 1.0.0, access: {type: localBlob, localReference: "` +
				layer.digest() + `", mediaType: "` + layer.mediaType + `"}}`,
		}.push(t, store(t, c, server))
		r := New(Options{Client: c})
		got, err := r.Blueprint(t.Context(), at, resource(t, r, at, "set"))
		if form.broken != "" {
			wantError(t, name, err, failure.Terminal, form.broken)
			continue
		}
		if diff := cmp.Diff(blueprintFiles(), got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", name, diff, err)
		}
		sum, err := r.Digest(t.Context(), at, resource(t, r, at, "set"), signature.Digest{})
		if err != nil || sum.Value != digest {
			t.Errorf("%s: the digest is %v, %v, want that of the artifact, %s", name, sum, err, digest)
		}
	}
}

// layer returns a blueprint in this format, and the digest of its artifact.
func (f setForm) layer(t *testing.T) (blob, string) {
	t.Helper()
	if f.mediaType == "" {
		f.mediaType = artifactSet
	}
	if f.manifestType == "" {
		f.manifestType = oci.MediaTypeManifest
	}
	layer := blob{"application/whatever", string(gzipOf(t, tarOf(t, blueprintFiles())))}
	files, manifest := artifactSetFiles(t, f.manifestType, MediaTypeBlueprintConfig, layer)
	if f.change != nil {
		files = f.change(files)
	}
	content := tarOf(t, files)
	if !f.plain {
		content = gzipOf(t, content)
	}
	return blob{f.mediaType, string(content)}, manifest.Digest.Encoded()
}

func withIndex(t *testing.T, files archive.Files, change func(map[string]any)) archive.Files {
	t.Helper()
	var index map[string]any
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	change(index)
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	files["index.json"] = text
	return files
}
