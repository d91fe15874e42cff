// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

// each visits the nodes of a template that are expressions.
func (s *source) each(visit func(*source)) {
	if s == nil {
		return
	}
	if s.kind == expressionKind {
		visit(s)
	}
	s.inserted.each(visit)
	for _, name := range s.names {
		s.entries[name].each(visit)
	}
	for _, item := range s.items {
		item.each(visit)
	}
}

// visit visits an expression and all expressions inside it.
func visit(x expr, see func(expr)) {
	if x == nil {
		return
	}
	see(x)
	for _, inner := range partsOf(x) {
		visit(inner, see)
	}
}

// partsOf returns the direct parts of an expression.
func partsOf(x expr) []expr {
	for _, parts := range []func(expr) []expr{partsOfWrapper, partsOfOperator, partsOfValue, partsOfAccess, partsOfLambda} {
		if found := parts(x); found != nil {
			return found
		}
	}
	return nil
}

// partsOfWrapper is partsOf for expressions that only modify another expression.
func partsOfWrapper(x expr) []expr {
	switch x := x.(type) {
	case *grouped:
		return []expr{x.inner}
	case *prefer:
		return []expr{x.inner}
	case *marked:
		return []expr{x.inner}
	case *scoped:
		return []expr{x.names, x.inner}
	}
	return nil
}

// partsOfOperator is partsOf for operators.
func partsOfOperator(x expr) []expr {
	switch x := x.(type) {
	case *not:
		return []expr{x.inner}
	case *conditional:
		return []expr{x.condition, x.yes, x.no}
	case *operation:
		return []expr{x.left, x.right}
	case *substitution:
		return []expr{x.template}
	}
	return nil
}

// partsOfValue is partsOf for lists and maps written in an expression.
func partsOfValue(x expr) []expr {
	switch x := x.(type) {
	case *mapping:
		var parts []expr
		for _, a := range x.assignments {
			parts = append(parts, a.key, a.value)
		}
		return parts
	case *listing:
		return argumentsOf(x.items)
	case *interval:
		return []expr{x.from, x.to}
	}
	return nil
}

// partsOfAccess is partsOf for accesses into a value.
func partsOfAccess(x expr) []expr {
	switch x := x.(type) {
	case *qualified:
		return []expr{x.base}
	case *dynamic:
		return []expr{x.base, x.index}
	case *slice:
		return []expr{x.base, x.bounds}
	case *projection:
		return []expr{x.base, x.inner}
	}
	return nil
}

// partsOfLambda is partsOf for lambdas and their uses.
func partsOfLambda(x expr) []expr {
	switch x := x.(type) {
	case *call:
		parts := append([]expr{x.function}, argumentsOf(x.positional)...)
		for _, named := range x.named {
			parts = append(parts, named.expr)
		}
		return parts
	case *function:
		return []expr{x.body}
	case *lambdaReference:
		return []expr{x.inner}
	case *iteration:
		return []expr{x.source, x.apply}
	case *aggregation:
		return []expr{x.source, x.initial, x.apply}
	case *catch:
		return []expr{x.source, x.apply}
	}
	return nil
}

func argumentsOf(all []argument) []expr {
	parts := make([]expr, len(all))
	for i := range all {
		parts[i] = all[i].expr
	}
	return parts
}
