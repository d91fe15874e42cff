// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"strconv"
	"text/template/parse"

	"espalier.dev/internal/template"
)

// The functions that Compile inserts. A template cannot call them: the check of its functions rejects them.
const (
	reservedPrefix = "espalier__"
	stepFunction   = reservedPrefix + "step"
	enterFunction  = reservedPrefix + "enter"
	leaveFunction  = reservedPrefix + "leave"
	writeFunction  = reservedPrefix + "write"
	failFunction   = reservedPrefix + "fail"
	knownFunction  = reservedPrefix + "known"
)

// The costs of the parts of a template in steps, apart from what functions do with their arguments.
const (
	costOfBody   = 4
	costOfAction = 2
	costOfCall   = 4
)

// compiler checks the functions of a template and inserts the calls that enforce its limits.
type compiler struct {
	template *Template
	known    map[string]bool
	// added are the caller's functions.
	added []string
	used  map[string]bool
}

// instrument processes one of the templates that a text defines.
func (c *compiler) instrument(tree *parse.Tree) error {
	if tree.Root == nil {
		tree.Root = &parse.ListNode{NodeType: parse.NodeList}
	}
	if err := c.body(tree.Root, 0); err != nil {
		return err
	}
	pos := tree.Root.Pos
	nodes := append([]parse.Node{call(pos, enterFunction)}, tree.Root.Nodes...)
	tree.Root.Nodes = append(nodes, call(pos, leaveFunction))
	return nil
}

// body instruments a list of nodes and prepends a call that charges for one pass through it.
func (c *compiler) body(list *parse.ListNode, level int) error {
	if list == nil {
		return nil
	}
	if level > c.template.limits.Nesting {
		meter := template.NewMeter(c.template.limits)
		return c.errorAt(list.Pos, "", meter.Nested(level))
	}
	weight := costOfBody
	for _, node := range list.Nodes {
		cost, err := c.node(node, level)
		if err != nil {
			return err
		}
		weight += cost
	}
	list.Nodes = append([]parse.Node{call(list.Pos, stepFunction, number(list.Pos, weight))}, list.Nodes...)
	return nil
}

// node instruments a node of a body and returns its cost, without the bodies inside it.
func (c *compiler) node(node parse.Node, level int) (int, error) {
	switch n := node.(type) {
	case *parse.ActionNode:
		return c.action(n, level)
	case *parse.IfNode:
		return c.branch(&n.BranchNode, level)
	case *parse.WithNode:
		return c.branch(&n.BranchNode, level)
	case *parse.RangeNode:
		return c.branch(&n.BranchNode, level)
	case *parse.TemplateNode:
		return c.pipe(n.Pipe, level)
	}
	return 1, nil
}

func (c *compiler) branch(n *parse.BranchNode, level int) (int, error) {
	cost, err := c.pipe(n.Pipe, level)
	if err != nil {
		return 0, err
	}
	if err := c.body(n.List, level+1); err != nil {
		return 0, err
	}
	return cost, c.body(n.ElseList, level+1)
}

// action instruments a value that is written: the value passes through a function that measures it first.
func (c *compiler) action(n *parse.ActionNode, level int) (int, error) {
	cost, err := c.pipe(n.Pipe, level)
	if err != nil || len(n.Pipe.Decl) > 0 {
		return cost, err
	}
	n.Pipe.Cmds = append(n.Pipe.Cmds, command(n.Pos, writeFunction, number(n.Pos, len(c.template.values))))
	c.template.values = append(c.template.values, n.Pipe.Pos)
	return cost + 1, nil
}

// pipe checks the functions of a pipeline and returns its cost.
func (c *compiler) pipe(pipe *parse.PipeNode, level int) (int, error) {
	if pipe == nil {
		return costOfAction, nil
	}
	if level > c.template.limits.Nesting {
		return 0, c.errorAt(pipe.Pos, "", template.NewMeter(c.template.limits).Nested(level))
	}
	cost := costOfAction
	for i, cmd := range pipe.Cmds {
		for j, argument := range cmd.Args {
			more, err := c.argument(argument, level)
			if err != nil {
				return 0, err
			}
			cost += more
			// A field with arguments is called, which only text/template can reject.
			if j > 0 || i == 0 && len(cmd.Args) == 1 {
				cmd.Args[j] = guard(argument)
			}
		}
	}
	c.markFailures(pipe)
	return cost, nil
}

func (c *compiler) argument(node parse.Node, level int) (int, error) {
	switch n := node.(type) {
	case *parse.PipeNode:
		return c.pipe(n, level+1)
	case *parse.ChainNode:
		cost, err := c.argument(n.Node, level+1)
		return cost + costOfCall + len(n.Field), err
	case *parse.FieldNode:
		return costOfCall + len(n.Ident), nil
	case *parse.VariableNode:
		return costOfCall + len(n.Ident), nil
	case *parse.IdentifierNode:
		if !c.known[n.Ident] {
			return 0, c.errorAt(n.Pos, fmt.Sprintf("function %q is not defined", n.Ident), nil)
		}
		c.used[n.Ident] = true
		return costOfCall, nil
	}
	return 1, nil
}

func (c *compiler) errorAt(pos parse.Pos, message string, cause error) error {
	place := placeOf(c.template.source.Text, pos)
	return template.NewError(c.template.source, place, message, cause).Terminal()
}

// call returns an action that calls a function.
func call(pos parse.Pos, function string, args ...parse.Node) parse.Node {
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{command(pos, function, args...)}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipe}
}

func command(pos parse.Pos, function string, args ...parse.Node) *parse.CommandNode {
	identifier := parse.NewIdentifier(function).SetPos(pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{identifier}, args...)}
}

func number(pos parse.Pos, n int) parse.Node {
	return &parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(n), Text: strconv.Itoa(n)}
}
