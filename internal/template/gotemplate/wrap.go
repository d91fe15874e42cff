// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"reflect"
	"strings"
	gotemplate "text/template"

	"espalier.dev/internal/template"
)

// maxDecimals is the maximum number of arguments of a function on decimal fractions.
const maxDecimals = 100

var (
	anyType   = reflect.TypeFor[any]()
	errorType = reflect.TypeFor[error]()
)

// functions returns the functions that the template uses, created for this rendering.
func (r *run) functions() (gotemplate.FuncMap, error) {
	functions := gotemplate.FuncMap{
		stepFunction:  func(n int64) (string, error) { return "", r.meter.Step(n) },
		enterFunction: func() (string, error) { return "", r.meter.Enter() },
		leaveFunction: func() string { r.meter.Leave(); return "" },
		writeFunction: r.write,
		failFunction:  failLiterally,
		knownFunction: r.known,
	}
	for _, name := range r.template.used {
		function, err := r.function(name)
		if err != nil {
			return nil, err
		}
		if function != nil {
			functions[name] = function
		}
	}
	return functions, nil
}

// function returns a function by its name, or nil if text/template has it.
func (r *run) function(name string) (any, error) {
	if added := r.input.Functions[name]; added != nil {
		if !callable(reflect.ValueOf(added)) {
			return nil, template.Problemf("function %s cannot be called from a template", name)
		}
		return r.metered(newEntry(added, walker, 0), true), nil
	}
	if make := bound[name]; make != nil {
		return make(r), nil
	}
	if known, ok := library[name]; ok {
		return r.metered(known, false), nil
	}
	if refusal := refusalOf(name, r.input.Entropy != nil); refusal != "" {
		return refuse(refusal), nil
	}
	if generator := generators[name]; generator != nil {
		return generator(r), nil
	}
	for _, known := range builtin {
		if name == known {
			return nil, nil
		}
	}
	return nil, template.Problemf("function %s is not available here", name)
}

// callable reports whether text/template could call a function: one result, or a result and an error.
func callable(value reflect.Value) bool {
	if value.Kind() != reflect.Func {
		return false
	}
	typ := value.Type()
	return typ.NumOut() == 1 || typ.NumOut() == 2 && typ.Out(1) == errorType
}

// metered returns a function with the same parameters as another one that counts the arguments, calls the other one and
// counts the result. Results of the caller's functions are converted to plain values, because they may share memory with
// objects outside.
func (r *run) metered(e entry, foreign bool) any {
	return reflect.MakeFunc(e.signature, func(args []reflect.Value) []reflect.Value {
		result, err := r.call(e, args)
		if err == nil && foreign {
			result, err = template.Plain(result, r.meter.Limits())
		}
		if err == nil {
			err = r.meter.Build(template.Shallow(result))
		}
		return outcome(result, err)
	}).Interface()
}

func outcome(result any, err error) []reflect.Value {
	if err != nil {
		return []reflect.Value{reflect.Zero(anyType), reflect.ValueOf(&err).Elem()}
	}
	return []reflect.Value{reflect.ValueOf(&result).Elem(), reflect.Zero(errorType)}
}

// call calls a function after charging for its arguments. A panic means that the function cannot handle them.
func (r *run) call(e entry, args []reflect.Value) (result any, err error) {
	if err := r.charge(e, args); err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil {
			result, err = nil, unacceptable(e.spread(args))
		}
	}()
	var results []reflect.Value
	if e.value.Type().IsVariadic() {
		results = e.value.CallSlice(args)
	} else {
		results = e.value.Call(args)
	}
	if len(results) == 2 && !results[1].IsNil() {
		failed := results[1].Interface().(error)
		if template.Explain(failed) != "" {
			return nil, failed
		}
		return nil, unacceptable(e.spread(args))
	}
	return results[0].Interface(), nil
}

// spread returns the arguments of a call, with the last parameter of a variadic function expanded.
func (e entry) spread(args []reflect.Value) []reflect.Value {
	if !e.value.Type().IsVariadic() {
		return args
	}
	last := args[len(args)-1]
	args = args[: len(args)-1 : len(args)-1]
	for i := range last.Len() {
		args = append(args, last.Index(i))
	}
	return args
}

// charge counts the arguments of a call.
func (r *run) charge(e entry, args []reflect.Value) error {
	args = e.spread(args)
	if e.class == decimal && len(args) > maxDecimals {
		return template.Problemf("it takes at most %d numbers", maxDecimals)
	}
	if err := r.meter.Step(e.cost); err != nil {
		return err
	}
	for i := range args {
		if err := r.chargeArgument(e.class, args[i]); err != nil {
			return err
		}
	}
	return nil
}

// handledPerStep is the number of bytes per step that a function processes one by one.
const handledPerStep = 16

func (r *run) chargeArgument(class class, arg reflect.Value) error {
	value := arg.Interface()
	switch class {
	case accessor:
		if text, ok := value.(string); ok {
			return r.meter.Read(int64(len(text)))
		}
		return nil
	case decimal:
		return r.meter.Step(costs["mulf"])
	case copier:
		size := template.Shallow(value)
		if err := r.meter.Build(size); err != nil {
			return err
		}
		return r.meter.Step(size / handledPerStep)
	}
	if number, ok := value.(float64); ok && class == writer && arg.CanSet() {
		arg.Set(reflect.ValueOf(template.Decimal(number)))
	}
	return r.walk(value)
}

// walk charges for a function that processes everything inside a value.
func (r *run) walk(value any) error {
	_, before := r.meter.Used()
	if err := r.meter.Measure(value); err != nil {
		return err
	}
	_, after := r.meter.Used()
	return r.meter.Step((after - before) / handledPerStep)
}

// unacceptable names the types of the arguments that a function rejects. The function's own error may quote their values.
func unacceptable(args []reflect.Value) error {
	types := make([]string, len(args))
	for i, arg := range args {
		types[i] = template.TypeName(arg.Interface())
	}
	return template.Problemf("it does not accept these arguments (%s)", strings.Join(types, ", "))
}

// format writes a value the way text/template does.
func format(value any) string {
	if number, ok := value.(float64); ok {
		return template.FormatFloat(number)
	}
	return fmt.Sprint(value)
}
