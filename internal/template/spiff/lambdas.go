// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"maps"
	"slices"
	"strconv"

	"espalier.dev/internal/template"
)

// function is a lambda expression.
type function struct {
	span
	parameters []parameter
	variadic   bool
	body       expr
	text       string
}

// parameter is a parameter of a lambda, with its default.
type parameter struct {
	name    string
	initial expr
}

// lambda is the value of a lambda expression.
type lambda struct {
	parameters []boundParameter
	variadic   bool
	body       expr
	// bound holds the arguments already known and the names visible at the definition.
	bound map[string]*cell
	// resolver is the scope of the definition, node the node that contains it.
	resolver *env
	node     *source
	written  string
}

type boundParameter struct {
	name     string
	initial  value
	optional bool
}

func (l *lambda) text() string { return "lambda" + l.written }

func (f *function) eval(e *env, _ bool) (outcome, error) {
	l := &lambda{variadic: f.variadic, body: f.body, bound: e.static, resolver: e, node: e.node, written: f.text}
	for _, p := range f.parameters {
		b := boundParameter{name: p.name}
		if p.initial != nil {
			out, err := e.eval(p.initial)
			if err != nil {
				return outcome{}, err
			}
			b.initial, b.optional = out.value, true
		}
		l.parameters = append(l.parameters, b)
	}
	self, err := e.find(selfName)
	if err != nil {
		return outcome{}, err
	}
	if self != nil && self.resolver != nil {
		l.resolver = self.resolver
	}
	return just(l), e.run.meter.Build(sizeOfCell * int64(len(l.parameters)+1))
}

// lambdaReference is an expression that yields a lambda, or the text of one.
type lambdaReference struct {
	span
	inner expr
}

func (l *lambdaReference) eval(e *env, locally bool) (outcome, error) {
	out, err := e.eval(l.inner)
	if err != nil {
		return outcome{}, err
	}
	switch v := out.value.(type) {
	case *lambda:
		return out, nil
	case string:
		parsed, err := e.parse(v)
		if err != nil {
			return outcome{}, err
		}
		if _, ok := parsed.expr.(*function); ok {
			return e.withNode(parsed).evaluate(parsed.expr, locally)
		}
	}
	return outcome{}, problem("a lambda or the text of one is required here, not a value of type %s", typeOf(out.value))
}

// parse parses an expression that was composed during the evaluation. Errors show nothing of it.
func (e *env) parse(text string) (*source, error) {
	if err := e.run.meter.Step(costOfParsing); err != nil {
		return nil, err
	}
	parsed, err := parse(text, e.run.meter)
	if err != nil {
		if e.run.meter.Reached() != nil {
			return nil, e.run.meter.Reached()
		}
		return nil, problem("the text is not an expression")
	}
	if m, ok := parsed.(*marked); ok && m.tag != "" {
		return nil, problem("the marker &tag is not available here because %s", becauseNoNode)
	}
	return &source{kind: expressionKind, expr: parsed, hidden: true}, nil
}

// arguments are the arguments of a lambda call.
type arguments struct {
	named      map[string]value
	positional []value
	// curry requests a lambda that takes the missing arguments.
	curry bool
	// partial returns such a lambda for missing arguments even without curry.
	partial bool
	// inline reports whether the lambda is written where it is called, so that it has no name.
	inline bool
}

// call calls a lambda.
func (l *lambda) call(e *env, args arguments) (outcome, error) {
	if err := e.run.meter.Enter(); err != nil {
		return outcome{}, err
	}
	defer e.run.meter.Leave()
	if err := e.run.meter.Step(costOfCall); err != nil {
		return outcome{}, err
	}
	names, missing, err := l.bind(e, args)
	if err != nil {
		return outcome{}, l.hide(err)
	}
	if args.curry || args.partial && l.curries(args) {
		rest := *l
		rest.parameters, rest.bound = missing, names
		rest.variadic = l.variadic && len(missing) > 0
		return just(&rest), nil
	}
	if err := l.fill(names, missing, len(args.named) > 0); err != nil {
		return outcome{}, l.hide(err)
	}
	if !args.inline {
		names[selfName] = &cell{value: l, resolver: l.resolver}
	}
	return l.run(e, names)
}

// run evaluates the body with all names bound.
func (l *lambda) run(e *env, names local) (outcome, error) {
	inner, err := e.withLocal(names)
	if err != nil {
		return outcome{}, err
	}
	if l.node != nil {
		inner.node = l.node
	}
	return inner.eval(l.body)
}

// hide keeps the names of parameters out of errors if the lambda is not written in the template.
func (l *lambda) hide(err error) error {
	if l.node != nil && l.node.hidden && catchable(err) {
		return problem("the arguments do not fit the lambda")
	}
	return err
}

