// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled is a schema that is ready for use.
type compiled struct {
	schema *jsonschema.Schema
	budget *budget
	limits Limits
}

func compile(b *bundle) (result *compiled, err error) {
	// The compiler panics on some schemas that it considers impossible. That is a fault of the schema and must not crash the
	// process.
	defer func() {
		if cause := recover(); cause != nil {
			result, err = nil, invalid("it confuses the compiler")
		}
	}()
	result = &compiled{budget: &budget{}, limits: b.limits}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.DefaultDraft(b.draft.dialect)
	compiler.AssertFormat()
	compiler.UseRegexpEngine(result.budget.expressions(b.limits.PatternBytes))
	for w := range b.weights {
		compiler.RegisterFormat(result.budget.counter(w))
	}
	for _, identity := range b.order {
		if err := compiler.AddResource(b.documents[identity].address, b.documents[identity].root); err != nil {
			return nil, invalid("%v", err)
		}
	}
	result.schema, err = compiler.Compile(b.documents[rootIdentity].address)
	if err != nil {
		return nil, b.compileFault(err)
	}
	return result, nil
}

// noLoader is a loader that always fails.
type noLoader struct{}

var errNotLoaded = errors.New("not loaded")

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errNotLoaded }

// compileFault describes a fault of a schema in terms of the documents that people know.
func (b *bundle) compileFault(err error) error {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return invalid("it refers to %q, which cannot be loaded: use local://, blueprint:// or cd://", b.readable(load.URL))
	}
	var mismatch *jsonschema.SchemaValidationError
	if errors.As(err, &mismatch) {
		var violation *jsonschema.ValidationError
		if errors.As(mismatch.Err, &violation) {
			return invalid("%s%s", b.prefix(mismatch.URL), strings.Join(explain(violation, b.limits.Problems), "; "))
		}
	}
	var expression *jsonschema.InvalidRegexError
	if errors.As(err, &expression) {
		return invalid("%s%q is not a regular expression: %v", b.prefix(expression.URL), shorten(expression.Regex), expression.Err)
	}
	return invalid("%s", b.readable(err.Error()))
}

// prefix names the document at an address, unless it is the main schema.
func (b *bundle) prefix(address string) string {
	address, _, _ = cutFragment(address)
	for _, identity := range b.order {
		if d := b.documents[identity]; d.address == address && d.name != "" {
			return d.name + ": "
		}
	}
	return ""
}

// readable replaces addresses by the names that people know. Later documents have longer addresses.
func (b *bundle) readable(text string) string {
	for i := len(b.order) - 1; i >= 0; i-- {
		d := b.documents[b.order[i]]
		name := d.name
		if name == "" {
			name = "the schema"
		}
		text = strings.ReplaceAll(text, d.address, name)
	}
	return strings.ReplaceAll(text, addressPrefix, "")
}

// validate validates a value. It returns the problems found; an error means that the value could not be validated.
func (c *compiled) validate(value any) (problems []string, err error) {
	c.budget.left = c.limits.Steps + c.limits.StepsPerValue*values(value)
	defer func() {
		switch recover().(type) {
		case nil:
		case exhausted:
			err = errors.New("too many steps, because the schema combines too many alternatives for a value of this size")
		default:
			err = errors.New("the schema confuses the validator")
		}
	}()
	var violation *jsonschema.ValidationError
	if errors.As(c.schema.Validate(value), &violation) {
		return explain(violation, c.limits.Problems), nil
	}
	return nil, nil
}

// values returns the number of values in a value.
func values(value any) int {
	n := 1
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			n += values(inner)
		}
	case []any:
		for _, inner := range v {
			n += values(inner)
		}
	}
	return n
}
