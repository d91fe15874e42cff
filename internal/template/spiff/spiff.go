// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"errors"
	"io/fs"
	"strings"

	"espalier.dev/internal/template"
)

// Engine is the name of this engine in blueprints.
const Engine = "Spiff"

// Function is a function that the caller adds. It takes and returns plain values. An error that is a template.Problem is
// shown to the user; the text of any other error is not.
type Function func(args []any) (any, error)

// Options are the settings known at compile time.
type Options struct {
	Limits template.Limits
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	source template.Source
	limits template.Limits
	root   *source
	tags   []tag
}

// Input is the input of an evaluation.
type Input struct {
	// Bindings are the values that expressions see by name. They are not modified.
	Bindings map[string]any
	// State is the state that the previous evaluation returned, or nil.
	State map[string]any
	// Functions are added to those of the engine, and may replace them.
	Functions map[string]Function
	// Entropy is the entropy for generated values of the state; nil if there is no state.
	Entropy *template.Entropy
	// Files are the files of the blueprint; nil means none.
	Files fs.FS
}

// Result is the result of an evaluation.
type Result struct {
	// Value is the evaluated template, a plain value.
	Value any
	// State is the state that the template keeps: the values at its root that are marked as state. It is nil if there are
	// none.
	State map[string]any
}

// Compile compiles a template from YAML text.
func Compile(s template.Source, options Options) (*Template, error) {
	s.Engine = Engine
	meter := template.NewMeter(options.Limits)
	if err := meter.Source(len(s.Text)); err != nil {
		return nil, template.NewError(s, template.Place{}, "", err).Terminal()
	}
	places := map[string]template.Place{}
	tree, err := meter.DecodeYAMLPlaces(s.Text, func(value, path string, line, column int) {
		if strings.Contains(value, "((") {
			places[path] = template.Place{Line: line, Column: column}
		}
	})
	if err != nil {
		return nil, template.NewError(s, template.Place{}, "", err).Terminal()
	}
	return compile(s, tree, meter, places)
}

// CompileTree compiles a template from a plain value, such as a data mapping. The value must not be modified afterwards.
func CompileTree(s template.Source, tree any, options Options) (*Template, error) {
	s.Engine = Engine
	return compile(s, tree, template.NewMeter(options.Limits), nil)
}

func compile(s template.Source, tree any, meter *template.Meter, places map[string]template.Place) (*Template, error) {
	c := &compiler{meter: meter, places: places, tags: true}
	root, failed := c.node(tree, "", 0)
	if failed != nil {
		return nil, failed.explain(s)
	}
	tags, failed := root.tags()
	if failed != nil {
		return nil, failed.explain(s)
	}
	return &Template{source: s, limits: meter.Limits(), root: root, tags: tags}, nil
}

// explain converts a compile error to one that can be shown. Its column is the position in the expression.
func (e *compileError) explain(s template.Source) error {
	message := template.Explain(e.cause)
	if e.place.Expression != "" {
		inner, _ := isExpression(e.place.Expression)
		message = "the expression has a syntax error: " + message + ": " + quoteFrom(inner, e.offset)
	}
	return template.NewError(s, e.place, message, e.cause).Terminal()
}

// quoteFrom quotes the beginning of the part of an expression that could not be parsed.
func quoteFrom(text string, offset int) string {
	const shown = 20
	rest := strings.TrimSpace(text[min(offset, len(text)):])
	if rest == "" {
		return "at its end"
	}
	if runes := []rune(rest); len(runes) > shown {
		rest = string(runes[:shown]) + "..."
	}
	return "at \"" + rest + "\""
}

// Evaluate evaluates the template. The error is terminal and contains a *template.Error.
func (t *Template) Evaluate(input Input) (*Result, error) {
	r := newRun(t, input)
	result, err := r.evaluate(t.root, input)
	if err != nil {
		return nil, r.explain(err).WithInput(input.Bindings).Terminal()
	}
	return result, nil
}

func (r *run) evaluate(root *source, input Input) (result *Result, err error) {
	// No known template causes this, but a template must not crash the process.
	defer func() {
		if recover() != nil {
			result, err = nil, template.Problemf("the template engine failed")
		}
	}()
	bindings := &env{run: r, flow: &flow{}}
	bindings = bindings.withScope(&dict{plain: input.Bindings, resolved: true})
	e := &env{run: r, flow: &flow{outer: bindings}}
	if len(input.State) > 0 {
		state := &dict{plain: input.State, resolved: true}
		e.flow.stubs = []value{state}
		if holdsLambdas(input.State) {
			r.state = state
		}
	}
	c := cellOf(root, e, true)
	if err := r.complete(c); err != nil {
		return nil, err
	}
	return r.output(c)
}

// output converts the evaluated document to plain values.
func (r *run) output(c *cell) (*Result, error) {
	if c.undefined {
		return &Result{}, nil
	}
	plain, err := r.toPlain(c.value, true)
	if err != nil {
		return nil, err
	}
	if err := r.meter.Output(jsonLength(plain)); err != nil {
		return nil, err
	}
	state, err := r.kept(c.value, plain)
	return &Result{Value: plain, State: state}, err
}

// kept returns copies of the entries at the root of the output that are marked as state.
func (r *run) kept(v value, plain any) (map[string]any, error) {
	d, ok := v.(*dict)
	if !ok {
		return nil, nil
	}
	var marked map[string]any
	for name, content := range plain.(map[string]any) {
		if !d.get(name).flags.has(isState) {
			continue
		}
		if marked == nil {
			marked = map[string]any{}
		}
		copied, err := template.Plain(content, r.meter.Limits())
		if err != nil {
			return nil, err
		}
		marked[name] = copied
	}
	return marked, nil
}

// jsonLength returns the approximate length of a plain value's JSON form.
func jsonLength(plain any) int {
	const number = 8
	switch v := plain.(type) {
	case string:
		return len(v) + len("\"\"")
	case map[string]any:
		length := len("{}")
		for name, item := range v {
			length += len(name) + len("\"\":,") + jsonLength(item)
		}
		return length
	case []any:
		length := len("[]")
		for _, item := range v {
			length += len(",") + jsonLength(item)
		}
		return length
	}
	return number
}

// explain converts the error of an evaluation to one that can be shown.
func (r *run) explain(err error) *template.Error {
	var failed *evalError
	place := template.Place{}
	if errors.As(err, &failed) {
		place = failed.place()
	}
	return template.NewError(r.source, place, "", err)
}
