// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const metricsHeading = `# Metrics

Every metric of Espalier that ` + "`espalier-controller`" + ` serves at ` + "`/metrics`" + `. [observability.md](../observability.md) shows how to
use them, and explains why the labels contain no names of installations. This page is generated from the code by
` + "`go test ./internal/reference -update`" + `.

| Metric | Type | Labels | |
|---|---|---|---|
`

// metric is a metric that the code declares.
type metric struct {
	name, kind, help string
	labels           []string
}

// MetricsPage returns the page about metrics for the tree at a root.
func MetricsPage(root string) (string, error) {
	var all []metric
	for _, folder := range []string{"deployer", "internal"} {
		found, err := metricsBelow(filepath.Join(root, folder))
		if err != nil {
			return "", err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	var page strings.Builder
	page.WriteString(metricsHeading)
	for _, m := range all {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, cell(m.help))
	}
	return page.String(), nil
}

func metricsBelow(folder string) ([]metric, error) {
	var all []metric
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found, err := metricsOf(file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, found...)
		return nil
	})
	return all, err
}

// constructors are the functions of Prometheus' library that declare metrics.
var constructors = map[string]string{
	"NewDesc": "gauge", "NewCounter": "counter", "NewCounterVec": "counter", "NewGauge": "gauge", "NewGaugeVec": "gauge",
	"NewHistogram": "histogram", "NewHistogramVec": "histogram",
}

func metricsOf(file *ast.File) ([]metric, error) {
	var all []metric
	var problem error
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || constructors[selector.Sel.Name] == "" {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); !ok || of.Name != "prometheus" {
			return true
		}
		m := metric{kind: constructors[selector.Sel.Name]}
		m.read(call.Args)
		if m.name == "" || m.help == "" {
			problem = fmt.Errorf("a metric by %s has no name or help in plain text", selector.Sel.Name)
		}
		all = append(all, m)
		return true
	})
	return all, problem
}

// read reads name, help and labels from the arguments of a constructor: NewDesc takes them in a row, the others in a struct.
func (m *metric) read(args []ast.Expr) {
	for _, arg := range args {
		options, isLiteral := arg.(*ast.CompositeLit)
		text := plainText(arg)
		switch {
		case text != "" && m.name == "":
			m.name = text
		case text != "":
			m.help = text
		case isLiteral:
			m.readLiteral(options)
		}
	}
}

func (m *metric) readLiteral(literal *ast.CompositeLit) {
	for _, element := range literal.Elts {
		pair, isPair := element.(*ast.KeyValueExpr)
		if !isPair {
			m.labels = append(m.labels, plainText(element))
			continue
		}
		switch key, _ := pair.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Name":
			m.name = plainText(pair.Value)
		case key.Name == "Help":
			m.help = plainText(pair.Value)
		}
	}
}

// plainText returns the value of a string literal, or of a concatenation.
func plainText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return plainText(e.X) + plainText(e.Y)
	default:
		return ""
	}
}
