// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import "slices"

// constants reports whether there are arguments, and all consist only of template text.
func (r *run) constants(arguments []argument) bool {
	return len(arguments) > 0 && !slices.ContainsFunc(arguments, func(a argument) bool { return !r.constant(a.expr) })
}

// constant reports whether the value of an expression consists only of its own text. A condition only chooses.
func (r *run) constant(x expr) bool {
	switch x := x.(type) {
	case *literal:
		return true
	case *grouped:
		return r.constant(x.inner)
	case *operation:
		return r.constant(x.left) && r.constant(x.right)
	case *conditional:
		return r.constant(x.yes) && r.constant(x.no)
	case *listing:
		return r.constants(x.items)
	case *call:
		return r.calculates(x.functionName()) && len(x.named) == 0 && r.constants(x.positional)
	}
	return false
}

// calculates reports whether the result of a function depends only on its arguments. Files of the blueprint are not template
// text, and functions of the caller are unknown.
func (r *run) calculates(function string) bool {
	return builtins[function] != nil && r.functions[function] == nil && function != "read" && function != "read_uncached"
}
