// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package typescript writes the types of documents that Go sends as JSON in TypeScript, so that the compiler notices when pages and server
// disagree about them. It reads the source, because the pages need the comments, too.
package typescript

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
)

// Convert translates the types of a Go file. Structs become interfaces, and string types with constants become unions of these. A field
// without a JSON name, or of a type without a counterpart, is an error: the file is a contract, and no part of it may get lost.
func Convert(name string, source []byte) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	if err != nil {
		return "", fmt.Errorf("read the types of %s: %w", name, err)
	}
	c := converter{known: map[string]bool{}, constants: map[string][]string{}}
	for _, declaration := range file.Decls {
		if err := c.learn(declaration); err != nil {
			return "", fmt.Errorf("read the constants of %s: %w", name, err)
		}
	}
	for _, declaration := range file.Decls {
		if err := c.declare(declaration); err != nil {
			return "", fmt.Errorf("translate the types of %s: %w", name, err)
		}
	}
	return c.out.String(), nil
}

type converter struct {
	out strings.Builder
	// known are the names of all types of the file, constants the values of those that are strings.
	known     map[string]bool
	constants map[string][]string
}

// learn records names, which may be used before they are declared.
func (c *converter) learn(declaration ast.Decl) error {
	general, ok := declaration.(*ast.GenDecl)
	if !ok {
		return nil
	}
	for _, spec := range general.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			c.known[s.Name.Name] = true
		case *ast.ValueSpec:
			if err := c.learnConstant(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *converter) learnConstant(spec *ast.ValueSpec) error {
	kind, ok := spec.Type.(*ast.Ident)
	if !ok {
		return nil
	}
	for _, value := range spec.Values {
		literal, ok := value.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return fmt.Errorf("%s is no text: give it one", spec.Names[0].Name)
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", spec.Names[0].Name, err)
		}
		c.constants[kind.Name] = append(c.constants[kind.Name], strconv.Quote(text))
	}
	return nil
}

func (c *converter) declare(declaration ast.Decl) error {
	general, ok := declaration.(*ast.GenDecl)
	if !ok || general.Tok != token.TYPE {
		return nil
	}
	for _, spec := range general.Specs {
		typed, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		c.out.WriteString("\n")
		c.comment("", general.Doc, typed.Doc, typed.Comment)
		if err := c.declareType(typed); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) declareType(spec *ast.TypeSpec) error {
	name := spec.Name.Name
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		if len(c.constants[name]) == 0 {
			return fmt.Errorf("%s is neither a struct nor a text with constants: make it one of these", name)
		}
		fmt.Fprintf(&c.out, "export type %s =\n  | %s;\n", name, strings.Join(c.constants[name], "\n  | "))
		return nil
	}
	fmt.Fprintf(&c.out, "export interface %s {\n", name)
	for _, field := range structure.Fields.List {
		if err := c.field(name, field); err != nil {
			return err
		}
	}
	c.out.WriteString("}\n")
	return nil
}

func (c *converter) field(owner string, field *ast.Field) error {
	if len(field.Names) != 1 || field.Tag == nil {
		return fmt.Errorf("%s has a field without a JSON name: give each field a tag", owner)
	}
	where := owner + "." + field.Names[0].Name
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	if name == "" || name == "-" {
		return fmt.Errorf("%s has no name in JSON: give it one", where)
	}
	kind, err := c.typeOf(field.Type)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if _, pointer := field.Type.(*ast.StarExpr); pointer && options != "omitempty" {
		kind += " | null"
	}
	if options == "omitempty" {
		name += "?"
	}
	c.comment("  ", field.Doc, field.Comment)
	fmt.Fprintf(&c.out, "  %s: %s;\n", name, kind)
	return nil
}

// basics are the types that have another name in TypeScript.
var basics = map[string]string{"string": "string", "bool": "boolean", "int": "number", "int32": "number", "int64": "number"}

func (c *converter) typeOf(expression ast.Expr) (string, error) {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return c.typeOf(e.X)
	case *ast.ArrayType:
		element, err := c.typeOf(e.Elt)
		return element + "[]", err
	case *ast.SelectorExpr:
		if pack, ok := e.X.(*ast.Ident); ok && pack.Name == "time" && e.Sel.Name == "Time" {
			return "Time", nil
		}
	case *ast.Ident:
		if basic := basics[e.Name]; basic != "" {
			return basic, nil
		}
		if c.known[e.Name] {
			return e.Name, nil
		}
	}
	return "", fmt.Errorf("its type has no counterpart in TypeScript: use texts, numbers, booleans, times, types of this file, and lists of these")
}

// comment writes comments of the source as JSDoc.
func (c *converter) comment(indent string, groups ...*ast.CommentGroup) {
	var lines []string
	for _, group := range groups {
		text := strings.TrimSpace(strings.ReplaceAll(group.Text(), "*/", "* /"))
		if text != "" {
			lines = append(lines, strings.Split(text, "\n")...)
		}
	}
	switch len(lines) {
	case 0:
	case 1:
		fmt.Fprintf(&c.out, "%s/** %s */\n", indent, lines[0])
	default:
		fmt.Fprintf(&c.out, "%s/**\n", indent)
		for _, line := range lines {
			c.out.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
		}
		fmt.Fprintf(&c.out, "%s */\n", indent)
	}
}
