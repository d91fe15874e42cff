// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// A new effect must be handled in every switch over effects: none lets one fall through unnoticed.
func TestEverySwitchOverEffectsNamesAll(t *testing.T) {
	pure, controller := functionsIn(t, "*.go"), functionsIn(t, "../controller/executions/act*.go")
	var all []string
	for _, f := range pure {
		if f.Name.Name == "effect" {
			all = append(all, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	if slices.Sort(all); len(all) < 20 {
		t.Fatalf("only the effects %v are found", all)
	}
	for where, named := range map[string][]string{
		"After and itemsOf":                    casesOf(pure, "After", "itemsOf"),
		"After and Item.after":                 casesOf(pure, "After", "after"),
		"noted":                                casesOf(pure, "noted"),
		"Act, itemAction and continuousAction": casesOf(controller, "Act", "itemAction", "continuousAction"),
	} {
		if slices.Sort(named); !slices.Equal(named, all) {
			t.Errorf("%s: %v, want each of %v once", where, named, all)
		}
	}
}

func functionsIn(t *testing.T, pattern string) []*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob(pattern)
	var functions []*ast.FuncDecl
	for _, name := range files {
		file, problem := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err = problem; err != nil {
			break
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && file.Name.Name != "execution_test" {
				functions = append(functions, f)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return functions
}

// casesOf returns the types in the type switches of functions.
func casesOf(functions []*ast.FuncDecl, names ...string) []string {
	var cases []string
	for _, f := range functions {
		if !slices.Contains(names, f.Name.Name) {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			clause, ok := n.(*ast.CaseClause)
			if !ok {
				return true
			}
			for _, e := range clause.List {
				switch named := e.(type) {
				case *ast.Ident:
					cases = append(cases, named.Name)
				case *ast.SelectorExpr:
					cases = append(cases, named.Sel.Name)
				}
			}
			return true
		})
	}
	return cases
}
