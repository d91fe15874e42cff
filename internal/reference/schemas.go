// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"espalier.dev/config/crd"
)

// draft is the version that editors support best.
const draft = "http://json-schema.org/draft-07/schema#"

// schema is a JSON schema, or a part of one.
type schema = map[string]any

// kindSchema is the schema of one kind.
type kindSchema struct {
	apiVersion, kind string
	content          schema
}

func (k kindSchema) path() string {
	group, version, _ := strings.Cut(k.apiVersion, "/")
	return path.Join(group, strings.ToLower(k.kind)+"_"+version+".json")
}

// Schemas returns the schemas for editors, by their paths in the folder schemas: one for each kind and for the files of blueprints, and one
// that selects among them by apiVersion and kind.
func Schemas(root string) (map[string][]byte, error) {
	kinds, err := definedKinds()
	if err != nil {
		return nil, err
	}
	files, err := blueprintFiles(root)
	if err != nil {
		return nil, err
	}
	result := map[string][]byte{}
	kinds = append(kinds, files...)
	for _, k := range kinds {
		k.content["$schema"], k.content["title"] = draft, k.kind
		if result[k.path()], err = marshal(k.content); err != nil {
			return nil, err
		}
	}
	result["espalier.json"], err = marshal(choice(kinds))
	return result, err
}

func marshal(s schema) ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// choice returns the schema for objects of all kinds. It accepts all objects of other kinds.
func choice(kinds []kindSchema) schema {
	var rules []any
	known := map[string][]string{}
	for _, k := range kinds {
		known[k.apiVersion] = append(known[k.apiVersion], k.kind)
		rules = append(rules, schema{
			"if": schema{
				"required":   []string{"apiVersion", "kind"},
				"properties": schema{"apiVersion": schema{"const": k.apiVersion}, "kind": schema{"const": k.kind}},
			},
			"then": schema{"$ref": k.path()},
		})
	}
	for _, apiVersion := range slices.Sorted(maps.Keys(known)) {
		rules = append(rules, schema{
			"if":   schema{"required": []string{"apiVersion"}, "properties": schema{"apiVersion": schema{"const": apiVersion}}},
			"then": schema{"required": []string{"kind"}, "properties": schema{"kind": schema{"enum": known[apiVersion]}}},
		})
	}
	return schema{"$schema": draft, "title": "Espalier", "description": "All kinds of Espalier, distinguished by apiVersion and kind.", "allOf": rules}
}

// definedKinds returns the kinds that the API server serves.
func definedKinds() ([]kindSchema, error) {
	definitions, err := crd.All()
	if err != nil {
		return nil, err
	}
	var kinds []kindSchema
	for _, d := range definitions {
		for _, version := range d.Spec.Versions {
			text, err := json.Marshal(version.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", d.Name, err)
			}
			content := schema{}
			if err := json.Unmarshal(text, &content); err != nil {
				return nil, fmt.Errorf("schema of %s: %w", d.Name, err)
			}
			k := kindSchema{apiVersion: d.Spec.Group + "/" + version.Name, kind: d.Spec.Names.Kind, content: tightened(content)}
			k.name()
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

// name adds to the schema of a CRD what identifies objects of this kind.
func (k kindSchema) name() {
	properties := k.content["properties"].(schema)
	properties["apiVersion"] = schema{"description": "apiVersion of the kind.", "const": k.apiVersion}
	properties["kind"] = schema{"description": "kind of the object.", "const": k.kind}
	properties["metadata"] = metadata()
	required := []any{"apiVersion", "kind", "metadata"}
	if more, has := k.content["required"].([]any); has {
		required = append(required, more...)
	}
	k.content["required"] = required
}

// metadata returns the schema of metadata, which CRDs leave to the API server.
func metadata() schema {
	texts := func(description string) schema {
		return schema{"description": description, "type": []string{"object", "null"}, "additionalProperties": schema{"type": "string"}}
	}
	properties := schema{
		"name":         schema{"description": "name of the object, unique in its namespace.", "type": "string"},
		"generateName": schema{"description": "generateName is what a name begins with that the API server makes up.", "type": "string"},
		"namespace":    schema{"description": "namespace of the object.", "type": "string"},
		"labels":       texts("labels by which objects are selected."),
		"annotations":  texts("annotations for tools and people."),
		"finalizers":   schema{"description": "finalizers keep the object until they are removed.", "type": "array", "items": schema{"type": "string"}},
	}
	for _, set := range []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "ownerReferences",
		"resourceVersion", "selfLink", "uid",
	} {
		properties[set] = schema{"description": set + " is set in the cluster; leave it out of manifests."}
	}
	return schema{"description": "metadata of the object.", "type": "object", "properties": properties, "additionalProperties": false}
}

// exactlyOne starts the message of a CEL rule that permits exactly one of the fields that follow.
const exactlyOne = "set exactly one of "

// tightened converts a schema of Kubernetes into one for editors. An unknown field, which the API server would drop silently, is an error
// there. Of CEL rules, it keeps those that permit exactly one field; JSON schemas can hardly express the others.
func tightened(s schema) schema {
	open := s["x-kubernetes-preserve-unknown-fields"] == true
	if fields := alternatives(s); len(fields) > 0 {
		s["oneOf"] = fields
	}
	maps.DeleteFunc(s, func(key string, _ any) bool { return strings.HasPrefix(key, "x-kubernetes-") })
	if properties, has := s["properties"].(schema); has {
		for name, inner := range properties {
			properties[name] = tightened(inner.(schema))
		}
		if s["additionalProperties"] == nil && !open {
			s["additionalProperties"] = false
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, has := s[key].(schema); has {
			s[key] = tightened(inner)
		}
	}
	return s
}

// alternatives returns the fields of an object of which exactly one must be set, from the message of its rule.
func alternatives(s schema) []any {
	rules, _ := s["x-kubernetes-validations"].([]any)
	properties, _ := s["properties"].(schema)
	for _, rule := range rules {
		message, _ := rule.(schema)["message"].(string)
		fields, found := strings.CutPrefix(message, exactlyOne)
		if !found {
			continue
		}
		var result []any
		for field := range strings.SplitSeq(strings.ReplaceAll(fields, " and ", ", "), ", ") {
			if properties[field] == nil {
				return nil // It is about another object.
			}
			result = append(result, need(field))
		}
		return result
	}
	return nil
}
