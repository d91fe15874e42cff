// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxTextSize separates text that people write from data.
const maxTextSize = 4 << 20

// Tree is the work tree as the rules see it.
type Tree struct {
	Files     []*File
	positions *token.FileSet
}

// File is one text file of the work tree.
type File struct {
	// Path is slash-separated and relative to the root of the tree.
	Path string
	Text []byte
	// Go is the syntax of a Go file, nil for other files and for Go files in testdata folders.
	Go *ast.File
}

// Dir returns the folder of the file.
func (f *File) Dir() string { return path.Dir(f.Path) }

// IsTest reports whether the file is compiled for tests only.
func (f *File) IsTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// IsGenerated reports whether the file has Go's mark of generated code.
func (f *File) IsGenerated() bool { return f.Go != nil && ast.IsGenerated(f.Go) }

// Load reads and parses every text file below root. It omits folders that contain nothing written by hand.
func Load(root fs.FS) (*Tree, error) {
	tree := &Tree{positions: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(name)
		}
		if !entry.Type().IsRegular() || name == ".git" { // a linked work tree has a file of that name
			return nil
		}
		return tree.add(root, name, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("read the work tree: %w", err)
	}
	return tree, nil
}

func skipFolder(name string) error {
	base := path.Base(name)
	hidden := strings.HasPrefix(base, ".") && name != "." && base != ".ci" && base != ".github"
	if hidden || name == "site" || slices.Contains([]string{"bin", "dist", "node_modules"}, base) {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) add(root fs.FS, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if info.Size() > maxTextSize {
		return nil
	}
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	file := &File{Path: name, Text: text}
	if strings.HasSuffix(name, ".go") && !inTestdata(name) {
		if file.Go, err = parser.ParseFile(t.positions, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	t.Files = append(t.Files, file)
	return nil
}

func inTestdata(name string) bool {
	return slices.Contains(strings.Split(path.Dir(name), "/"), "testdata")
}

// Line returns the line of a position in its file.
func (t *Tree) Line(pos token.Pos) int { return t.positions.Position(pos).Line }

// goFiles returns the Go files for which keep is true.
func (t *Tree) goFiles(keep func(*File) bool) []*File {
	var files []*File
	for _, file := range t.Files {
		if file.Go != nil && keep(file) {
			files = append(files, file)
		}
	}
	return files
}

func production(f *File) bool { return !f.IsTest() && !f.IsGenerated() }

func everyFile(*File) bool { return true }

// importPath returns the path of an import as the compiler sees it.
func importPath(spec *ast.ImportSpec) string {
	value, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return value
}

// importedAs returns the path of the package with the given name in a file, or nothing. It guesses the name of an import without alias from
// its path, as readers do.
func importedAs(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		imported := importPath(spec)
		if spec.Name != nil && spec.Name.Name == name {
			return imported
		}
		if spec.Name == nil && path.Base(imported) == name {
			return imported
		}
	}
	return ""
}

// within reports whether a folder or import path is base or below it.
func within(name, base string) bool {
	return name == base || base == "." || strings.HasPrefix(name, base+"/")
}

func withinAny(name string, bases []string) bool {
	return slices.ContainsFunc(bases, func(base string) bool { return within(name, base) })
}
