// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scanned are the folders with code of the product. Tools and test kits below them are skipped.
var (
	scanned = []string{"api", "deployer", "internal", "cmd"}
	skipped = []string{
		"internal/testkit", "internal/lint", "internal/conformance", "internal/reference", "internal/site", "internal/doctest", "internal/rights",
		"internal/release", "cmd/espalier/internal/nodetest",
	}
)

// constant is a string constant of the product.
type constant struct {
	folder, name, value string
	// of is the name of its type; empty if it has none.
	of string
	// text is its comment; about is that of its group.
	text, about string
	// position is the position in its file, for sorting.
	position int
}

// program is the code of the product, parsed.
type program struct {
	root  string
	files []codeFile
	// values contains the expressions of all constants, by folder and name.
	values map[name]expression
}

type codeFile struct {
	folder, path string
	syntax       *ast.File
	imports      map[string]string
}

// expression is an expression with the file that resolves its names.
type expression struct {
	ast.Expr
	in *codeFile
}

// readProgram parses everything but tests.
func readProgram(root string) (*program, error) {
	p := &program{root: root, values: map[name]expression{}}
	for _, folder := range scanned {
		if err := p.readBelow(root, folder); err != nil {
			return nil, err
		}
	}
	for i := range p.files {
		p.addValues(&p.files[i])
	}
	return p, nil
}

func (p *program) readBelow(root, folder string) error {
	return filepath.WalkDir(filepath.Join(root, folder), func(place string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, place)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		switch {
		case entry.IsDir() && (entry.Name() == "testdata" || slices.Contains(skipped, relative)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(relative, ".go") || strings.HasSuffix(relative, "_test.go"):
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), place, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("%s: %w", relative, err)
		}
		if ast.IsGenerated(syntax) {
			return nil
		}
		p.files = append(p.files, codeFile{folder: path.Dir(relative), path: relative, syntax: syntax, imports: importsOf(syntax)})
		return nil
	})
}

func (p *program) addValues(file *codeFile) {
	eachConstant(file.syntax, func(_ *ast.GenDecl, spec *ast.ValueSpec, i int) {
		if i < len(spec.Values) {
			p.values[name{folder: file.folder, local: spec.Names[i].Name}] = expression{spec.Values[i], file}
		}
	})
}

// eachConstant calls a function for each constant that a file declares outside functions.
func eachConstant(syntax *ast.File, do func(group *ast.GenDecl, spec *ast.ValueSpec, i int)) {
	for _, decl := range syntax.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			spec := spec.(*ast.ValueSpec)
			for i := range spec.Names {
				do(group, spec, i)
			}
		}
	}
}

// constants returns all string constants, in the order of the folders.
func (p *program) constants() []constant {
	var all []constant
	for i := range p.files {
		file := &p.files[i]
		eachConstant(file.syntax, func(group *ast.GenDecl, spec *ast.ValueSpec, i int) {
			if i >= len(spec.Values) {
				return
			}
			value, known := p.fold(expression{spec.Values[i], file})
			if !known {
				return
			}
			c := constant{
				folder: file.folder, name: spec.Names[i].Name, value: value, text: words(spec.Doc), about: words(group.Doc), position: len(all),
			}
			if c.text == "" {
				c.text = words(spec.Comment)
			}
			if !group.Lparen.IsValid() {
				c.text, c.about = c.about, ""
			}
			if of, ok := spec.Type.(*ast.Ident); ok {
				c.of = of.Name
			} else if of, ok := spec.Type.(*ast.SelectorExpr); ok {
				c.of = of.Sel.Name
			}
			all = append(all, c)
		})
	}
	slices.SortStableFunc(all, func(a, b constant) int { return cmp.Compare(a.folder, b.folder) })
	return all
}

// fold evaluates a string of literals and our constants; it returns false if the value is not constant.
func (p *program) fold(e expression) (string, bool) {
	switch x := e.Expr.(type) {
	case *ast.BasicLit:
		if x.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(x.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return p.fold(expression{x.X, e.in})
	case *ast.BinaryExpr: // the only binary operator on string constants is +
		left, one := p.fold(expression{x.X, e.in})
		right, two := p.fold(expression{x.Y, e.in})
		return left + right, one && two
	case *ast.CallExpr:
		if !isConversion(x) {
			return "", false
		}
		return p.fold(expression{x.Args[0], e.in})
	default:
		return p.valueOf(nameOf(e))
	}
}

// nameOf returns the constant that an expression names, if any.
func nameOf(e expression) name {
	switch x := e.Expr.(type) {
	case *ast.Ident:
		return name{folder: e.in.folder, local: x.Name}
	case *ast.SelectorExpr:
		if of, ok := x.X.(*ast.Ident); ok {
			return name{folder: e.in.imports[of.Name], local: x.Sel.Name}
		}
	}
	return name{}
}

func (p *program) valueOf(n name) (string, bool) {
	value, known := p.values[n]
	if !known {
		return "", false
	}
	return p.fold(value)
}

// isConversion reports whether a call is one such as string(ConditionReady).
func isConversion(call *ast.CallExpr) bool {
	return len(call.Args) == 1 && (lastName(call.Fun) == "string" || ast.IsExported(lastName(call.Fun)))
}

// identifier is a name of Go in a comment.
var identifier = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w+\b`)

// described returns the comment of a constant in a form for users: without the name of the constant at the start, and with the values of
// others in place of their names.
func (p *program) described(c constant) string {
	text := cmp.Or(c.text, c.about)
	if rest, found := strings.CutPrefix(text, c.name); found {
		text = strings.TrimLeft(rest, ", ")
		for _, filler := range []string{"says that ", "means that ", "is "} {
			if after, found := strings.CutPrefix(text, filler); found && !strings.HasPrefix(after, "True") {
				text = after
				break
			}
		}
		text = strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
	}
	return p.withValues(text, c.folder)
}

// withValues replaces the names of a folder's constants in a text by their values.
func (p *program) withValues(text, folder string) string {
	return identifier.ReplaceAllStringFunc(text, func(word string) string {
		if value, known := p.valueOf(name{folder: folder, local: word}); known {
			return "`" + value + "`"
		}
		return word
	})
}

var errUndocumented = errors.New("give it a comment that says what it is for")
