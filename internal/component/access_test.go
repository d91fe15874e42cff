// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"testing"
)

func accessOf(t *testing.T, text string) Access {
	t.Helper()
	value, err := readDocument([]byte(text), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	access, err := ParseAccess(value.(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	return access
}

func TestAccessKinds(t *testing.T) {
	for kind, names := range map[AccessKind][]string{
		AccessOCIArtifact:          {"ociArtifact", "ociArtifact/v1", "ociRegistry", "ociRegistry/v1", "ociImage", "OCIImage", "OCIImage/v1"},
		AccessOCIBlob:              {"ociBlob", "ociBlob/v1", "OCIImageLayer"},
		AccessLocalBlob:            {"localBlob", "localBlob/v1", "LocalBlob", "localOciBlob", "localFilesystemBlob"},
		AccessRelativeOCIReference: {"relativeOciReference", "relativeOciReference/v1"},
		AccessOther:                {"github", "gitHub/v1", "wget", "s3", "ociartifact", "none"},
	} {
		for _, name := range names {
			if got := (Access{Type: name}).Kind(); got != kind {
				t.Errorf("%s is %s, want %s", name, got, kind)
			}
		}
	}
}

func TestImageReferenceOfAccess(t *testing.T) {
	home := registryAt(t, "https://registry.example.com:5000/components")
	cases := map[string]struct{ text, want, wrong string }{
		"an artifact":               {"{type: ociArtifact, imageReference: x/y:1}", "x/y:1", ""},
		"by its old name":           {"{type: ociRegistry, imageReference: x/y:1}", "x/y:1", ""},
		"without a reference":       {"{type: ociArtifact}", "", "imageReference is required"},
		"the reference is a number": {"{type: ociArtifact, imageReference: 5}", "", "imageReference is required and must be a text"},
		"relative":                  {"{type: relativeOciReference, reference: 'team/y:1'}", "registry.example.com:5000/team/y:1", ""},
		"relative with a slash":     {"{type: relativeOciReference, reference: /team/y:1}", "registry.example.com:5000/team/y:1", ""},
		"a local blob":              {"{type: localBlob, localReference: 'sha256:1'}", "", "access type localBlob names no image"},
		"a local blob and an image": {
			"{type: localBlob, localReference: 'sha256:1', globalAccess: {type: ociArtifact, imageReference: g/y:1}}",
			"g/y:1",
			"",
		},
		"a broken global access": {"{type: localBlob, globalAccess: {imageReference: g/y:1}}", "", "globalAccess: access.type: is required"},
		"a local global access":  {"{type: localBlob, globalAccess: {type: localBlob}}", "", "names no image"},
		"a blob":                 {"{type: ociBlob, ref: x/y, digest: 'sha256:1'}", "", "names no image"},
		"something else":         {"{type: github, repoUrl: x}", "", "access type github names no image"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := accessOf(t, c.text).ImageReference(home)
			if c.wrong != "" {
				wantError(t, err, c.wrong)
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	_, err := accessOf(t, "{type: relativeOciReference, reference: y:1}").ImageReference(RepositoryContext{})
	wantError(t, err, "registry of the component is unknown")
}

func TestBlobOfAccess(t *testing.T) {
	for text, want := range map[string]Blob{
		"{type: ociBlob, ref: x/y, digest: 'sha256:1', mediaType: m}":                 {Repository: "x/y", Reference: "sha256:1", MediaType: "m"},
		"{type: OCIImageLayer/v1, imageReference: x/y, digest: 'sha256:1'}":           {Repository: "x/y", Reference: "sha256:1"},
		"{type: localBlob, localReference: 'sha256:2', mediaType: application/x-tgz}": {Reference: "sha256:2", MediaType: "application/x-tgz"},
		"{type: localOciBlob, digest: 'sha256:3'}":                                    {Reference: "sha256:3"},
		"{type: localFilesystemBlob, filename: chart, mediaType: application/x-tar}":  {Reference: "chart", MediaType: "application/x-tar"},
	} {
		if got, found := accessOf(t, text).Blob(); !found || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, found, want)
		}
	}
	if _, found := accessOf(t, "{type: ociArtifact, imageReference: x}").Blob(); found {
		t.Error("an artifact is no blob")
	}
}

func TestAccessFieldsAreACopy(t *testing.T) {
	access := accessOf(t, "{type: custom, deep: {a: 1}}")
	spoil(access.Fields())
	if got := access.Fields()["deep"].(map[string]any)["a"]; got != int64(1) || access.Fields()["type"] != "custom" {
		t.Errorf("got %v", access.Fields())
	}
	if (Access{}).Fields() != nil {
		t.Error("no access has fields")
	}
}
