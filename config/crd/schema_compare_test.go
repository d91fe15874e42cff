// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// comparison collects what makes an object that is valid against one definition invalid against another, or makes it
// lose a part.
type comparison struct {
	findings []string
}

func (c *comparison) report(path, format string, args ...any) {
	c.findings = append(c.findings, fmt.Sprintf("%s: ", path)+fmt.Sprintf(format, args...))
}

// compareDefinitions compares ours with the one that users have today.
func compareDefinitions(reference, ours *apiextensionsv1.CustomResourceDefinition) []string {
	c := &comparison{}
	c.compareNames(reference.Spec, ours.Spec)
	for _, theirs := range reference.Spec.Versions {
		index := slices.IndexFunc(
			ours.Spec.Versions,
			func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == theirs.Name },
		)
		if index < 0 {
			c.report(theirs.Name, "version is missing")
			continue
		}
		c.compareVersions(theirs, ours.Spec.Versions[index])
	}
	return c.findings
}

func (c *comparison) compareNames(reference, ours apiextensionsv1.CustomResourceDefinitionSpec) {
	facts := map[string][2]any{
		"group":    {reference.Group, ours.Group},
		"scope":    {reference.Scope, ours.Scope},
		"kind":     {reference.Names.Kind, ours.Names.Kind},
		"listKind": {reference.Names.ListKind, ours.Names.ListKind},
		"plural":   {reference.Names.Plural, ours.Names.Plural},
		"singular": {reference.Names.Singular, ours.Names.Singular},
	}
	for name, pair := range facts {
		if pair[0] != pair[1] {
			c.report(name, "%v instead of %v", pair[1], pair[0])
		}
	}
	for _, short := range reference.Names.ShortNames {
		if !slices.Contains(ours.Names.ShortNames, short) {
			c.report("shortNames", "%s is missing", short)
		}
	}
}

func (c *comparison) compareVersions(reference, ours apiextensionsv1.CustomResourceDefinitionVersion) {
	if reference.Served != ours.Served || reference.Storage != ours.Storage {
		c.report(reference.Name, "served or stored differently")
	}
	if hasStatus(reference) != hasStatus(ours) {
		c.report("subresources", "status is there in one definition only")
	}
	c.compareColumns(reference.AdditionalPrinterColumns, ours.AdditionalPrinterColumns)
	c.compareSchemas("", reference.Schema.OpenAPIV3Schema, ours.Schema.OpenAPIV3Schema)
}

func hasStatus(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return version.Subresources != nil && version.Subresources.Status != nil
}

// compareColumns wants the columns that users know, in the order they know. Others may stand between them.
func (c *comparison) compareColumns(reference, ours []apiextensionsv1.CustomResourceColumnDefinition) {
	rest := ours
	for _, column := range reference {
		index := slices.IndexFunc(rest, func(o apiextensionsv1.CustomResourceColumnDefinition) bool {
			o.Description = ""
			return o == column
		})
		if index < 0 {
			c.report("additionalPrinterColumns", "%s is missing, changed or out of order", column.Name)
			continue
		}
		rest = rest[index+1:]
	}
}

func (c *comparison) compareSchemas(path string, reference, ours *apiextensionsv1.JSONSchemaProps) {
	c.compareShape(path, reference, ours)
	c.compareRequired(path, reference, ours)
	c.compareEnums(path, reference, ours)
	c.compareBounds(path, reference, ours)
	c.compareProperties(path, reference, ours)
	c.compareElements(path, reference, ours)
	for _, rule := range ours.XValidations {
		c.report(path, "rule: %s", rule.Message)
	}
}

// compareShape looks at what decides which values are taken and what is kept of them.
func (c *comparison) compareShape(path string, reference, ours *apiextensionsv1.JSONSchemaProps) {
	facts := map[string][2]any{
		"type":              {reference.Type, ours.Type},
		"format":            {reference.Format, ours.Format},
		"nullable":          {reference.Nullable, ours.Nullable},
		"default":           {defaultOf(reference), defaultOf(ours)},
		"embedded resource": {reference.XEmbeddedResource, ours.XEmbeddedResource},
		"int or string":     {reference.XIntOrString, ours.XIntOrString},
		"list type":         {value(reference.XListType), value(ours.XListType)},
		"map type":          {value(reference.XMapType), value(ours.XMapType)},
	}
	for name, pair := range facts {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			c.report(path, "%s: %v instead of %v", name, describe(pair[1]), describe(pair[0]))
		}
	}
	if value(reference.XPreserveUnknownFields) && !value(ours.XPreserveUnknownFields) {
		c.report(path, "unknown fields are pruned")
	}
}

