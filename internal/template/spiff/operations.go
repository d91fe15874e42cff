// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// operation applies an operator to two expressions. The empty operator concatenates.
type operation struct {
	span
	operator    string
	left, right expr
}

func (o *operation) eval(e *env, _ bool) (outcome, error) {
	switch o.operator {
	case "||":
		return o.alternative(e, func(out outcome) bool { return !out.undefined })
	case "//":
		return o.alternative(e, func(out outcome) bool { return out.value != nil })
	case "-and", "-or":
		return o.logical(e)
	}
	left, err := e.eval(o.left)
	if err != nil {
		return outcome{}, err
	}
	right, err := e.eval(o.right)
	if err != nil {
		return outcome{}, err
	}
	v, err := e.apply(o.operator, left.value, right.value)
	return outcome{v, left.join(right.info)}, err
}

// alternative returns the first expression's value if it can be evaluated and is accepted, and otherwise the second's.
func (o *operation) alternative(e *env, accept func(outcome) bool) (outcome, error) {
	left, err := e.eval(o.left)
	if err != nil && !catchable(err) {
		return outcome{}, err
	}
	if err == nil && accept(left) {
		return left, nil
	}
	if m, ok := o.left.(*merge); ok && err != nil {
		left.redirected, left.redirect, left.keyName = m.redirect, m.path, m.keyName
	}
	right, err := e.eval(o.right)
	undefined := right.undefined
	right.info = left.join(right.info)
	right.undefined = undefined
	return right, err
}

// logical combines integers bitwise, and other values by their truth. The second operand may fail if the first one decides.
func (o *operation) logical(e *env) (outcome, error) {
	left, err := e.eval(o.left)
	if err != nil {
		return outcome{}, err
	}
	right, err := e.eval(o.right)
	if err != nil {
		_, bits := left.value.(int64)
		if isOr := o.operator == "-or"; truth(left.value) == isOr && !bits && catchable(err) {
			return outcome{isOr, left.info}, nil
		}
		return outcome{}, err
	}
	return outcome{combine(o.operator, left.value, right.value), left.join(right.info)}, nil
}

// combine combines two values bitwise if both are integers, and otherwise by their truth.
func combine(operator string, left, right value) value {
	a, ok := left.(int64)
	b, alsoOK := right.(int64)
	switch {
	case ok && alsoOK && operator == "-and":
		return a & b
	case ok && alsoOK:
		return a | b
	case operator == "-and":
		return truth(left) && truth(right)
	default:
		return truth(left) || truth(right)
	}
}

// apply applies an operator to values.
func (e *env) apply(operator string, left, right value) (value, error) {
	switch operator {
	case "":
		return e.run.concatenate(left, right)
	case "==":
		return e.run.equal(left, right)
	case "!=":
		same, err := e.run.equal(left, right)
		return !same, err
	case "<", "<=", ">", ">=":
		return e.run.ordered(operator, left, right)
	}
	if text, ok := left.(string); ok {
		return calculateAddress(operator, text, right)
	}
	return calculate(operator, left, right)
}

// concatenate joins texts, lists or maps. A value that is not a list is appended to one.
func (r *run) concatenate(left, right value) (value, error) {
	if a, ok := simpleText(left); ok {
		b, ok := simpleText(right)
		if function, isLambda := right.(*lambda); isLambda {
			b, ok = function.text(), true
		}
		if !ok {
			return nil, problem("a value of type %s cannot be appended to one of type %s", typeOf(right), typeOf(left))
		}
		return a + b, r.meter.Build(int64(len(a) + len(b)))
	}
	switch a := left.(type) {
	case *list:
		return r.appendTo(a, right)
	case *dict:
		return r.overlay(a, right)
	}
	return nil, problem("nothing can be appended to a value of type %s", typeOf(left))
}

func (r *run) appendTo(l *list, v value) (value, error) {
	var added []*cell
	switch v := v.(type) {
	case nil:
		return l, nil
	case *list:
		added = v.cells
	default:
		added = []*cell{done(v)}
	}
	if err := r.meter.Build(sizeOfCell * int64(len(l.cells)+len(added))); err != nil {
		return nil, err
	}
	return &list{cells: slices.Concat(l.cells, added)}, nil
}

// overlay returns a map with the entries of two; those of the second take precedence.
func (r *run) overlay(d *dict, v value) (value, error) {
	over, ok := v.(*dict)
	if v == nil {
		return d, nil
	}
	if !ok {
		return nil, problem("a value of type %s cannot be appended to a map", typeOf(v))
	}
	below, above := d.all(), over.all()
	if err := r.meter.Build(sizeOfCell * int64(len(below)+len(above))); err != nil {
		return nil, err
	}
	both := newDict(len(below) + len(above))
	for _, name := range below {
		both.set(name, d.get(name))
	}
	for _, name := range above {
		both.set(name, over.get(name))
	}
	return both, nil
}

