// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// effectMethod marks the types of a closed set of effects. A set consists of the types of one package that have it.
const effectMethod = "effect"

// effectSwitch is a type switch over a set of effects.
type effectSwitch struct {
	file *File
	at   *ast.TypeSwitchStmt
	// set is the folder of the package that defines the effects.
	set   string
	named []string
	// next are the functions to which the default clause passes the effect.
	next []string
}

// effectCode is the production code that handles effects.
type effectCode struct {
	// sets maps folders to their effects.
	sets map[string][]string
	// functions maps folders to their functions, by name. Methods of different types with the same name count as one.
	functions map[string]map[string][]*ast.FuncDecl
	// switches maps functions to their switches.
	switches map[*ast.FuncDecl][]effectSwitch
}

// findIncompleteEffects finds type switches over effects that do not name all of them. The default clause of a switch may pass the effect
// on to functions of the same package: their switches must name the rest.
func findIncompleteEffects(tree *Tree) []Offence {
	code := readEffects(tree)
	continuations := map[*ast.TypeSwitchStmt]bool{}
	code.each(func(s effectSwitch) {
		for _, next := range code.following(s) {
			continuations[next.at] = true
		}
	})
	var offences []Offence
	code.each(func(s effectSwitch) {
		if continuations[s.at] {
			return
		}
		if missing := code.missing(s, code.sets[s.set]); len(missing) > 0 {
			offences = append(offences, tree.offence(s.file, s.at.Pos(), "this switch does not name the effects %s", strings.Join(missing, ", ")))
		}
	})
	return offences
}

func readEffects(tree *Tree) effectCode {
	code := effectCode{
		sets:      map[string][]string{},
		functions: map[string]map[string][]*ast.FuncDecl{},
		switches:  map[*ast.FuncDecl][]effectSwitch{},
	}
	files := tree.goFiles(production)
	for _, file := range files {
		for _, function := range functionsOf(file) {
			name := function.Name.Name
			if name == effectMethod && function.Recv != nil {
				code.sets[file.Dir()] = append(code.sets[file.Dir()], receiverOf(function))
			}
			if code.functions[file.Dir()] == nil {
				code.functions[file.Dir()] = map[string][]*ast.FuncDecl{}
			}
			code.functions[file.Dir()][name] = append(code.functions[file.Dir()][name], function)
		}
	}
	for _, file := range files {
		for _, function := range functionsOf(file) {
			code.switches[function] = code.switchesIn(file, function)
		}
	}
	return code
}

func functionsOf(file *File) []*ast.FuncDecl {
	var functions []*ast.FuncDecl
	for _, declaration := range file.Go.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Body != nil {
			functions = append(functions, function)
		}
	}
	return functions
}

func receiverOf(method *ast.FuncDecl) string {
	receiver := method.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	name, _ := receiver.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

func (c effectCode) each(do func(effectSwitch)) {
	for _, switches := range c.switches {
		for _, s := range switches {
			do(s)
		}
	}
}

func (c effectCode) switchesIn(file *File, function *ast.FuncDecl) []effectSwitch {
	var found []effectSwitch
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if at, ok := node.(*ast.TypeSwitchStmt); ok {
			if s := c.effectSwitch(file, at); len(s.named) > 0 {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// effectSwitch returns what a type switch says about effects; it names none if it is about something else.
func (c effectCode) effectSwitch(file *File, at *ast.TypeSwitchStmt) effectSwitch {
	s := effectSwitch{file: file, at: at}
	for _, statement := range at.Body.List {
		clause, ok := statement.(*ast.CaseClause)
		if !ok {
			continue
		}
		if clause.List == nil {
			s.next = passing(clause, subjectsOf(at))
		}
		for _, expression := range clause.List {
			folder, name := typeNamed(file, expression)
			if slices.Contains(c.sets[folder], name) {
				s.set, s.named = folder, append(s.named, name)
			}
		}
	}
	return s
}

// typeNamed returns the folder and the name of a type.
func typeNamed(file *File, expression ast.Expr) (folder, name string) {
	switch e := expression.(type) {
	case *ast.Ident:
		return file.Dir(), e.Name
	case *ast.SelectorExpr:
		if qualifier, ok := e.X.(*ast.Ident); ok {
			return strings.TrimPrefix(importedAs(file.Go, qualifier.Name), modulePath+"/"), e.Sel.Name
		}
	}
	return "", ""
}

// subjectsOf returns the names of what a type switch asks about: in "switch e := effect.(type)" these are e and effect.
func subjectsOf(at *ast.TypeSwitchStmt) []string {
	var names []string
	ast.Inspect(at.Assign, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			names = append(names, name.Name)
		}
		return true
	})
	return names
}

// passing returns the names of the functions that get one of the named variables as an argument.
func passing(in ast.Node, variables []string) []string {
	var functions []string
	ast.Inspect(in, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, argument := range call.Args {
			if name, ok := argument.(*ast.Ident); ok && slices.Contains(variables, name.Name) {
				functions = append(functions, calledName(call))
			}
		}
		return true
	})
	return functions
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// missing returns those of the effects that neither a switch nor one of those behind its default clause names.
func (c effectCode) missing(s effectSwitch, effects []string) []string {
	rest := slices.DeleteFunc(slices.Sorted(slices.Values(effects)), func(name string) bool { return slices.Contains(s.named, name) })
	following := c.following(s)
	if len(following) == 0 {
		return rest
	}
	var missing []string
	for _, next := range following {
		missing = append(missing, c.missing(next, rest)...)
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// following returns the switches that get the effects of the default clause.
func (c effectCode) following(s effectSwitch) []effectSwitch {
	var found []effectSwitch
	seen := map[string]bool{}
	open := slices.Clone(s.next)
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, function := range c.functions[s.file.Dir()][name] {
			same := slices.DeleteFunc(slices.Clone(c.switches[function]), func(other effectSwitch) bool {
				return other.set != s.set || other.at == s.at
			})
			found = append(found, same...)
			if len(same) == 0 {
				open = append(open, passing(function.Body, parametersOf(function))...)
			}
		}
	}
	return found
}

// parametersOf returns the names of the parameters that are effects.
func parametersOf(function *ast.FuncDecl) []string {
	var names []string
	for _, field := range function.Type.Params.List {
		name := ""
		switch t := field.Type.(type) {
		case *ast.Ident:
			name = t.Name
		case *ast.SelectorExpr:
			name = t.Sel.Name
		}
		for _, parameter := range field.Names {
			if name == "Effect" {
				names = append(names, parameter.Name)
			}
		}
	}
	return names
}
