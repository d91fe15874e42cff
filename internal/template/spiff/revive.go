// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"maps"
	"slices"
	"strings"
)

// The state stores a lambda as its text. A value of the state becomes one with lambdas again where it is used: they are then
// defined at that node, as they were when the node was evaluated for the first time.

// revived returns a value of a stub with its lambdas, which are defined here. The parts of a value are revived on demand, and
// only if it is from the state.
func (e *env) revived(v value, deep bool) (value, error) {
	switch v := v.(type) {
	case string:
		return e.lambdaIn(v)
	case *dict:
		if deep {
			return &dict{plain: v.plain, revives: e}, nil
		}
	case *list:
		if deep {
			return e.revivedList(v)
		}
	}
	return v, nil
}

func (e *env) revivedList(l *list) (value, error) {
	if err := e.run.meter.Build(sizeOfCell * int64(len(l.cells))); err != nil {
		return nil, err
	}
	cells := make([]*cell, len(l.cells))
	for i, c := range l.cells {
		cells[i] = e.revivedPart(c)
	}
	return &list{cells: cells}, nil
}

// revivedPart returns the cell for a part of a value of the state.
func (e *env) revivedPart(c *cell) *cell {
	switch v := c.value.(type) {
	case string:
		if !mayBeLambda(v) {
			return c
		}
	case *dict, *list:
	default:
		return c
	}
	return later(e, func(e *env) (result, error) {
		v, err := e.revived(c.value, true)
		return result{value: v}, err
	})
}

// lambdaIn returns the lambda whose text this is, or the text if it is not that of a lambda.
func (e *env) lambdaIn(text string) (value, error) {
	if !mayBeLambda(text) {
		return text, nil
	}
	inner, _ := isExpression(text)
	parsed, err := e.parse(inner)
	if err != nil {
		return text, e.run.meter.Reached()
	}
	if _, ok := parsed.expr.(*function); !ok {
		return text, nil
	}
	out, err := e.withNode(parsed).eval(parsed.expr)
	return out.value, err
}

func mayBeLambda(text string) bool {
	_, ok := isExpression(text)
	return ok && strings.Contains(text, "->")
}

// holdsLambdas reports whether a plain value may contain texts of lambdas.
func holdsLambdas(plain any) bool {
	switch v := plain.(type) {
	case string:
		return mayBeLambda(v)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), holdsLambdas)
	case []any:
		return slices.ContainsFunc(v, holdsLambdas)
	}
	return false
}
