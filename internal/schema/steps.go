// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The validator cannot be interrupted and has no limits, while thirty lines of schema can make it work for years: each of
// thirty types consists of the previous one, twice. So every schema that makes the validator process further schemas gets a
// format, which the validator checks first, and which counts.
//
// Invariant: what a schema causes directly is paid for before it happens. Schemas that cause nothing need no counter.

// weight is how many schemas one schema makes the validator process.
type weight struct {
	// once is for the value itself, each for every property or element of it.
	once, each int
}

func (w weight) format() string { return fmt.Sprintf("step/%d/%d", w.once, w.each) }

// countSteps adds a step counter to a schema that causes further work.
func (r *rewriter) countSteps(object map[string]any) {
	w := weightOf(object)
	if w == (weight{}) {
		return
	}
	if format, taken := object["format"]; taken {
		all, ok := object["allOf"].([]any)
		if _, present := object["allOf"]; present && !ok {
			return // not a valid schema; the compiler says so
		}
		object["allOf"] = append(all, map[string]any{"format": format})
		w.once++
	}
	object["format"] = w.format()
	r.bundle.weights[w] = true
}

func weightOf(object map[string]any) weight {
	var w weight
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[keyword].([]any)
		w.once += len(list)
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		named, _ := object[keyword].(map[string]any)
		w.once += len(named)
	}
	w.once += count(object, "$ref", "$recursiveRef", "$dynamicRef", "not", "if", "then", "else")
	patterns, _ := object["patternProperties"].(map[string]any)
	w.each = len(patterns) + count(object, "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties")
	w.each += min(1, count(object, "properties", "additionalProperties", "items", "prefixItems", "additionalItems"))
	return w
}

func count(object map[string]any, keywords ...string) int {
	n := 0
	for _, keyword := range keywords {
		if _, ok := object[keyword]; ok {
			n++
		}
	}
	return n
}

// budget is what a validation may still spend. It is reset before each validation.
type budget struct{ left int }

// exhausted is panicked to leave the validator, which has no other exit.
type exhausted struct{}

func (b *budget) spend(steps int) {
	if b.left -= steps; b.left < 0 {
		panic(exhausted{})
	}
}

// counter returns the format that pays for a weight.
func (b *budget) counter(w weight) *jsonschema.Format {
	return &jsonschema.Format{Name: w.format(), Validate: func(value any) error {
		b.spend(1 + w.once + w.each*size(value))
		return nil
	}}
}

func size(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// expression is a regular expression that pays for its matches.
type expression struct {
	*regexp.Regexp
	budget *budget
	// cost is the number of steps of a match per kilobyte of text.
	cost int
}

// MatchString implements jsonschema.Regexp.
func (e *expression) MatchString(text string) bool {
	e.budget.spend(len(text) * e.cost / 1024)
	return e.Regexp.MatchString(text)
}

// expressions returns a regexp engine that limits the length of expressions and makes them pay for their matches.
func (b *budget) expressions(limit int) jsonschema.RegexpEngine {
	return func(pattern string) (jsonschema.Regexp, error) {
		if len(pattern) > limit {
			return nil, fmt.Errorf("the regular expression has more than %d characters", limit)
		}
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		cost, err := costOf(pattern)
		return &expression{Regexp: compiled, budget: b, cost: cost}, err
	}
}

// costOf returns the number of instructions of a regular expression: in the worst case all of them are tried for each
// character, and a hundred of those take about as long as a step.
func costOf(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return 1 + 10*len(program.Inst), nil
}
