// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bytes"
	"maps"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/template"
	"espalier.dev/internal/template/spiff"
)

// Cache sizes for a process that serves some hundred blueprints and some thousand installations.
const (
	blueprintCacheBytes  = 64 << 20
	mappingCacheBytes    = 16 << 20
	descriptorCacheBytes = 16 << 20
)

// compiledFactor is the ratio of the sizes of a compiled template and its text: a rough, high estimate.
const compiledFactor = 8

func bytesOf(f Files) int {
	total := 0
	for name, content := range f {
		total += len(name) + len(content)
	}
	return total
}

// keyOf returns a hash of the names and contents of all files.
func keyOf(f Files) lru.Key {
	parts := make([][]byte, 0, 2*len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, []byte(name), f[name])
	}
	return lru.KeyOf(parts...)
}

// Parse is the function Parse with a cache: a blueprint with known files is not parsed again. The files must not be modified
// afterwards.
func (e *Engine) Parse(files Files) (*Blueprint, error) {
	return e.blueprints.Get(keyOf(files), func() (*Blueprint, int, error) {
		b, err := Parse(files)
		return b, bytesOf(files) * compiledFactor, err
	})
}

// ParseInline parses a blueprint with its directory as a tree, or takes it from the cache.
func (e *Engine) ParseInline(tree lsv1alpha1.AnyJSON) (*Blueprint, error) {
	return e.blueprints.Get(lru.KeyOf([]byte("inline"), tree.Raw), func() (*Blueprint, int, error) {
		b, err := parseInline(tree)
		return b, len(tree.Raw) * compiledFactor, err
	})
}

func parseInline(tree lsv1alpha1.AnyJSON) (*Blueprint, error) {
	files, err := InlineFiles(tree)
	if err != nil {
		return nil, invalid(err)
	}
	b, err := Parse(files)
	if err != nil {
		return nil, err
	}
	plain, err := template.DecodeJSON(tree.Raw)
	if err != nil {
		return nil, invalid(err)
	}
	b.tree = &inlineTree{text: bytes.Clone(tree.Raw), plain: plain}
	return b, nil
}

// The fields of data mappings.
const importDataMappings, exportDataMappings = "importDataMappings", "exportDataMappings"

// mapper evaluates the data mappings of an installation. Each is compiled once.
func (e *Engine) mapper(field string) dataflow.Mapper {
	return func(mapping lsv1alpha1.AnyJSON, bindings map[string]any) (any, error) {
		compiled, err := e.mappings.Get(lru.KeyOf([]byte(field), mapping.Raw), func() (*spiff.Template, int, error) {
			compiled, err := compileMapping(field, mapping)
			return compiled, len(mapping.Raw) * compiledFactor, err
		})
		if err != nil {
			return nil, err
		}
		result, err := compiled.Evaluate(spiff.Input{Bindings: bindings})
		if err != nil {
			return nil, err
		}
		return result.Value, nil
	}
}

func compileMapping(field string, mapping lsv1alpha1.AnyJSON) (*spiff.Template, error) {
	var tree any
	if !mapping.IsNull() {
		var err error
		if tree, err = template.DecodeJSON(mapping.Raw); err != nil {
			return nil, err
		}
	}
	return spiff.CompileTree(template.Source{Execution: field}, tree, spiff.Options{})
}
