// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"
	"sync"
)

// Compiler compiles schemas and caches them by content. It is safe for concurrent use.
type Compiler struct {
	limits Limits
	mutex  sync.Mutex
	cache  *cache
}

// NewCompiler returns a compiler with a cache for up to cacheBytes bytes of schema text.
func NewCompiler(limits Limits, cacheBytes int) *Compiler {
	return &Compiler{limits: limits, cache: newCache(cacheBytes)}
}

// Compile compiles the schema in text, which is JSON. The argument what names the import or export that it belongs to, for
// example `import "config"`; errors start with it.
//
// An invalid schema is a terminal error with ReasonInvalidSchema. Errors of a Finder keep their kind.
func (c *Compiler) Compile(what string, text []byte, sources Sources) (*Schema, error) {
	key := keyOf(text, &sources)
	if known := c.find(key, &sources); known != nil {
		return known, nil
	}
	b, err := collect(text, &sources, c.limits)
	if err != nil {
		return nil, schemaError(what, err)
	}
	ready, err := compile(b)
	if err != nil {
		return nil, schemaError(what, err)
	}
	result := &Schema{compiled: ready}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.cache.add(newEntry(key, b, result))
	return result, nil
}

func (c *Compiler) find(key digest, sources *Sources) *Schema {
	c.mutex.Lock()
	candidates := c.cache.candidates(key)
	c.mutex.Unlock()
	for _, candidate := range candidates {
		if candidate.matches(sources, c.limits.DocumentBytes) {
			c.mutex.Lock()
			c.cache.touch(candidate)
			c.mutex.Unlock()
			return candidate.schema
		}
	}
	return nil
}

// Validate compiles a schema and validates a value with it.
func (c *Compiler) Validate(what string, text []byte, sources Sources, value any) error {
	compiled, err := c.Compile(what, text, sources)
	if err != nil {
		return err
	}
	return compiled.Validate(what, value)
}

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	// mutex protects the budget, which all validations with this schema use in turn.
	mutex    sync.Mutex
	compiled *compiled
}

// Validate validates a value, which consists of what JSON decodes to. A value that does not match is a terminal error with
// ReasonSchemaValidationFailed. The error says where and what was expected, and contains nothing of the value except the
// names of its properties.
func (s *Schema) Validate(what string, value any) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	problems, err := s.compiled.validate(value)
	if err != nil {
		return terminal(ReasonSchemaTooExpensive, "the value of %s cannot be checked: %w", what, err)
	}
	if len(problems) > 0 {
		return terminal(ReasonSchemaValidationFailed, "the value of %s does not match its schema: %s", what, strings.Join(problems, "; "))
	}
	return nil
}
