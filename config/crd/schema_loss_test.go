// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// loss is something that must not happen to a definition, and the beginning of what the comparison says about it.
type loss struct {
	plural  string
	inflict func(*apiextensionsv1.CustomResourceDefinition)
	finding string
}

var losses = map[string]loss{
	"another kind": {
		plural:  "targets",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Kind = "Goal" },
		finding: "kind: Goal instead of Target",
	},
	"another scope": {
		plural:  "targets",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Scope = "Cluster" },
		finding: "scope: Cluster instead of Namespaced",
	},
	"a short name lost": {
		plural:  "targets",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.ShortNames = []string{"tg"} },
		finding: "shortNames: tgt is missing",
	},
	"a version lost": {
		plural:  "targets",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Name = "v2" },
		finding: "v1alpha1: version is missing",
	},
	"a version not served": {
		plural:  "targets",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Served = false },
		finding: "v1alpha1: served or stored differently",
	},
	"the status subresource lost": {
		plural:  "installations",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Subresources = nil },
		finding: "subresources: status is there in one definition only",
	},
	"a column lost": {
		plural:  "targets",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].AdditionalPrinterColumns = nil },
		finding: "additionalPrinterColumns: Type is missing, changed or out of order",
	},
	"columns in another order": {
		plural: "installations",
		inflict: func(d *apiextensionsv1.CustomResourceDefinition) {
			slices.Reverse(d.Spec.Versions[0].AdditionalPrinterColumns)
		},
		finding: "additionalPrinterColumns: Execution is missing, changed or out of order",
	},
	"a property lost": {
		plural:  "installations",
		inflict: at("spec.imports.data[]", func(s *apiextensionsv1.JSONSchemaProps) { delete(s.Properties, "version") }),
		finding: "spec.imports.data[].version: missing",
	},
	"a property lost in a map": {
		plural:  "pipelines",
		inflict: at("status.environments{}", func(s *apiextensionsv1.JSONSchemaProps) { delete(s.Properties, "targets") }),
		finding: "status.environments{}.targets: missing",
	},
	"the elements of a list lost": {
		plural:  "targetsyncs",
		inflict: at("status.lastErrors", func(s *apiextensionsv1.JSONSchemaProps) { s.Items = nil }),
		finding: "status.lastErrors[]: missing",
	},
	"the values of a map lost": {
		plural:  "installations",
		inflict: at("spec.imports.targets[].targetMap", func(s *apiextensionsv1.JSONSchemaProps) { s.AdditionalProperties = nil }),
		finding: "spec.imports.targets[].targetMap{}: missing",
	},
	"another type": {
		plural:  "targets",
		inflict: at("spec.config", func(s *apiextensionsv1.JSONSchemaProps) { s.Type = "object" }),
		finding: "spec.config: type: object instead of none",
	},
	"another format": {
		plural:  "executions",
		inflict: at("spec.deployItemsCompressed", func(s *apiextensionsv1.JSONSchemaProps) { s.Format = "" }),
		finding: "spec.deployItemsCompressed: format: none instead of byte",
	},
	"pruning": {
		plural:  "dataobjects",
		inflict: at("data", func(s *apiextensionsv1.JSONSchemaProps) { s.XPreserveUnknownFields = nil }),
		finding: "data: unknown fields are pruned",
	},
	"no embedded resource": {
		plural:  "deployitems",
		inflict: at("spec.config", func(s *apiextensionsv1.JSONSchemaProps) { s.XEmbeddedResource = false }),
		finding: "spec.config: embedded resource: false instead of true",
	},
	"a default lost": {
		plural:  "pipelines",
		inflict: at("status", func(s *apiextensionsv1.JSONSchemaProps) { s.Default = nil }),
		finding: "status: default: none instead of map[observedGeneration:-1]",
	},
	"a new field with a default": {
		plural:  "installations",
		inflict: at("spec.flow", func(s *apiextensionsv1.JSONSchemaProps) { s.Default = raw("Job") }),
		finding: "spec.flow: a new field with a default appears in objects that do not have it",
	},
	"another map type": {
		plural:  "contexts",
		inflict: at("ocmConfig", func(s *apiextensionsv1.JSONSchemaProps) { s.XMapType = nil }),
		finding: "ocmConfig: map type: none instead of atomic",
	},
	"more required": {
		plural:  "installations",
		inflict: at("spec", func(s *apiextensionsv1.JSONSchemaProps) { s.Required = append(s.Required, "context") }),
		finding: "spec.context: required",
	},
	"a new field required": {
		plural:  "installations",
		inflict: at("spec", func(s *apiextensionsv1.JSONSchemaProps) { s.Required = append(s.Required, "flow") }),
		finding: "spec.flow: required",
	},
	"an enum where there was none": {
		plural:  "installations",
		inflict: at("status.phase", func(s *apiextensionsv1.JSONSchemaProps) { s.Enum = []apiextensionsv1.JSON{*raw("Init")} }),
		finding: "status.phase: enum",
	},
	"a value of an enum lost": {
		plural:  "pipelines",
		inflict: at("spec.promotion.strategy.pull-request.type", func(s *apiextensionsv1.JSONSchemaProps) { s.Enum = s.Enum[1:] }),
		finding: "spec.promotion.strategy.pull-request.type: enum: \"github\" is missing",
	},
	"a pattern": {
		plural:  "pipelines",
		inflict: at("spec.environments[].name", func(s *apiextensionsv1.JSONSchemaProps) { s.Pattern = "^[a-z]+$" }),
		finding: "spec.environments[].name: pattern: ^[a-z]+$",
	},
	"a rule": {
		plural: "contexts",
		inflict: at("", func(s *apiextensionsv1.JSONSchemaProps) {
			s.XValidations = apiextensionsv1.ValidationRules{{Message: "no"}}
		}),
		finding: ": rule: no",
	},
	"a condition on the whole": {
		plural:  "targets",
		inflict: at("spec", func(s *apiextensionsv1.JSONSchemaProps) { s.Not = &apiextensionsv1.JSONSchemaProps{} }),
		finding: "spec: not: ",
	},
}