// curries reports whether a call with too few arguments returns a lambda for the remaining ones.
func (l *lambda) curries(args arguments) bool {
	count := len(l.parameters)
	return len(args.named) == 0 && len(args.positional) < count && !l.variadic && !l.parameters[count-1].optional
}

// bind binds the arguments of a call to the parameters, and returns the parameters without an argument.
func (l *lambda) bind(e *env, args arguments) (names local, missing []boundParameter, err error) {
	names = make(local, len(l.bound)+len(l.parameters)+1)
	for name, c := range l.bound {
		names[name] = c
	}
	if err := e.run.meter.Build(sizeOfCell * int64(len(l.bound)+len(l.parameters)+1)); err != nil {
		return nil, nil, err
	}
	positional := l.collect(args.positional)
	if len(positional) > len(l.parameters) {
		return nil, nil, problem("the lambda takes %d arguments, not %d", len(l.parameters), len(positional))
	}
	for i, v := range positional {
		names[l.parameters[i].name] = done(v)
	}
	given, err := l.bindNamed(names, args.named, len(positional))
	if err != nil {
		return nil, nil, err
	}
	for _, p := range l.parameters[len(positional):] {
		if !given[p.name] {
			missing = append(missing, p)
		}
	}
	return names, missing, nil
}

// collect returns the list of arguments for the last parameter of a variadic lambda.
func (l *lambda) collect(positional []value) []value {
	fixed := len(l.parameters) - 1
	if !l.variadic || len(positional) <= fixed {
		return positional
	}
	return append(positional[:fixed:fixed], newList(positional[fixed:]))
}

// bindNamed binds named arguments to parameters. A name can also be the number of a parameter.
func (l *lambda) bindNamed(names local, named map[string]value, positional int) (map[string]bool, error) {
	given := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		index := l.parameterIndex(name)
		switch {
		case index < 0:
			return nil, problem("the lambda has no parameter %s", name)
		case index < positional:
			return nil, problem("there are two arguments for the parameter %s", l.parameters[index].name)
		}
		parameter := l.parameters[index].name
		if given[parameter] {
			return nil, problem("there are two arguments for the parameter %s", parameter)
		}
		if _, ok := named[name].(*list); !ok && l.variadic && index == len(l.parameters)-1 {
			return nil, problem("the argument for the parameter %s must be a list", parameter)
		}
		names[parameter] = done(named[name])
		given[parameter] = true
	}
	return given, nil
}

func (l *lambda) parameterIndex(name string) int {
	if number, err := strconv.Atoi(name); err == nil && number >= 1 && number <= len(l.parameters) {
		return number - 1
	}
	for i, p := range l.parameters {
		if p.name == name {
			return i
		}
	}
	return -1
}

// fill binds parameters without an argument to their defaults.
func (l *lambda) fill(names local, missing []boundParameter, named bool) error {
	for _, p := range missing {
		switch {
		case p.optional:
			names[p.name] = done(p.initial)
		case l.variadic && p.name == l.parameters[len(l.parameters)-1].name:
			names[p.name] = done(&list{resolved: true})
		case named:
			return problem("there is no argument for the parameter %s", p.name)
		default:
			return problem("there are %d arguments missing for the lambda", len(missing))
		}
	}
	return nil
}

// lambdaOf evaluates an expression that must yield a lambda, and reports whether the expression is a lambda itself.
func (e *env) lambdaOf(x expr) (l *lambda, inline bool, err error) {
	out, err := e.eval(x)
	if err != nil {
		return nil, false, err
	}
	l, ok := out.value.(*lambda)
	if !ok {
		return nil, false, problem("a lambda is required here, not a value of type %s", typeOf(out.value))
	}
	_, inline = x.(*function)
	return l, inline, nil
}

// iterationKind is what an iteration does with the results of the lambda.
type iterationKind uint8

const (
	mapToList iterationKind = iota
	mapToMap
	selectToList
	selectToMap
)

// iteration applies a lambda to every element of a list or a map.
type iteration struct {
	span
	kind          iterationKind
	source, apply expr
}

