// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"errors"
	"fmt"

	"espalier.dev/internal/template"
)

// call calls a function by name, or a lambda.
type call struct {
	span
	function   expr
	named      []namedArgument
	positional []argument
	// curry requests a lambda that takes the remaining arguments.
	curry bool
}

type namedArgument struct {
	name string
	expr expr
}

// invocation is a call of a function of the engine.
type invocation struct {
	env  *env
	name string
	args []value
	// told is the information about the values of the arguments.
	told info
	// complaint is the template author's message about an unmet condition.
	complaint string
}

// builtin is a function of the engine. Its arguments are resolved.
type builtin func(c *invocation) (value, error)

// specialForm is a function that evaluates its arguments itself.
type specialForm func(e *env, c *call) (outcome, error)

func (c *call) eval(e *env, _ bool) (outcome, error) {
	name := c.functionName()
	if refused[name] != "" && e.run.functions[name] == nil {
		return outcome{}, e.fatal(template.Problemf("%s", refusalOf(name, true)))
	}
	if form := specialForms[name]; form != nil {
		if c.curry || len(c.named) > 0 {
			return outcome{}, problem("function %s takes neither named nor too few arguments", name)
		}
		return form(e, c)
	}
	if name != "" && e.run.hasFunction(name) {
		return c.callFunction(e, name)
	}
	return c.callLambda(e, name)
}

// functionName returns the name of a function that is called by a single name.
func (c *call) functionName() string {
	if ref, ok := c.function.(*reference); ok && len(ref.path) == 1 && ref.path[0] != "" && ref.path[0] != selfName {
		return ref.path[0]
	}
	return ""
}

// hasFunction reports whether a function has the name. Functions take precedence over values of the same name.
func (r *run) hasFunction(name string) bool {
	return r.functions[name] != nil || builtins[name] != nil
}

func (c *call) callFunction(e *env, name string) (outcome, error) {
	if len(c.named) > 0 {
		return outcome{}, problem("function %s takes no named arguments", name)
	}
	positional := c.positional
	if name == "merge" {
		var err error
		if positional, err = e.templatesIn(positional); err != nil {
			return outcome{}, err
		}
	}
	args, told, err := e.evalAll(positional)
	if err != nil {
		return outcome{}, err
	}
	if c.curry {
		return just(curried(e, name, args)), nil
	}
	v, err := e.invoke(&invocation{env: e, name: name, args: args, told: told})
	if err != nil {
		return outcome{}, err
	}
	if name == "type" || name == "list_to_map" {
		told = info{}
	}
	return outcome{v, told}, nil
}

// invoke calls a function of the caller or of the engine.
func (e *env) invoke(c *invocation) (value, error) {
	if generators[c.name] != nil && e.run.functions[c.name] == nil {
		if err := e.refuseGenerator(c.name); err != nil {
			return nil, err
		}
	}
	if err := e.run.meter.Step(costOfFunction); err != nil {
		return nil, err
	}
	if function := e.run.functions[c.name]; function != nil {
		return e.invokeForeign(c, function)
	}
	return builtins[c.name](c)
}

// costOfFunction is the minimum cost of a function call in steps.
const costOfFunction = 2

// invokeForeign calls a function of the caller with plain values.
func (e *env) invokeForeign(c *invocation, function Function) (value, error) {
	plain := make([]any, len(c.args))
	for i, arg := range c.args {
		converted, err := e.run.toPlain(arg, false)
		if err != nil {
			return nil, err
		}
		plain[i] = converted
	}
	returned, err := callForeign(function, plain)
	if err != nil {
		return nil, explainForeign(c.name, err)
	}
	copied, err := template.Plain(returned, e.run.meter.Limits())
	if err != nil {
		return nil, explainForeign(c.name, err)
	}
	if err := e.run.meter.Measure(copied); err != nil {
		return nil, err
	}
	return fromPlain(copied).value, nil
}

// callForeign calls a function of the caller. A panic becomes an error whose text is never shown.
func callForeign(function Function, args []any) (returned any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			returned, err = nil, fmt.Errorf("panic: %v", reason)
		}
	}()
	return function(args)
}

// explainForeign reduces an error to the part that may be shown.
func explainForeign(name string, err error) error {
	var limit *template.LimitError
	if errors.As(err, &limit) {
		return err
	}
	if text := template.Explain(err); text != "" {
		return problem("function %s: %s", name, text)
	}
	return problem("function %s failed", name)
}

// curried returns a lambda that calls a function with the given arguments followed by those of the call.
func curried(e *env, name string, args []value) *lambda {
	return &lambda{
		parameters: []boundParameter{{name: "__args"}},
		variadic:   true,
		body:       &partial{name: name, args: args},
		resolver:   e,
		written:    "|__args...|->" + name + "(...)",
	}
}

// partial is the body of a curried function.
type partial struct {
	span
	name string
	args []value
}

func (p *partial) eval(e *env, _ bool) (outcome, error) {
	rest, err := e.find("__args")
	if err != nil {
		return outcome{}, err
	}
	args := append([]value{}, p.args...)
	for _, c := range rest.value.(*list).cells {
		args = append(args, c.value)
	}
	v, err := e.invoke(&invocation{env: e, name: p.name, args: args})
	return just(v), err
}

// callLambda calls anything but a function of the engine. A single name is looked up like any other reference.
func (c *call) callLambda(e *env, name string) (outcome, error) {
	l, err := c.lambda(e, name)
	if err != nil {
		return outcome{}, err
	}
	args := arguments{named: map[string]value{}, curry: c.curry, partial: true}
	for _, named := range c.named {
		out, err := e.eval(named.expr)
		if err != nil {
			return outcome{}, err
		}
		args.named[named.name] = out.value
	}
	positional, told, err := e.evalAll(c.positional)
	if err != nil {
		return outcome{}, err
	}
	args.positional = positional
	out, err := l.call(e, args)
	out.info = out.join(told)
	return out, err
}

