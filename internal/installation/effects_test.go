// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// The shell executes every effect: one that its switches do not name would end in an error.
func TestEveryEffectIsExecuted(t *testing.T) {
	var effects, named []string
	inspect(t, "effects.go", func(node ast.Node) {
		if method, ok := node.(*ast.FuncDecl); ok && method.Recv != nil && method.Name.Name == "effect" {
			effects = append(effects, method.Recv.List[0].Type.(*ast.Ident).Name)
		}
	})
	inspect(t, "../controller/installations/act.go", func(node ast.Node) {
		clause, ok := node.(*ast.CaseClause)
		for i := 0; ok && i < len(clause.List); i++ {
			if name, found := strings.CutPrefix(types.ExprString(clause.List[i]), "installation."); found {
				named = append(named, name)
			}
		}
	})
	slices.Sort(effects)
	slices.Sort(named)
	if len(effects) < 20 || !slices.Equal(effects, named) {
		t.Errorf("effects are %q, and these are executed: %q", effects, named)
	}
}

func inspect(t *testing.T, file string, each func(ast.Node)) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		each(node)
		return true
	})
}
