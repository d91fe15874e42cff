// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"unicode/utf8"
)

const (
	maxLines      = 80
	maxComplexity = 11
	maxParameters = 4
	maxWidth      = 140
)

// unbreakable matches what may make a line long: a message, which would be hard to search for in pieces, and a marker for generators.
var unbreakable = regexp.MustCompile("[\"`][^\"`]{40,}|^// \\+")

func findLongLines(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(production) {
		line := 0
		for text := range bytes.Lines(file.Text) {
			line++
			width := utf8.RuneCount(bytes.TrimRight(text, "\n"))
			if width > maxWidth && !unbreakable.Match(text) {
				what := fmt.Sprintf("the line has %d characters, the limit is %d", width, maxWidth)
				offences = append(offences, Offence{Path: file.Path, Line: line, Message: what})
			}
		}
	}
	return offences
}

func findLongFunctions(tree *Tree) []Offence {
	return eachFunction(tree, func(file *File, function *ast.FuncDecl) []Offence {
		lines := tree.Line(function.End()) - tree.Line(function.Pos()) + 1
		if lines <= maxLines {
			return nil
		}
		return []Offence{tree.offence(file, function.Pos(), "%s has %d lines, the limit is %d", function.Name.Name, lines, maxLines)}
	})
}

func findComplexFunctions(tree *Tree) []Offence {
	return eachFunction(tree, func(file *File, function *ast.FuncDecl) []Offence {
		complexity := complexityOf(function)
		if complexity <= maxComplexity {
			return nil
		}
		return []Offence{
			tree.offence(file, function.Pos(), "%s has complexity %d, the limit is %d", function.Name.Name, complexity, maxComplexity),
		}
	})
}

func findLongSignatures(tree *Tree) []Offence {
	return eachFunction(tree, func(file *File, function *ast.FuncDecl) []Offence {
		parameters := countParameters(function.Type)
		if parameters <= maxParameters {
			return nil
		}
		return []Offence{
			tree.offence(
				file,
				function.Pos(),
				"%s has %d parameters; more than %d deserve a struct",
				function.Name.Name,
				parameters,
				maxParameters,
			),
		}
	})
}

func eachFunction(tree *Tree, check func(*File, *ast.FuncDecl) []Offence) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(production) {
		for _, declaration := range file.Go.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				offences = append(offences, check(file, function)...)
			}
		}
	}
	return offences
}

// complexityOf counts the branches of a function, including those of its function literals, plus one.
func complexityOf(function *ast.FuncDecl) int {
	complexity := 1
	ast.Inspect(function, func(node ast.Node) bool {
		if branches(node) {
			complexity++
		}
		return true
	})
	return complexity
}

func branches(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
		return true
	case *ast.CaseClause:
		return n.List != nil
	case *ast.CommClause:
		return n.Comm != nil
	case *ast.BinaryExpr:
		return n.Op == token.LAND || n.Op == token.LOR
	}
	return false
}

// countParameters does not count a context or a testing.TB: they are there by convention.
func countParameters(signature *ast.FuncType) int {
	count := 0
	for _, field := range signature.Params.List {
		if selector, ok := field.Type.(*ast.SelectorExpr); ok && slices.Contains([]string{"Context", "TB"}, selector.Sel.Name) {
			continue
		}
		count += max(1, len(field.Names))
	}
	return count
}
