// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"go/ast"
	"slices"
)

const (
	blueprintFolder     = "api/landscaper/v1alpha1"
	blueprintAPIVersion = "landscaper.gardener.cloud/v1alpha1"
)

// blueprintFiles returns the schemas of the files in a blueprint's directory. No API server knows them, so they are generated from the
// types.
func blueprintFiles(root string) ([]kindSchema, error) {
	var files []kindSchema
	for _, kind := range []string{"Blueprint", "InstallationTemplate"} {
		b := &builder{source: &source{root: root, known: map[string]map[string]*declaration{}}, definitions: schema{}}
		if _, err := b.structure(name{folder: blueprintFolder, local: kind}); err != nil {
			return nil, err
		}
		content := b.definitions[kind].(schema)
		delete(b.definitions, kind)
		content["definitions"] = b.definitions
		files = append(files, kindSchema{apiVersion: blueprintAPIVersion, kind: kind, content: content})
	}
	return files, nil
}

// builder generates schemas from Go types. Structs become definitions, since they may be recursive.
type builder struct {
	source      *source
	definitions schema
}

// languageTypes maps Go's basic types to JSON types.
var languageTypes = map[string]string{"string": "string", "bool": "boolean", "int": "integer", "int32": "integer"}

func (b *builder) typed(n name) (schema, error) {
	if n.local == "AnyJSON" {
		return schema{}, nil
	}
	if n.folder == "" && languageTypes[n.local] != "" {
		return schema{"type": languageTypes[n.local]}, nil
	}
	found, err := b.source.find(n)
	if err != nil || found == nil {
		return nil, fmt.Errorf("%s of %q has no schema: %w", n.local, n.folder, err)
	}
	if _, isStruct := found.spec.Type.(*ast.StructType); isStruct {
		return b.structure(n)
	}
	if len(found.values) > 0 {
		return schema{"type": "string", "enum": found.values}, nil
	}
	return schema{"type": "string"}, nil
}

// structure defines a struct, unless it is already defined, and returns a reference to it.
func (b *builder) structure(n name) (schema, error) {
	reference := schema{"$ref": "#/definitions/" + n.local}
	if b.definitions[n.local] != nil {
		return reference, nil
	}
	content := schema{"type": "object", "additionalProperties": false}
	b.definitions[n.local] = content
	found, err := b.source.find(n)
	if err != nil || found == nil {
		return nil, fmt.Errorf("%s has no type %s: %w", n.folder, n.local, err)
	}
	fields, err := b.source.fields(n)
	if err != nil {
		return nil, err
	}
	properties, required := schema{}, []string{}
	for _, f := range fields {
		if properties[f.name], err = b.field(f); err != nil {
			return nil, err
		}
		if f.required {
			required = append(required, f.name)
		}
	}
	content["description"], content["properties"], content["required"] = found.text, properties, required
	if rule := rules[n.local]; rule != nil {
		rule(content)
	}
	return reference, nil
}

func (b *builder) field(f field) (schema, error) {
	inner, err := b.typed(f.is)
	if err != nil {
		return nil, err
	}
	switch {
	case f.of == "list of ":
		inner = schema{"type": "array", "items": inner}
	case f.of == "map of ":
		inner = schema{"type": "object", "additionalProperties": inner}
	case inner["$ref"] != nil:
		inner = schema{"allOf": []any{inner}} // Keywords beside a reference are ignored.
	}
	inner["description"] = f.text
	return inner, nil
}

// rules are those of blueprint.Validate that do not depend on values, by the type that they apply to.
var rules = map[string]func(schema){
	"Blueprint": func(s schema) { ofKind(s, "Blueprint") },
	"InstallationTemplate": func(s schema) {
		ofKind(s, "InstallationTemplate")
		withName(s)
	},
	"SubinstallationTemplate": func(s schema) {
		ofKind(s, "InstallationTemplate")
		s["required"] = []string{}
		s["anyOf"] = []any{need("file"), need("name", "blueprint")}
	},
	"InstallationTemplateBlueprint": func(s schema) { s["oneOf"] = []any{need("ref"), need("filesystem")} },
	"TemplateExecutor": func(s schema) {
		s["required"] = []string{"type"}
		s["oneOf"] = []any{need("file"), need("template")}
	},
	"ImportDefinition": describedValue,
	"ExportDefinition": func(s schema) {
		describedValue(s)
		property(s, "type")["enum"] = []string{"data", "target"}
	},
	"DataImport": func(s schema) {
		withName(s)
		s["oneOf"] = []any{need("dataRef"), need("secretRef"), need("configMapRef")}
	},
	"DataExport":   withName,
	"TargetExport": withName,
	"TargetImport": func(s schema) {
		withName(s)
		s["oneOf"] = []any{need("target"), need("targets"), need("targetListRef"), need("targetMap"), need("targetMapRef")}
	},
}

// ofKind adds the fields that identify the kind of a file. Both are optional.
func ofKind(s schema, kind string) {
	properties := s["properties"].(schema)
	properties["apiVersion"] = schema{"description": "apiVersion of the file.", "const": blueprintAPIVersion}
	properties["kind"] = schema{"description": "kind of the file.", "const": kind}
}

// withName requires a name that is not empty.
func withName(s schema) { property(s, "name")["minLength"] = 1 }

// describedValue adds the rules for the values of imports and exports.
func describedValue(s schema) {
	withName(s)
	s["anyOf"] = []any{need("type"), need("schema"), need("targetType")}
	isData := schema{"required": []string{"type"}, "properties": schema{"type": schema{"const": "data"}}}
	isTarget := schema{"required": []string{"type"}, "properties": schema{"type": schema{"not": schema{"const": "data"}}}}
	s["allOf"] = []any{
		schema{"if": isData, "then": schema{"not": need("targetType")}},
		schema{"if": isTarget, "then": schema{"not": need("schema")}},
	}
}

func property(s schema, name string) schema { return s["properties"].(schema)[name].(schema) }

func need(fields ...string) schema { return schema{"required": slices.Clone(fields)} }
