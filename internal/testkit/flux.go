// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	_ "embed"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed flux.yaml
var fluxKinds []byte

// FluxKinds returns CRDs of HelmRelease and Kustomization, for tests that write their status themselves.
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

// FluxAlerts returns a CRD of Alert, for tests in which no controller processes it.
func FluxAlerts() *apiextensionsv1.CustomResourceDefinition {
	open := true
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type:                   "object",
		XPreserveUnknownFields: &open,
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "alerts.notification.toolkit.fluxcd.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "notification.toolkit.fluxcd.io", Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: "Alert", ListKind: "AlertList", Plural: "alerts", Singular: "alert"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1beta3", Served: true, Storage: true, Schema: schema}},
		},
	}
}
