// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"slices"
)

// purePackages only decide. Their sub-packages are also pure, except for those in shellsWithin.
var purePackages = []string{
	"internal/archive",
	"internal/blueprint",
	"internal/component",
	"internal/dataflow",
	"internal/decision",
	"internal/deployitem",
	"internal/diagram",
	"internal/execution",
	"internal/failure",
	"internal/fairness",
	"internal/graph",
	"internal/installation",
	"internal/masking",
	"internal/pipeline",
	"internal/lru",
	"internal/run",
	"internal/schedule",
	"internal/schema",
	"internal/shard",
	"internal/targetsync",
	"internal/template",
}

// impureImports perform I/O, or provide time and randomness. Sub-packages count too.
var impureImports = []string{
	"context", "crypto/rand", "crypto/tls", "database/sql", "debug", "expvar", "flag", "io/ioutil", "log",
	"math/rand", "net", "os", "path/filepath", "plugin", "runtime", "syscall", "testing", "unsafe",
	"k8s.io/apimachinery/pkg/util/clock",
	"k8s.io/apimachinery/pkg/util/net",
	"k8s.io/apimachinery/pkg/util/rand",
	"k8s.io/apimachinery/pkg/util/runtime",
	"k8s.io/apimachinery/pkg/util/uuid",
	"k8s.io/apimachinery/pkg/util/wait",
	"k8s.io/apimachinery/pkg/watch",
}

// pureExceptions are below an impure import but pure.
var pureExceptions = []string{"net/netip", "net/url"}

const metav1 = "k8s.io/apimachinery/pkg/apis/meta/v1"

// impureNames are the impure members of packages that are otherwise permitted.
var impureNames = map[string][]string{
	"time": {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"fmt":  {"Fscan", "Fscanf", "Fscanln", "Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	metav1: {"Now", "NowMicro"},
}

// shellsWithin read for the pure package that contains them.
var shellsWithin = []string{"internal/component/resolve", "internal/component/repository"}

func pure(f *File) bool {
	return production(f) && withinAny(f.Dir(), purePackages) && !withinAny(f.Dir(), shellsWithin)
}

func findImpurity(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(pure) {
		for _, spec := range file.Go.Imports {
			if imported := importPath(spec); impureImport(imported) {
				offences = append(offences, tree.offence(file, spec.Pos(), "a pure package imports %s", imported))
			}
		}
		offences = append(offences, findNames(tree, file, impureNames, "a pure package uses %s.%s; make it an input")...)
	}
	return offences
}

func impureImport(imported string) bool {
	return withinAny(imported, impureImports) && !withinAny(imported, pureExceptions)
}

// findNames reports the uses of the given members of packages, worded with format.
func findNames(tree *Tree, file *File, members map[string][]string, format string) []Offence {
	var offences []Offence
	ast.Inspect(file.Go, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		if slices.Contains(members[importedAs(file.Go, name.Name)], selector.Sel.Name) {
			offences = append(offences, tree.offence(file, selector.Pos(), format, name.Name, selector.Sel.Name))
		}
		return true
	})
	return offences
}
