// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	_ "embed"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed flux.yaml
var fluxKinds []byte

// FluxKinds returns definitions of HelmRelease and Kustomization, for tests in which nobody but the test itself writes their status.
func FluxKinds(t testing.TB) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var kinds []*apiextensionsv1.CustomResourceDefinition
	for _, document := range bytes.Split(fluxKinds, []byte("\n---\n")) {
		kind := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(document, kind); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kind)
	}
	return kinds
}
