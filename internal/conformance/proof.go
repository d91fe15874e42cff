// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"cmp"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"espalier.dev/internal/lint"
)

// Proof is a test that carries the ID of a requirement in its name.
type Proof struct {
	ID string
	// Test names the test for messages: the folder of its package, its function, and its sub-test if that contains the ID.
	Test string
}

// FindProofs returns the tests whose names carry an ID with one of the prefixes of the specs, known or not.
func FindProofs(tree *lint.Tree, specs []Spec) []Proof {
	f := newFinder(prefixesOf(specs))
	for _, file := range tree.Files {
		if file.Go == nil || !file.IsTest() {
			continue
		}
		for _, declaration := range file.Go.Decls {
			f.visit(file, declaration)
		}
	}
	slices.SortFunc(f.proofs, func(a, b Proof) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Test, b.Test))
	})
	return slices.Compact(f.proofs)
}

// finder collects proofs. It recognises IDs in names of functions and at the start of strings.
type finder struct {
	inFunction *regexp.Regexp
	inString   *regexp.Regexp
	single     *regexp.Regexp
	proofs     []Proof
}

func newFinder(prefixes []string) *finder {
	any := "(?:" + strings.Join(prefixes, "|") + ")"
	if len(prefixes) == 0 {
		any = "[^\\x00-\\x{10FFFF}]"
	}
	id := any + "-[0-9]{2}"
	return &finder{
		inFunction: regexp.MustCompile("(" + any + ")([0-9]{2})"),
		inString:   regexp.MustCompile("^" + id + "((, | )" + id + `)* \S`),
		single:     regexp.MustCompile(id),
	}
}

func (f *finder) visit(file *lint.File, declaration ast.Decl) {
	place := file.Dir() + ": "
	function, isFunction := declaration.(*ast.FuncDecl)
	if isFunction && isTestName(function.Name.Name) {
		place += function.Name.Name
		for _, match := range f.inFunction.FindAllStringSubmatch(function.Name.Name, -1) {
			f.proofs = append(f.proofs, Proof{ID: match[1] + "-" + match[2], Test: place})
		}
	} else {
		place += path.Base(file.Path)
	}
	ast.Inspect(declaration, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok {
			f.visitLiteral(place, literal.Value)
		}
		return !isReport(node)
	})
}

func isTestName(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")
}

func (f *finder) visitLiteral(place, literal string) {
	name, err := strconv.Unquote(literal)
	if err != nil {
		return
	}
	for _, id := range f.single.FindAllString(f.inString.FindString(name), -1) {
		f.proofs = append(f.proofs, Proof{ID: id, Test: place + "/" + name})
	}
}

// isReport reports whether a node is a call that writes a message, which is not a name.
func isReport(node ast.Node) bool {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf"}, selector.Sel.Name)
}
