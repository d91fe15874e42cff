// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"errors"

	"espalier.dev/internal/template"
)

// referencesPerCall is how many values may refer to each other per level of nested calls. A chain of references is not a
// recursion, and may be longer.
const referencesPerCall = 2

// deepestExpression is the maximum nesting of expressions, counting all those being evaluated. The stack of a goroutine is
// large but limited, and a process cannot recover from a stack overflow.
const deepestExpression = 20_000

// The costs of the parts of an evaluation in steps, apart from what functions do with their arguments.
const (
	costOfExpression = 2
	costOfCell       = 1
	costOfCall       = 6
	costOfContext    = 20
	costOfParsing    = 20
	costOfMerge      = 20
	costOfOverlay    = 6
	// scopesPerStep is the number of scopes searched for a name per step.
	scopesPerStep = 8
)

// run is one evaluation of a template.
type run struct {
	source    template.Source
	meter     *template.Meter
	files     template.Files
	functions map[string]Function
	// tags are the names of nodes; nodes maps these nodes, and those around them, to their cells, as far as they exist yet.
	tags  []tag
	nodes map[*source]*cell
	// state is the state, if it may contain lambdas; otherwise nil.
	state *dict
	// entropy is the entropy for generated values; nil if there is no state that could keep them.
	entropy *template.Entropy
	// depth is the number of cells being evaluated, expressions the number of expressions.
	depth, expressions int
}

func newRun(t *Template, input Input) *run {
	meter := template.NewMeter(t.limits)
	return &run{
		source: t.source, meter: meter, files: template.NewFiles(input.Files, meter), functions: input.Functions, entropy: input.Entropy,
		tags: t.tags, nodes: nodesOf(t.tags),
	}
}

// deepen evaluates a node one level deeper.
func (r *run) deepen(e *env, evaluate func(*env) (result, error)) (result, error) {
	limit := referencesPerCall * r.meter.Limits().Depth
	if r.depth >= limit {
		return result{}, &template.LimitError{Limit: "Depth", Max: int64(limit), Hint: "more than %d values refer to each other in a chain"}
	}
	r.depth++
	defer func() { r.depth-- }()
	if err := r.meter.Step(costOfCell); err != nil {
		return result{}, err
	}
	return evaluate(e)
}

// evalError is an error of an expression. Within the node of the expression, another part of the expression can catch it;
// after that, it is an error of the whole document.
type evalError struct {
	cause error
	// env and expr are where it occurred. The place in the template is looked up only on demand.
	env  *env
	expr expr
	// flow is the failed document, once the error has left a node.
	flow *flow
}

func (e *evalError) Error() string { return e.cause.Error() }
func (e *evalError) Unwrap() error { return e.cause }

// problem returns an error that an expression can catch.
func problem(format string, args ...any) error {
	return &evalError{cause: template.Problemf(format, args...)}
}

// catchable reports whether an error can be caught by an expression.
func catchable(err error) bool {
	var limit *template.LimitError
	var failed *evalError
	return !errors.As(err, &limit) && errors.As(err, &failed) && failed.flow == nil
}

// fatal returns an error that fails the whole document.
func (e *env) fatal(cause error) error {
	return &evalError{cause: cause, env: e, flow: e.flow}
}

// settle turns an error that leaves a node into an error of the document, and records the node.
func (e *env) settle(err error) error {
	var failed *evalError
	if !errors.As(err, &failed) {
		return &evalError{cause: err, env: e, flow: e.flow}
	}
	if failed.flow != nil {
		return failed
	}
	settled := *failed
	settled.flow = e.flow
	if settled.env == nil {
		settled.env = e
	}
	return &settled
}

// release makes an error of a document catchable again: for the expression that evaluated the document, only a part of the
// expression failed.
func (f *flow) release(err error) error {
	var failed *evalError
	if errors.As(err, &failed) && failed.flow == f {
		released := *failed
		released.flow = nil
		return &released
	}
	return err
}

// eval evaluates an expression and records where it failed.
func (e *env) eval(x expr) (outcome, error) { return e.evaluate(x, false) }

// evalLocally is eval for an expression whose value may contain unevaluated parts.
func (e *env) evalLocally(x expr) (outcome, error) { return e.evaluate(x, true) }

func (e *env) evaluate(x expr, locally bool) (outcome, error) {
	if err := e.run.meter.Step(costOfExpression); err != nil {
		return outcome{}, e.locate(err, x)
	}
	if e.run.expressions >= deepestExpression {
		return outcome{}, &template.LimitError{Limit: "Depth", Max: deepestExpression, Hint: "more than %d expressions nest in each other"}
	}
	e.run.expressions++
	out, err := x.eval(e, locally)
	e.run.expressions--
	if err != nil {
		return outcome{}, e.locate(err, x)
	}
	return out, nil
}

// locate records which expression failed. The innermost one is recorded.
func (e *env) locate(err error, x expr) error {
	var failed *evalError
	if !errors.As(err, &failed) {
		return &evalError{cause: err, env: e, expr: x}
	}
	if failed.flow != nil {
		return err
	}
	if e.hidden() && catchable(err) {
		return problem("the expression was put together from values and cannot be evaluated")
	}
	if failed.env != nil {
		return err
	}
	located := *failed
	located.env, located.expr = e, x
	return &located
}

// hidden reports whether the expression under evaluation must not be shown.
func (e *env) hidden() bool { return e.node != nil && e.node.hidden }

// place returns the place of the error in the template: an expression, or otherwise a node.
func (e *evalError) place() template.Place {
	if e.env == nil {
		return template.Place{}
	}
	place := template.Place{Path: displayPath(e.env.path)}
	node := e.env.node
	if node == nil {
		return place
	}
	place.Line, place.Column, place.Expression = node.place.Line, node.place.Column, node.place.Expression
	if e.expr == nil {
		return place
	}
	if from, to := e.expr.where(); to <= len(node.text) && from < to {
		place.Expression = node.text[from:to]
	}
	return place
}

// displayPath formats a path for users.
func displayPath(t *trail) string {
	path := ""
	for _, step := range t.steps() {
		if _, ok := indexOf(step); ok {
			path += step
			continue
		}
		path = template.JoinPath(path, step)
	}
	return path
}