// The comparison must notice every kind of loss, so each is inflicted on one of our definitions.
func TestComparisonNoticesEveryLoss(t *testing.T) {
	references := references(t)
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			reference, ours := references[loss.plural], definition(t, loss.plural)
			before := compareDefinitions(reference, ours)
			loss.inflict(ours)
			found := compareDefinitions(reference, ours)
			found = slices.DeleteFunc(found, func(f string) bool { return slices.Contains(before, f) })
			if len(found) == 0 || !strings.HasPrefix(found[0], loss.finding) {
				t.Errorf("found %q, want first %q", found, loss.finding)
			}
		})
	}
}

// at applies a change to the schema at a path in the notation of nodes.
func at(path string, change func(*apiextensionsv1.JSONSchemaProps)) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(d *apiextensionsv1.CustomResourceDefinition) {
		changeSchema(d.Spec.Versions[0].Schema.OpenAPIV3Schema, path, change)
	}
}

func changeSchema(schema *apiextensionsv1.JSONSchemaProps, path string, change func(*apiextensionsv1.JSONSchemaProps)) {
	switch {
	case path == "":
		change(schema)
	case strings.HasPrefix(path, "[]"):
		changeSchema(schema.Items.Schema, strings.TrimPrefix(path, "[]"), change)
	case strings.HasPrefix(path, "{}"):
		changeSchema(schema.AdditionalProperties.Schema, strings.TrimPrefix(path, "{}"), change)
	default:
		path = strings.TrimPrefix(path, ".")
		name, rest := path, ""
		if end := strings.IndexAny(path, ".[{"); end >= 0 {
			name, rest = path[:end], path[end:]
		}
		property := schema.Properties[name]
		changeSchema(&property, rest, change)
		schema.Properties[name] = property
	}
}

func raw(text string) *apiextensionsv1.JSON {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return &apiextensionsv1.JSON{Raw: encoded}
}
