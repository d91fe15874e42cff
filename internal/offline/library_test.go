// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files and links by path, and returns the directory.
func tree(t *testing.T, files, links map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	head    = "apiVersion: landscaper.gardener.cloud/v1alpha1\n"
	appText = "meta: {schemaVersion: v2}\ncomponent: {name: app, version: 1.0.0, resources: [{name: installer, type: blueprint, version: 1.0.0, access: {type: localBlob, localReference: b}}]}"
	app     = head + "kind: Installation\nmetadata: {name: app}\nspec: {componentDescriptor: {ref: {componentName: app, version: 1.0.0}}, blueprint: {ref: {resourceName: installer}}}\n"
)

// renderText renders manifests with a directory of components, if there is one.
func renderText(t *testing.T, components, text string) (*Result, error) {
	t.Helper()
	library, err := OpenLibrary(components, nil)
	if err != nil {
		return nil, err
	}
	m := NewManifests("default")
	if err := m.Add("in.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	return Render(t.Context(), m, Options{Library: library})
}

// Links do not lead out of the directories from the user, wherever they are.
func TestLinksDoNotLeadOut(t *testing.T) {
	outside := tree(t, map[string]string{"blueprint.yaml": "kind: Blueprint", "component-descriptor.yaml": appText}, nil)
	inside := map[string]string{"component-descriptor.yaml": appText, "blobs/x": "", "elsewhere/blueprint.yaml": "kind: Blueprint"}
	if _, err := renderText(t, tree(t, inside, map[string]string{"installer": "elsewhere"}), app); err != nil {
		t.Errorf("a link within the directory: %v", err)
	}
	beside := map[string]string{"installer": "elsewhere", "component-descriptor.md": filepath.Join(outside, "blueprint.yaml")}
	if _, err := renderText(t, tree(t, inside, beside), app); err != nil {
		t.Errorf("a link that nobody follows: %v", err)
	}
	for name, links := range map[string]map[string]string{
		"the blueprint beside": {"installer": outside},
		"a relative way out":   {"installer": "../" + filepath.Base(outside)},
		"the blob":             {"blobs/b": filepath.Join(outside, "blueprint.yaml")},
	} {
		_, err := renderText(t, tree(t, inside, links), app)
		if err == nil ||
			!strings.Contains(err.Error(), "spec.blueprint.ref.resourceName: the blueprint installer of component app:1.0.0 is not available") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := renderText(t, tree(t, nil, map[string]string{"component-descriptor.yaml": filepath.Join(outside, "component-descriptor.yaml")}), app); err == nil {
		t.Error("a descriptor outside is read")
	}
	linked := tree(t, nil, map[string]string{"blueprint.yaml": filepath.Join(outside, "blueprint.yaml")})
	if _, err := CheckBlueprints([]string{linked}, nil); err == nil || !strings.Contains(err.Error(), "no links or devices") {
		t.Errorf("a blueprint file: %v", err)
	}
	link := filepath.Join(tree(t, nil, map[string]string{"here": outside}), "here")
	if checked, err := CheckBlueprints([]string{link}, nil); err != nil || len(checked) != 1 || checked[0].Errors != nil {
		t.Errorf("the directory itself may be a link: %+v, %v", checked, err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	descriptor := tree(t, map[string]string{"component-descriptor.yaml": appText}, nil)
	pins := head + "kind: ComponentVersionOverwrites\nmetadata: {name: pins}\noverwrites: [{source: {repositoryContext: {}}}]\n"
	context := func(content string) string {
		return head + "kind: Context\nmetadata: {name: default}\n" + content + "\n"
	}
	for name, test := range map[string]struct {
		components string
		manifests  []string
		want       string
	}{
		"no components": {"", []string{app},
			"in.yaml, document 1: installation app: spec.componentDescriptor: component app:1.0.0: read the descriptor of app:1.0.0: component not found: no repository to read from; give its descriptors, in a directory or an archive, with --components"},
		"other components": {descriptor, []string{strings.ReplaceAll(app, "1.0.0", "2.0.0")},
			"in.yaml, document 1: installation app: spec.componentDescriptor: component app:2.0.0: read the descriptor of app:2.0.0: component not found among the 1 that are given"},
		"no blueprint": {descriptor, []string{app},
			"in.yaml, document 1: installation app: spec.blueprint.ref.resourceName: the blueprint installer of component app:1.0.0 is not available: set its directory with --blueprint installer=DIR"},
		"no directory":     {filepath.Join(descriptor, "none"), []string{app}, "--components " + filepath.Join(descriptor, "none") + ": open "},
		"a wrong Context":  {descriptor, []string{app, context("repositoryContext: {}")}, "in.yaml, document 1: installation app: in.yaml, document 2: Context default: repositoryContext: a repository context needs a type"},
		"no overwrites":    {descriptor, []string{app, context("componentVersionOverwrites: pins")}, "in.yaml, document 2: Context default: componentVersionOverwrites: there is no ComponentVersionOverwrites default/pins: create it"},
		"wrong overwrites": {descriptor, []string{app, context("componentVersionOverwrites: pins"), pins}, "in.yaml, document 3: ComponentVersionOverwrites pins: overwrites[0].source: "},
	} {
		_, err := renderText(t, test.components, strings.Join(test.manifests, "---\n"))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if err != nil && test.components != "" && strings.Contains(err.Error(), "with --components") {
			t.Errorf("%s: the components are given: %v", name, err)
		}
	}
}