// equal compares values. Texts are compared with integers and booleans by their written form.
func (r *run) equal(left, right value) (bool, error) {
	if err := r.meter.Step(1); err != nil {
		return false, err
	}
	switch a := left.(type) {
	case nil:
		return right == nil, nil
	case string:
		return r.equalText(a, right)
	case int64:
		return equalInteger(a, right), nil
	case bool:
		return equalBoolean(a, right), nil
	case float64:
		b, ok := number(right)
		return ok && a == b, nil
	case *list:
		return r.equalLists(a, right)
	case *dict:
		return r.equalMaps(a, right)
	}
	return left == right, nil
}

func (r *run) equalText(a string, right value) (bool, error) {
	if right == nil {
		return false, nil
	}
	b, ok := simpleText(right)
	if !ok {
		return false, problem("a string cannot be compared with a value of type %s", typeOf(right))
	}
	return a == b, r.meter.Read(int64(min(len(a), len(b))))
}

func equalInteger(a int64, right value) bool {
	switch b := right.(type) {
	case int64:
		return a == b
	case float64:
		return float64(a) == b
	case string:
		n, err := strconv.ParseInt(b, 10, 64)
		return err == nil && a == n
	case bool:
		return b && a == 1 || !b && a == 0
	}
	return false
}

func equalBoolean(a bool, right value) bool {
	switch b := right.(type) {
	case bool:
		return a == b
	case string:
		parsed, err := strconv.ParseBool(strings.ToLower(b))
		return err == nil && a == parsed
	}
	return false
}

func (r *run) equalLists(a *list, right value) (bool, error) {
	b, ok := right.(*list)
	if !ok || len(a.cells) != len(b.cells) {
		return false, nil
	}
	for i := range a.cells {
		same, err := r.equal(a.cells[i].value, b.cells[i].value)
		if err != nil || !same {
			return false, uncaught(err)
		}
	}
	return true, nil
}

// uncaught drops an error that only says that two nested values cannot be compared.
func uncaught(err error) error {
	if catchable(err) {
		return nil
	}
	return err
}

func (r *run) equalMaps(a *dict, right value) (bool, error) {
	b, ok := right.(*dict)
	if !ok {
		return false, nil
	}
	if a.length() != b.length() {
		return false, nil
	}
	if err := r.meter.Step(int64(a.length())); err != nil {
		return false, err
	}
	names := a.all()
	if !slices.Equal(names, b.all()) {
		return false, nil
	}
	for _, name := range names {
		same, err := r.equal(a.get(name).value, b.get(name).value)
		if err != nil || !same {
			return false, uncaught(err)
		}
	}
	return true, nil
}

// ordered compares two numbers or two strings.
func (r *run) ordered(operator string, left, right value) (bool, error) {
	order := 0
	switch a := left.(type) {
	case int64, float64:
		var ok bool
		if order, ok = compareNumbers(left, right); !ok {
			return false, problem("a number can only be compared with a number, not with a value of type %s", typeOf(right))
		}
	case string:
		b, ok := right.(string)
		if !ok {
			return false, problem("a string can only be compared with a string, not with a value of type %s", typeOf(right))
		}
		if err := r.meter.Read(int64(min(len(a), len(b)))); err != nil {
			return false, err
		}
		order = strings.Compare(a, b)
	default:
		return false, problem("values of type %s have no order", typeOf(left))
	}
	return comparisons[operator](order), nil
}

// compareNumbers compares integers exactly and other numbers as floats.
func compareNumbers(left, right value) (order int, ok bool) {
	a, integer := left.(int64)
	if b, alsoInteger := right.(int64); integer && alsoInteger {
		return cmp.Compare(a, b), true
	}
	x, ok := number(left)
	y, alsoOK := number(right)
	return cmp.Compare(x, y), ok && alsoOK
}

var comparisons = map[string]func(order int) bool{
	"<":  func(order int) bool { return order < 0 },
	"<=": func(order int) bool { return order <= 0 },
	">":  func(order int) bool { return order > 0 },
	">=": func(order int) bool { return order >= 0 },
}

// calculate applies an arithmetic operator to numbers. Integers stay integers.
func calculate(operator string, left, right value) (value, error) {
	a, ok := left.(int64)
	b, alsoOK := right.(int64)
	if ok && alsoOK {
		return calculateIntegers(operator, a, b)
	}
	x, ok := number(left)
	y, alsoOK := number(right)
	if !ok || !alsoOK || operator == "%" {
		return nil, problem("the operator %s does not apply to values of type %s and %s", operator, typeOf(left), typeOf(right))
	}
	switch operator {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	}
	if y == 0 {
		return nil, problem("division by zero")
	}
	return x / y, nil
}

func calculateIntegers(operator string, a, b int64) (value, error) {
	switch operator {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b == 0 {
		return nil, problem("division by zero")
	}
	if operator == "/" {
		return a / b, nil
	}
	return a % b, nil
}

func number(v value) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
