// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

const modulePath = "espalier.dev/"

// name is a type of a package, which is named by its folder.
type name struct{ folder, local string }

// declaration is a type as its source declares it.
type declaration struct {
	text string
	spec *ast.TypeSpec
	// imports maps the names that the file gives to packages to their folders, or the paths of third-party packages.
	imports map[string]string
	// values are the values of constants of the type.
	values []string
}

// source provides the types of packages. It reads packages on demand.
type source struct {
	root  string
	known map[string]map[string]*declaration
}

// find returns a type, nil if it is not one of ours.
func (s *source) find(n name) (*declaration, error) {
	if !strings.HasPrefix(n.folder, "api/") {
		return nil, nil
	}
	if s.known[n.folder] == nil {
		if err := s.read(n.folder); err != nil {
			return nil, err
		}
	}
	return s.known[n.folder][n.local], nil
}

func (s *source) read(folder string) error {
	types := map[string]*declaration{}
	s.known[folder] = types
	paths, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return err
	}
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("read the types of %s: %w", folder, err)
		}
		files = append(files, file)
		addTypes(types, file)
	}
	for _, file := range files {
		addValues(types, file)
	}
	return nil
}

// importsOf returns the folders, or the paths of third-party packages, by the names in a file.
func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		local := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imports[local] = strings.TrimPrefix(path, modulePath)
	}
	return imports
}

func addTypes(types map[string]*declaration, file *ast.File) {
	imports := importsOf(file)
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			spec := spec.(*ast.TypeSpec)
			types[spec.Name.Name] = &declaration{text: words(general.Doc), spec: spec, imports: imports}
		}
	}
}

// addValues adds the values of their constants to types.
func addValues(types map[string]*declaration, file *ast.File) {
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			spec := spec.(*ast.ValueSpec)
			of, ok := spec.Type.(*ast.Ident)
			if !ok || types[of.Name] == nil {
				continue
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok {
					text, _ := strconv.Unquote(literal.Value)
					types[of.Name].values = append(types[of.Name].values, text)
				}
			}
		}
	}
}

// words returns a comment in one line, without markers for generators.
func words(comment *ast.CommentGroup) string {
	var lines []string
	for line := range strings.SplitSeq(comment.Text(), "\n") {
		if !strings.HasPrefix(line, "+") && line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// field is one field of a struct, in the form for users.
type field struct {
	name, text string
	required   bool
	// is names its type, and of says whether it is a list or a map of that type.
	is name
	of string
}

// fields returns the fields of a struct, with those of embedded ones in place; nil for other types.
func (s *source) fields(n name) ([]field, error) {
	d, err := s.find(n)
	if err != nil || d == nil {
		return nil, err
	}
	structure, ok := d.spec.Type.(*ast.StructType)
	if !ok {
		return nil, nil
	}
	result := []field{}
	for _, each := range structure.Fields.List {
		tag, options := jsonTag(each)
		switch {
		case len(each.Names) > 0 && tag != "" && tag != "-":
			result = append(result, field{
				name:     tag,
				text:     words(each.Doc),
				required: !strings.HasPrefix(options, "omit"),
				is:       named(n.folder, d, each.Type),
				of:       shape(each.Type),
			})
		case len(each.Names) == 0:
			inner, err := s.fields(named(n.folder, d, each.Type))
			if err != nil {
				return nil, err
			}
			result = append(result, inner...)
		}
	}
	return result, nil
}

func jsonTag(f *ast.Field) (name, options string) {
	if f.Tag == nil {
		return "", ""
	}
	text, _ := strconv.Unquote(f.Tag.Value)
	name, options, _ = strings.Cut(reflect.StructTag(text).Get("json"), ",")
	return name, options
}

// named returns the type that an expression names; its folder is empty for a predeclared type.
func named(folder string, d *declaration, expression ast.Expr) name {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return named(folder, d, e.X)
	case *ast.ArrayType:
		return named(folder, d, e.Elt)
	case *ast.MapType:
		return named(folder, d, e.Value)
	case *ast.SelectorExpr:
		return name{folder: d.imports[e.X.(*ast.Ident).Name], local: e.Sel.Name}
	case *ast.Ident:
		if ast.IsExported(e.Name) {
			return name{folder: folder, local: e.Name}
		}
		return name{local: e.Name}
	}
	return name{}
}

func shape(expression ast.Expr) string {
	switch expression.(type) {
	case *ast.ArrayType:
		return "list of "
	case *ast.MapType:
		return "map of "
	}
	return ""
}
