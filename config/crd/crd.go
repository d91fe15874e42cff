// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions of all kinds that Espalier serves. They are generated from the types in
// the module espalier.dev/api by tools/generate.sh. An API server of Kubernetes 1.33 or later accepts them.
package crd

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// All returns the definitions of all kinds, sorted by group and then by plural name. The caller may change them.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list embedded CRDs: %w", err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		crd, err := read(name)
		if err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

func read(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read embedded CRD: %w", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return nil, fmt.Errorf("read embedded CRD %s: %w", name, err)
	}
	return crd, nil
}
