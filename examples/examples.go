// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package examples holds manifests to try Espalier with. Each example is a folder with YAML files, applied in the order of their names, and
// a README.md that begins with a line about the example, and whose commands a test of the command "up" runs. Folders inside of an example
// are not applied.
//
// The example GitOps is the only one that needs more than its manifests: a Gitea, which the command "up" starts.
package examples

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed */*.yaml chart/README.md gitops/README.md gitops/repository hello/README.md promotion/README.md shop/README.md
var files embed.FS

// GitOps is the example that needs a Gitea. Its manifests lack the credentials, and contain the address http://127.0.0.1:3000.
const GitOps = "gitops"

// Repository returns the initial content of the repository of the example GitOps.
func Repository() fs.FS {
	folder, err := fs.Sub(files, GitOps+"/repository")
	if err != nil {
		panic(err) // The path is valid.
	}
	return folder
}

// Names lists the examples, sorted.
func Names() []string {
	folders, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil // Embedded folders are always readable.
	}
	var names []string
	for _, folder := range folders {
		names = append(names, folder.Name())
	}
	return names
}

// Readme returns the page about an example, or nothing if there is none of that name.
func Readme(name string) string {
	text, err := files.ReadFile(path.Join(name, "README.md"))
	if err != nil {
		return ""
	}
	return string(text)
}

// Describe returns the first line of an example's page, which describes it, or nothing if there is none of that name.
func Describe(name string) string {
	_, text, _ := strings.Cut(Readme(name), "\n\n")
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, ".")
}

// Check returns an error that lists the examples, unless there is one of that name.
func Check(name string) error {
	if slices.Contains(Names(), name) {
		return nil
	}
	return fmt.Errorf("unknown example %q: known examples are %s", name, strings.Join(Names(), ", "))
}

// Read returns the objects of an example in the order in which to create them.
func Read(name string) ([]*unstructured.Unstructured, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	paths, err := fs.Glob(files, name+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("find example %s: %w", name, err)
	}
	var objects []*unstructured.Unstructured
	for _, p := range paths {
		more, err := readFile(files, p)
		if err != nil {
			return nil, fmt.Errorf("read example %s: %w", p, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

func readFile(from fs.FS, name string) ([]*unstructured.Unstructured, error) {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
