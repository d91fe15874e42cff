// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"go/ast"
	"os"
	"path/filepath"

	"espalier.dev/internal/conformance/mutants"
	"espalier.dev/internal/lint"
)

// Facts is everything that the page shows, except the reasons that people write.
type Facts struct {
	Specs   []Spec
	Proofs  []Proof
	Mutants []mutants.Mutant
	Results []mutants.Result
	Sweeps  []Sweep
	// Tests holds all test functions, as FOLDER: TEST.
	Tests map[string]bool
}

// pageFile is the page, relative to the root of the module.
const pageFile = "docs/conformance.md"

// ReadFacts reads the work tree.
func ReadFacts(root string) (Facts, error) {
	tree, err := lint.Load(os.DirFS(root))
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Mutants: mutants.All(), Sweeps: Sweeps, Tests: testsOf(tree)}
	if f.Specs, err = ReadSpecs(tree); err != nil {
		return Facts{}, err
	}
	f.Proofs = FindProofs(tree, f.Specs)
	f.Results, err = mutants.ReadResults(root)
	return f, err
}

// Update rewrites the page.
func Update(root string) error {
	facts, err := ReadFacts(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, pageFile)
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(RenderPage(facts, ParsePage(string(page)))), 0o644)
}

func testsOf(tree *lint.Tree) map[string]bool {
	tests := map[string]bool{}
	for _, file := range tree.Files {
		if file.Go == nil || !file.IsTest() {
			continue
		}
		for _, declaration := range file.Go.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && isTestName(f.Name.Name) {
				tests[file.Dir()+": "+f.Name.Name] = true
			}
		}
	}
	return tests
}
