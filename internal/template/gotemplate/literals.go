// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"slices"
	"text/template/parse"
)

// markFailures replaces calls of fail with a message that consists only of template text by calls of a function that shows
// it. The message may come through the pipeline.
func (c *compiler) markFailures(pipe *parse.PipeNode) {
	for i, cmd := range pipe.Cmds {
		function, ok := cmd.Args[0].(*parse.IdentifierNode)
		if !ok || function.Ident != "fail" || slices.Contains(c.added, "fail") {
			continue
		}
		if c.literals(cmd.Args[1:]) &&
			!slices.ContainsFunc(pipe.Cmds[:i], func(before *parse.CommandNode) bool { return !c.literals(before.Args) }) {
			function.Ident = failFunction
		}
	}
}

// literals reports whether nodes consist only of template text.
func (c *compiler) literals(nodes []parse.Node) bool {
	return !slices.ContainsFunc(nodes, func(node parse.Node) bool { return !c.literal(node) })
}

func (c *compiler) literal(node parse.Node) bool {
	switch n := node.(type) {
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode, *parse.NilNode:
		return true
	case *parse.IdentifierNode:
		return c.calculates(n.Ident)
	case *parse.PipeNode:
		return len(n.Decl) == 0 && !slices.ContainsFunc(n.Cmds, func(cmd *parse.CommandNode) bool { return !c.literals(cmd.Args) })
	}
	return false
}

// calculates reports whether the result of a function depends only on its arguments. Included templates see more than their
// arguments, files of the blueprint are not template text, and functions of the caller are unknown.
func (c *compiler) calculates(function string) bool {
	switch function {
	case "include", "readFile", "readDir":
		return false
	}
	return !slices.Contains(c.added, function)
}
