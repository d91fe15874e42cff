// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// testkitDir contains the building blocks of tests; the rules for tests also apply to it.
const testkitDir = "internal/testkit"

func testCode(f *File) bool { return f.IsTest() || within(f.Dir(), testkitDir) }

func findSleeps(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(everyFile) {
		sleep := map[string][]string{"time": {"Sleep"}}
		offences = append(offences, findNames(tree, file, sleep, "%s.%s waits for a time, not for a fact")...)
	}
	return offences
}

// limits are the functions that limit a wait, with the place of the limit among the arguments.
var limits = map[string]map[string]int{
	"context":                           {"WithTimeout": 1, "WithTimeoutCause": 1},
	"time":                              {"After": 0, "AfterFunc": 0, "NewTimer": 0},
	"k8s.io/apimachinery/pkg/util/wait": {"PollUntilContextTimeout": 2},
}

func findImpatience(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(testCode) {
		ast.Inspect(file.Go, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if limit := limitOf(file, call); limit != nil && isLiteral(limit) {
					offences = append(offences, tree.offence(file, limit.Pos(), "this wait has its own limit instead of testkit.Patience"))
				}
			}
			return true
		})
	}
	return offences
}

// limitOf returns the limit of a wait, nil for other calls.
func limitOf(file *File, call *ast.CallExpr) ast.Expr {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	name, ok := selector.X.(*ast.Ident)
	if !ok {
		return nil
	}
	place, found := limits[importedAs(file.Go, name.Name)][selector.Sel.Name]
	if !found || place >= len(call.Args) {
		return nil
	}
	return call.Args[place]
}

// isLiteral reports whether a duration consists of numbers and units alone: 3 * time.Second.
func isLiteral(duration ast.Expr) bool {
	switch d := duration.(type) {
	case *ast.BasicLit:
		return true
	case *ast.BinaryExpr:
		return isLiteral(d.X) && isLiteral(d.Y)
	case *ast.SelectorExpr:
		name, ok := d.X.(*ast.Ident)
		return ok && name.Name == "time"
	}
	return false
}

func findSkips(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(testCode) {
		short := map[string][]string{"testing": {"Short"}}
		offences = append(offences, findNames(tree, file, short, "%s.%s leaves out tests")...)
		offences = append(offences, findSkipCalls(tree, file)...)
	}
	return offences
}

func findSkipCalls(tree *Tree, file *File) []Offence {
	var offences []Offence
	ast.Inspect(file.Go, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
			offences = append(offences, tree.offence(file, selector.Sel.Pos(), "a test must not skip itself"))
		}
		return true
	})
	return offences
}

// mockImports replace the API server or other real parts by something that agrees with the test's author.
var mockImports = []string{
	"github.com/golang/mock",
	"github.com/onsi/ginkgo",
	"github.com/onsi/gomega",
	"github.com/stretchr/testify",
	"github.com/vektra/mockery",
	"go.uber.org/mock",
	"k8s.io/client-go/testing",
	"sigs.k8s.io/controller-runtime/pkg/client/fake",
	"sigs.k8s.io/controller-runtime/pkg/envtest",
}

func findMocks(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(everyFile) {
		for _, spec := range file.Go.Imports {
			imported := importPath(spec)
			fakeClient := within(imported, "k8s.io/client-go") && strings.HasSuffix(imported, "/fake")
			if fakeClient || withinAny(imported, mockImports) {
				offences = append(offences, tree.offence(file, spec.Pos(), "%s stands in for a real part", imported))
			}
		}
	}
	return offences
}
