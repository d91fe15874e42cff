// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"

	"espalier.dev/internal/template"
)

// guard replaces a node that looks up fields by one that first checks whether such fields can exist: .a.b becomes (known .
// "a" "b").a.b. The lookup itself stays with text/template.
func guard(node parse.Node) parse.Node {
	switch n := node.(type) {
	case *parse.FieldNode:
		return guarded(n.Pos, &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, n.Ident)
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			variable := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}
			return guarded(n.Pos, variable, n.Ident[1:])
		}
	case *parse.ChainNode:
		return guarded(n.Pos, n.Node, n.Field)
	}
	return node
}

func guarded(pos parse.Pos, of parse.Node, fields []string) parse.Node {
	args := []parse.Node{of}
	for _, field := range fields {
		args = append(args, &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Text: field, Quoted: `"` + field + `"`})
	}
	asked := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{command(pos, knownFunction, args...)}}
	return &parse.ChainNode{NodeType: parse.NodeChain, Pos: pos, Node: asked, Field: fields}
}

// closedMap is a map with a known set of names, including names without a value.
type closedMap struct {
	name  string
	names []string
}

// closedMaps returns the maps of the bindings with a known set of names, by their identity, because variables and the dot
// can refer to them as well.
func closedMaps(bindings map[string]any, known map[string][]string) map[uintptr]closedMap {
	closed := map[uintptr]closedMap{}
	for name, names := range known {
		of := bindings
		if name != "" {
			of, _ = bindings[name].(map[string]any)
		}
		if of != nil {
			closed[reflect.ValueOf(of).Pointer()] = closedMap{name: name, names: names}
		}
	}
	return closed
}

// known returns a value unless one of the fields on the path from it is certainly a mistake.
func (r *run) known(value any, path ...string) (any, error) {
	current := value
	for _, name := range path {
		entries, ok := current.(map[string]any)
		if !ok {
			break
		}
		inner, found := entries[name]
		if !found {
			return value, r.missingName(entries, name)
		}
		current = inner
	}
	return value, nil
}

func (r *run) missingName(entries map[string]any, name string) error {
	closed, ok := r.closed[reflect.ValueOf(entries).Pointer()]
	if !ok || slices.Contains(closed.names, name) {
		return nil
	}
	all := slices.Concat(slices.Collect(maps.Keys(entries)), closed.names)
	slices.Sort(all)
	where := "among the bindings"
	if closed.name != "" {
		where = "in " + closed.name
	}
	return template.Problemf("there is no %s %s; there are %s", name, where, listed(slices.Compact(all)))
}

// listed formats names, up to a maximum number.
func listed(names []string) string {
	const most = 20
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return strings.Join(names[:most], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}