func (i *iteration) eval(e *env, _ bool) (outcome, error) {
	source, err := e.evalLocally(i.source)
	if err != nil {
		return outcome{}, err
	}
	l, inline, err := e.lambdaOf(i.apply)
	if err != nil {
		return outcome{}, err
	}
	if count := len(l.parameters); count < 1 || count > 2 {
		return outcome{}, problem("the lambda must take one or two arguments, not %d", count)
	}
	c := &collector{kind: i.kind, entries: newDict(0)}
	if err := c.check(source.value); err != nil {
		return outcome{}, err
	}
	err = e.each(source.value, func(key value, element *cell) error {
		args := []value{key, element.value}[2-len(l.parameters):]
		out, err := l.call(e, arguments{positional: args, inline: inline})
		if err != nil {
			return err
		}
		if out.undefined || out.value == nil {
			return nil
		}
		return c.add(key, element, out.value)
	})
	if err != nil {
		return outcome{}, err
	}
	return just(c.result()), nil
}

// each visits the elements of a list, with their indexes, or of a map, in the order of their names.
func (e *env) each(v value, visit func(key value, element *cell) error) error {
	switch v := v.(type) {
	case *list:
		cells, err := v.items()
		if err != nil {
			return err
		}
		for i, c := range cells {
			if err := e.visit(int64(i), c, visit); err != nil {
				return err
			}
		}
	case *dict:
		names, err := v.names()
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := e.visit(name, v.get(name), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *env) visit(key value, c *cell, visit func(key value, element *cell) error) error {
	if err := e.run.meter.Build(sizeOfCell); err != nil {
		return err
	}
	if err := e.run.resolve(c.value, 0); err != nil {
		return err
	}
	return visit(key, c)
}

// collector gathers the results of an iteration.
type collector struct {
	kind    iterationKind
	cells   []*cell
	entries *dict
}

// check returns an error if the iteration does not support a value.
func (c *collector) check(v value) error {
	switch v.(type) {
	case *dict:
		return nil
	case *list:
		if c.kind != selectToMap {
			return nil
		}
	}
	return problem("this iteration does not apply to a value of type %s", typeOf(v))
}

func (c *collector) add(key value, element *cell, v value) error {
	switch c.kind {
	case mapToList:
		c.cells = append(c.cells, done(v))
	case selectToList:
		if truth(v) {
			c.cells = append(c.cells, element)
		}
	case selectToMap:
		if truth(v) {
			c.entries.set(key.(string), element)
		}
	case mapToMap:
		name, ok := key.(string)
		if !ok {
			name, ok = element.value.(string)
		}
		if !ok {
			return problem("the items must be strings to become the keys of a map, not of type %s", typeOf(element.value))
		}
		c.entries.set(name, done(v))
	}
	return nil
}

func (c *collector) result() value {
	if c.kind == mapToMap || c.kind == selectToMap {
		return c.entries
	}
	return &list{cells: c.cells}
}

// aggregation applies a lambda to every element of a list or a map and to its result for the previous element.
type aggregation struct {
	span
	source, initial, apply expr
}

func (a *aggregation) eval(e *env, _ bool) (outcome, error) {
	source, err := e.evalLocally(a.source)
	if err != nil {
		return outcome{}, err
	}
	out, err := e.eval(a.initial)
	if err != nil {
		return outcome{}, err
	}
	l, inline, err := e.lambdaOf(a.apply)
	if err != nil {
		return outcome{}, err
	}
	if count := len(l.parameters); count < 2 || count > 3 {
		return outcome{}, problem("the lambda must take two or three arguments, not %d", count)
	}
	if _, err := elements(source.value); err != nil {
		return outcome{}, problem("only a list or a map can be summed up, not a value of type %s", typeOf(source.value))
	}
	sum := out.value
	err = e.each(source.value, func(key value, element *cell) error {
		args := []value{sum, key, element.value}
		if len(l.parameters) == 2 {
			args = []value{sum, element.value}
		}
		out, err := l.call(e, arguments{positional: args, inline: inline})
		sum = out.value
		return err
	})
	return just(sum), err
}

// catch applies a lambda to the value of an expression, or to the error if the expression fails.
type catch struct {
	span
	source, apply expr
}

func (c *catch) eval(e *env, _ bool) (outcome, error) {
	l, inline, err := e.lambdaOf(c.apply)
	if err != nil {
		return outcome{}, err
	}
	if count := len(l.parameters); count < 1 || count > 2 {
		return outcome{}, problem("the lambda must take one or two arguments, not %d", count)
	}
	out, failure, err := e.attempt(c.source)
	if err != nil {
		return outcome{}, err
	}
	args := []value{out.value, failure}[:len(l.parameters)]
	return l.call(e, arguments{positional: args, inline: inline})
}

// attempt evaluates an expression and returns its error as text, if it can be caught.
func (e *env) attempt(x expr) (out outcome, failure value, err error) {
	out, err = e.eval(x)
	if err == nil {
		return out, nil, nil
	}
	if !catchable(err) {
		return outcome{}, nil, err
	}
	return outcome{}, template.Explain(err), nil
}