func (c *call) lambda(e *env, name string) (*lambda, error) {
	out, err := e.eval(c.function)
	if err != nil {
		if name != "" && catchable(err) {
			return nil, problem("there is no function %s", name)
		}
		return nil, err
	}
	l, ok := out.value.(*lambda)
	if !ok {
		return nil, problem("only functions and lambdas can be called, not a value of type %s", typeOf(out.value))
	}
	return l, nil
}

// specialForms are the functions that process their arguments before, or instead of, evaluating them.
var specialForms map[string]specialForm

// The table is set here because its functions evaluate calls, which use the table.
func init() {
	specialForms = map[string]specialForm{
		"defined": formDefined,
		"valid":   formValid,
		"require": formRequire,
		"stub":    formStub,
		"catch":   formCatch,
		"eval":    formEval,
		"error":   formError,

		"static_ips": formStaticIPs,
	}
}

// formDefined reports whether all arguments can be evaluated.
func formDefined(e *env, c *call) (outcome, error) {
	for _, arg := range c.positional {
		out, err := e.evalLocally(arg.expr)
		if err != nil && !catchable(err) {
			return outcome{}, err
		}
		if err != nil || out.undefined {
			return just(false), nil
		}
	}
	return just(true), nil
}

// formValid reports whether all arguments can be evaluated and are not nil.
func formValid(e *env, c *call) (outcome, error) {
	valid := true
	for _, arg := range c.positional {
		out, err := e.evalLocally(arg.expr)
		if err != nil && !catchable(err) {
			return outcome{}, err
		}
		valid = valid && err == nil && out.value != nil
	}
	return just(valid), nil
}

// formRequire returns its argument, or fails if that is nil.
func formRequire(e *env, c *call) (outcome, error) {
	if len(c.positional) != 1 {
		return outcome{}, problem("function require takes one argument")
	}
	out, err := e.eval(c.positional[0].expr)
	if err != nil && !catchable(err) {
		return outcome{}, err
	}
	if err != nil || out.value == nil {
		return outcome{}, problem("a required value is missing")
	}
	return just(out.value), nil
}

// formStub returns a value of the stubs: the counterpart of the node, or the value at a path.
func formStub(e *env, c *call) (outcome, error) {
	path, err := stubPath(e, c)
	if err != nil {
		return outcome{}, err
	}
	found, err := e.inStubs(path)
	if err != nil {
		return outcome{}, err
	}
	if found == nil {
		return outcome{}, problem("the state has no such value")
	}
	return just(found.value), e.run.resolve(found.value, 0)
}

func stubPath(e *env, c *call) ([]string, error) {
	if len(c.positional) == 0 {
		return e.stub.steps(), nil
	}
	if len(c.positional) > 1 {
		return nil, problem("function stub takes at most one argument")
	}
	if ref, ok := c.positional[0].expr.(*reference); ok {
		return ref.path, nil
	}
	out, err := e.eval(c.positional[0].expr)
	if err != nil {
		return nil, err
	}
	if out.undefined {
		return e.stub.steps(), nil
	}
	if text, ok := out.value.(string); ok {
		p := &parser{text: text}
		if path, end := p.path(0); end == len(text) {
			return path, nil
		}
		return nil, problem("the text is not a path")
	}
	return pathOf(out.value)
}

// formCatch returns a map that reports whether an expression could be evaluated, with its value or its error.
func formCatch(e *env, c *call) (outcome, error) {
	if len(c.positional) != 1 {
		return outcome{}, problem("function catch takes one argument")
	}
	out, failure, err := e.attempt(c.positional[0].expr)
	if err != nil {
		return outcome{}, err
	}
	d := newDict(3)
	d.set("valid", done(failure == nil))
	if failure != nil {
		d.set("error", done(failure))
		return just(d), nil
	}
	d.set("error", done(""))
	d.set("value", done(out.value))
	return just(d), nil
}

// formEval evaluates a text as an expression.
func formEval(e *env, c *call) (outcome, error) {
	if len(c.positional) != 1 {
		return outcome{}, problem("function eval takes one argument")
	}
	out, err := e.eval(c.positional[0].expr)
	if err != nil {
		return outcome{}, err
	}
	text, ok := out.value.(string)
	if !ok {
		return outcome{}, problem("function eval takes a string, not a value of type %s", typeOf(out.value))
	}
	if err := e.run.meter.Enter(); err != nil {
		return outcome{}, err
	}
	defer e.run.meter.Leave()
	parsed, err := e.parse(text)
	if err != nil {
		return outcome{}, err
	}
	return e.withNode(parsed).eval(parsed.expr)
}

// formError fails with a message: a text, or a format and its arguments. The message is shown if it consists only of
// template text.
func formError(e *env, c *call) (outcome, error) {
	args, _, err := e.evalAll(c.positional)
	if err != nil {
		return outcome{}, err
	}
	if e.hidden() || !e.run.constants(c.positional) {
		return outcome{}, refusal("", false)
	}
	if message, ok := args[0].(string); ok && len(args) == 1 {
		return outcome{}, refusal(message, true)
	}
	message, err := callFormat(&invocation{env: e, name: "error", args: args})
	if err != nil {
		return outcome{}, err
	}
	return outcome{}, refusal(message.(string), true)
}

// refusal returns the error of a template that rejects its input. An expression can catch it.
func refusal(message string, literal bool) error {
	return &evalError{cause: template.Refusal(message, literal)}
}
