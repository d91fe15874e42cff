// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package krew

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func example() Release {
	return Release{
		Version: "v1.2.3", Address: "https://example.com/v1.2.3/",
		Archives: []Archive{
			{File: "espalier_windows.zip", Checksum: strings.Repeat("b", 64), Program: "espalier.exe", OS: "windows", Architecture: "arm64"},
			{File: "espalier_linux.tar.gz", Checksum: strings.Repeat("a", 64), Program: "espalier", OS: "linux", Architecture: "amd64"},
		},
	}
}

// The fields are those that krew requires of a plugin in its index.
func TestManifest(t *testing.T) {
	text, err := Manifest(example())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	spec, _ := got["spec"].(map[string]any)
	short, _ := spec["shortDescription"].(string)
	if short == "" || len(short) > 50 || strings.HasSuffix(short, ".") {
		t.Errorf("krew shows no short description of %d letters: %q", len(short), short)
	}
	for _, field := range []string{"homepage", "description", "caveats"} {
		if value, _ := spec[field].(string); value == "" {
			t.Errorf("spec.%s is empty", field)
		}
		delete(spec, field)
	}
	delete(spec, "shortDescription")
	platform := func(system, architecture, file, sum, program string) map[string]any {
		return map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"os": system, "arch": architecture}},
			"uri":      "https://example.com/v1.2.3/" + file, "sha256": strings.Repeat(sum, 64), "bin": program,
			"files": []any{map[string]any{"from": program, "to": "."}, map[string]any{"from": "LICENSE", "to": "."}},
		}
	}
	want := map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]any{"name": "espalier"},
		"spec": map[string]any{"version": "v1.2.3", "platforms": []any{
			platform("linux", "amd64", "espalier_linux.tar.gz", "a", "espalier"),
			platform("windows", "arm64", "espalier_windows.zip", "b", "espalier.exe"),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestManifestsThatAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Release){
		"no version":           func(r *Release) { r.Version = "" },
		"a version without v":  func(r *Release) { r.Version = "1.2.3" },
		"a commit for version": func(r *Release) { r.Version = "752ccbd" },
		"no archives":          func(r *Release) { r.Archives = nil },
	} {
		changed := example()
		change(&changed)
		if _, err := Manifest(changed); err == nil {
			t.Errorf("%s: there was no error", name)
		}
	}
}
