// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest makes what is applied to clusters, from the folders config and charts: manifests by way of kustomize, the Kustomizations
// themselves, and the Helm chart. In the sources all of them name the version "devel"; here they get that of a release.
package manifest

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	chartloader "helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"espalier.dev/internal/release/bundle"
)

// Registry is the registry of the published images.
const Registry = "espalier.dev"

// Folders of Kustomizations that a release contains as single files.
const (
	Definitions      = "crd"
	Default          = "default"
	HighAvailability = "ha"
)

// folders are those of config that belong to an installation; the others are for tests.
var folders = []string{Definitions, "rbac", "admission", "manager", Default, HighAvailability, "components"}

// unstamped matches the version in the sources: in references to our images, and in an annotation of CRDs.
var unstamped = regexp.MustCompile(`\b(` + regexp.QuoteMeta(Registry) + `/(?:[a-z-]+:|version: ))devel\b`)

// Kustomizations returns the files of an installation in the folder config, with the version set everywhere.
func Kustomizations(config fs.FS, tag string) ([]bundle.File, error) {
	files, err := bundle.Read(config, belongs)
	if err != nil {
		return nil, fmt.Errorf("read the Kustomizations: %w", err)
	}
	stamped := 0
	for i, file := range files {
		stamped += len(unstamped.FindAll(file.Content, -1))
		files[i].Content = unstamped.ReplaceAll(file.Content, []byte("${1}"+tag))
	}
	if stamped == 0 {
		return nil, fmt.Errorf("the Kustomizations name no image %s/...:devel that could get the version %s", Registry, tag)
	}
	return files, nil
}

func belongs(name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	file := path.Base(name)
	isManifest := strings.HasSuffix(file, ".yaml") || file == "Kustomization"
	return slices.Contains(folders, folder) && isManifest && !strings.Contains(name, "/testdata/")
}

// Build runs "kustomize build" on one of the folders, in isolation: it fetches nothing, and runs no plugins.
func Build(files []bundle.File, folder string) ([]byte, error) {
	memory := filesys.MakeFsInMemory()
	for _, file := range files {
		if err := memory.WriteFile("/"+file.Name, file.Content); err != nil {
			return nil, fmt.Errorf("build %s: %w", folder, err)
		}
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // the Kustomizations set it
	objects, err := krusty.MakeKustomizer(options).Run(memory, "/"+folder)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	return text, nil
}

// Versions are the versions of a chart.
type Versions struct {
	// Chart is a semantic version without a leading v; App is the tag of the images.
	Chart, App string
}

// Chart reads the chart in a folder as Helm does, following the links to generated files, and packs it with the given versions.
func Chart(folder string, versions Versions, at time.Time) ([]byte, error) {
	loaded, err := chartloader.LoadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	var files []bundle.File
	for _, raw := range loaded.Raw {
		content := raw.Data
		if raw.Name == "Chart.yaml" {
			if content, err = stamp(content, versions); err != nil {
				return nil, err
			}
		}
		files = append(files, bundle.File{Name: loaded.Name() + "/" + raw.Name, Mode: bundle.Text, Content: content})
	}
	return bundle.TarGz(files, at)
}

// stamp sets the versions of a chart.
func stamp(metadata []byte, versions Versions) ([]byte, error) {
	for _, each := range []struct{ from, to string }{
		{"\nversion: 0.0.0-devel\n", "\nversion: " + versions.Chart + "\n"},
		{"\nappVersion: devel\n", fmt.Sprintf("\nappVersion: %q\n", versions.App)},
	} {
		if bytes.Count(metadata, []byte(each.from)) != 1 {
			return nil, fmt.Errorf("the chart has no line %q that could get the version", strings.TrimSpace(each.from))
		}
		metadata = bytes.Replace(metadata, []byte(each.from), []byte(each.to), 1)
	}
	return metadata, nil
}
