// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// start are the pages that the site always contains.
var start = []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}

const contents = "docs/README.md"

// written returns all pages that people have written, by their paths in the tree.
func written(tree fs.FS) ([]string, error) {
	pages := slices.Clone(start)
	err := fs.WalkDir(tree, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".md") {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	examples, err := fs.Glob(tree, "examples/*/README.md")
	return append(pages, examples...), err
}

// address returns the path of a file's or folder's page in the site.
func address(tree fs.FS, name string) (string, error) {
	info, err := fs.Stat(tree, name)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return path.Join(name, "index.html"), nil
	case path.Base(name) == "README.md":
		return path.Join(path.Dir(name), "index.html"), nil
	case isPicture(name):
		return name, nil
	case strings.HasSuffix(name, ".md"):
		return strings.TrimSuffix(name, ".md") + ".html", nil
	}
	return name + ".html", nil
}

func isPicture(name string) bool {
	return slices.Contains([]string{".png", ".svg", ".jpg", ".webp"}, path.Ext(name))
}

// section is a group of pages in the navigation.
type section struct {
	title   string
	entries []entry
}

// entry is a page in the navigation.
type entry struct {
	// source is the path of the page in the tree.
	source string
	// text is the description in the contents.
	text string
}

var (
	sectionTitle = regexp.MustCompile(`^## (.+)$`)
	linkInText   = regexp.MustCompile(`\[([^\]]*)\]\(([^)#\s]+)\)`)
)

// sections reads the navigation from the page with the contents: each heading is a section, and each row of its table has links to pages,
// with their description in the other cell.
func sections(tree fs.FS) ([]section, error) {
	text, err := fs.ReadFile(tree, contents)
	if err != nil {
		return nil, err
	}
	var all []section
	for line := range strings.SplitSeq(string(text), "\n") {
		if match := sectionTitle.FindStringSubmatch(line); match != nil {
			all = append(all, section{title: match[1]})
			continue
		}
		if len(all) == 0 || !strings.HasPrefix(line, "|") {
			continue
		}
		last := &all[len(all)-1]
		last.entries = append(last.entries, row(line)...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no sections", contents)
	}
	return all, nil
}

func row(line string) []entry {
	var entries []entry
	text := ""
	for cell := range strings.SplitSeq(strings.Trim(line, "| "), " | ") {
		if !linkInText.MatchString(cell) {
			text = strings.TrimSpace(cell)
		}
	}
	for _, link := range linkInText.FindAllStringSubmatch(line, -1) {
		if !strings.Contains(link[2], "://") {
			entries = append(entries, entry{source: path.Join(path.Dir(contents), link[2]), text: text})
		}
	}
	return entries
}

// target returns the file or folder that a link of a page leads to. The README of a folder stands for the folder.
func target(tree fs.FS, page, link string) (string, error) {
	name := path.Join(path.Dir(page), link)
	if strings.HasPrefix(name, "../") || name == ".." || path.IsAbs(link) {
		return "", errors.New("leads out of the tree")
	}
	info, err := fs.Stat(tree, name)
	if err != nil {
		return "", errors.New("leads to nothing")
	}
	if !info.IsDir() {
		return name, nil
	}
	if readme := path.Join(name, "README.md"); exists(tree, readme) {
		return readme, nil
	}
	return name, nil
}

func exists(tree fs.FS, name string) bool {
	_, err := fs.Stat(tree, name)
	return err == nil
}