func (c *comparison) compareRequired(path string, reference, ours *apiextensionsv1.JSONSchemaProps) {
	for _, name := range ours.Required {
		if !slices.Contains(reference.Required, name) {
			c.report(child(path, name), "required")
		}
	}
}

func (c *comparison) compareEnums(path string, reference, ours *apiextensionsv1.JSONSchemaProps) {
	if len(ours.Enum) == 0 {
		return
	}
	if len(reference.Enum) == 0 {
		c.report(path, "enum")
	}
	for _, known := range reference.Enum {
		same := func(o apiextensionsv1.JSON) bool { return string(o.Raw) == string(known.Raw) }
		if !slices.ContainsFunc(ours.Enum, same) {
			c.report(path, "enum: %s is missing", known.Raw)
		}
	}
}

// compareBounds looks at everything else that can refuse a value.
func (c *comparison) compareBounds(path string, reference, ours *apiextensionsv1.JSONSchemaProps) {
	theirs, own := bounds(reference), bounds(ours)
	for name, bound := range own {
		if !isZero(bound) && !reflect.DeepEqual(bound, theirs[name]) {
			c.report(path, "%s: %v", name, describe(bound))
		}
	}
}

func bounds(schema *apiextensionsv1.JSONSchemaProps) map[string]any {
	return map[string]any{
		"minLength":     schema.MinLength,
		"maxLength":     schema.MaxLength,
		"pattern":       schema.Pattern,
		"minItems":      schema.MinItems,
		"maxItems":      schema.MaxItems,
		"uniqueItems":   schema.UniqueItems,
		"minProperties": schema.MinProperties,
		"maxProperties": schema.MaxProperties,
		"minimum":       schema.Minimum,
		"maximum":       schema.Maximum,
		"exclusive":     schema.ExclusiveMinimum || schema.ExclusiveMaximum,
		"multipleOf":    schema.MultipleOf,
		"oneOf":         schema.OneOf,
		"anyOf":         schema.AnyOf,
		"allOf":         schema.AllOf,
		"not":           schema.Not,
	}
}

func (c *comparison) compareProperties(path string, reference, ours *apiextensionsv1.JSONSchemaProps) {
	for name := range reference.Properties {
		theirs := reference.Properties[name]
		own, exists := ours.Properties[name]
		if !exists {
			c.report(child(path, name), "missing")
			continue
		}
		c.compareSchemas(child(path, name), &theirs, &own)
	}
	for name, own := range ours.Properties {
		if _, known := reference.Properties[name]; !known && own.Default != nil {
			c.report(child(path, name), "a new field with a default appears in objects that do not have it")
		}
	}
}

func (c *comparison) compareElements(path string, reference, ours *apiextensionsv1.JSONSchemaProps) {
	if reference.Items != nil {
		if ours.Items == nil {
			c.report(path+"[]", "missing")
		} else {
			c.compareSchemas(path+"[]", reference.Items.Schema, ours.Items.Schema)
		}
	}
	if reference.AdditionalProperties != nil {
		if ours.AdditionalProperties == nil {
			c.report(path+"{}", "missing")
		} else {
			c.compareSchemas(path+"{}", reference.AdditionalProperties.Schema, ours.AdditionalProperties.Schema)
		}
	}
}

func defaultOf(schema *apiextensionsv1.JSONSchemaProps) any {
	if schema.Default == nil {
		return nil
	}
	var decoded any
	if err := json.Unmarshal(schema.Default.Raw, &decoded); err != nil {
		return err
	}
	return decoded
}

func value[T any](pointer *T) T {
	if pointer == nil {
		return *new(T)
	}
	return *pointer
}

func isZero(v any) bool {
	reflected := reflect.ValueOf(v)
	return !reflected.IsValid() || reflected.IsZero()
}

// describe shows what a pointer points to, and nothing as such.
func describe(v any) any {
	reflected := reflect.ValueOf(v)
	if !reflected.IsValid() || reflected.Kind() == reflect.String && reflected.Len() == 0 {
		return "none"
	}
	if reflected.Kind() == reflect.Pointer && !reflected.IsNil() {
		return reflected.Elem().Interface()
	}
	return v
}
