// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed style.css
var style []byte

//go:embed page.html
var layout string

var pageTemplate = template.Must(template.New("page").Parse(layout))

// mark is a file in every folder that this program has written. It removes no other folder.
const mark = ".made-by-make-docs"

// site contains all pages, by their sources, and the pictures in them.
type site struct {
	tree     fs.FS
	sections []section
	pages    map[string]*page
	pictures map[string]bool
}

// build writes the site of a tree into a folder, and returns how many pages it has.
func build(root, out string) (int, error) {
	s := &site{tree: os.DirFS(root), pages: map[string]*page{}, pictures: map[string]bool{}}
	if err := s.render(); err != nil {
		return 0, err
	}
	if err := s.check(); err != nil {
		return 0, err
	}
	if err := empty(out); err != nil {
		return 0, err
	}
	return len(s.pages), s.write(out)
}

// render renders all pages: those that people have written, and the files that they link to.
func (s *site) render() error {
	var err error
	if s.sections, err = sections(s.tree); err != nil {
		return err
	}
	queue, err := written(s.tree)
	if err != nil {
		return err
	}
	var problems []error
	for len(queue) > 0 {
		source := queue[0]
		queue = queue[1:]
		if s.pages[source] != nil || s.pictures[source] {
			continue
		}
		if isPicture(source) {
			s.pictures[source] = true
			continue
		}
		made, err := s.renderOne(source)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.pages[source] = made
		for _, l := range made.links {
			queue = append(queue, l.source)
		}
	}
	return errors.Join(problems...)
}

func (s *site) renderOne(source string) (*page, error) {
	if strings.HasSuffix(source, ".md") {
		return renderMarkdown(s.tree, source)
	}
	return renderFile(s.tree, source)
}

// check finds anchors that lead nowhere, pages that nothing links to, and two pages with the same title or address.
func (s *site) check() error {
	var problems []error
	titles, addresses := map[string]string{}, map[string]string{}
	for _, source := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[source]
		for _, l := range p.links {
			if there := s.pages[l.source]; l.anchor != "" && there != nil && !slices.Contains(there.ids, l.anchor) {
				problems = append(problems, fmt.Errorf("%s: link %s leads to a heading that %s does not have", source, l.written, l.source))
			}
		}
		title := s.fullTitle(p)
		if other := titles[title]; other != "" {
			problems = append(problems, fmt.Errorf("%s and %s have the same title: %s", source, other, p.title))
		}
		if other := addresses[p.address]; other != "" {
			problems = append(problems, fmt.Errorf("%s and %s become the same page: %s", source, other, p.address))
		}
		titles[title], addresses[p.address] = source, source
	}
	return errors.Join(append(problems, s.unreachable()...)...)
}

// fullTitle returns the title of a page in the browser: its title, its section, and the name of the site.
func (s *site) fullTitle(p *page) string {
	if p.source == start[0] {
		return p.title
	}
	if kind := s.kind(p); kind != "" {
		return p.title + " · " + kind + " · Espalier"
	}
	return p.title + " · Espalier"
}

// kind returns the section of a page, or its folder.
func (s *site) kind(p *page) string {
	for _, each := range s.sections {
		for _, e := range each.entries {
			if s.pageOf(e) == p || strings.HasPrefix(p.source, e.source+"/") {
				return each.title
			}
		}
	}
	return ""
}

// unreachable returns the pages that cannot be reached by links from the first. The navigation is on every page.
func (s *site) unreachable() []error {
	reached := map[string]bool{}
	queue := []string{start[0], contents}
	for _, each := range s.sections {
		for _, e := range each.entries {
			if there := s.pageOf(e); there != nil {
				queue = append(queue, there.source)
			}
		}
	}
	for len(queue) > 0 {
		source := queue[0]
		queue = queue[1:]
		if reached[source] || s.pages[source] == nil {
			continue
		}
		reached[source] = true
		for _, l := range s.pages[source].links {
			queue = append(queue, l.source)
		}
	}
	var problems []error
	for _, source := range slices.Sorted(maps.Keys(s.pages)) {
		if !reached[source] {
			problems = append(problems, fmt.Errorf("nothing links to %s: add it to %s", source, contents))
		}
	}
	return problems
}

// empty ensures that a folder is empty. It removes only what an earlier run has written.
func empty(out string) error {
	if out == "" {
		return errors.New("name the folder to write")
	}
	entries, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, mark)); err != nil {
		return fmt.Errorf("%s has files that this program did not write: name another folder, or remove them", out)
	}
	return os.RemoveAll(out)
}

// item is a link of the navigation.
type item struct {
	Title, Address string
	Current        bool
}

// view is the input of the template.
type view struct {
	Title, Kind, Summary, Root string
	Sections                   []struct {
		Title string
		Items []item
	}
	Headings []heading
	Body     template.HTML
}

func (s *site) write(out string) error {
	files := map[string][]byte{mark: nil, "style.css": style, "llms.txt": []byte(s.index())}
	for _, p := range s.pages {
		var page bytes.Buffer
		if err := pageTemplate.Execute(&page, s.view(p)); err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		files[p.address] = page.Bytes()
		for name, drawing := range p.drawings {
			files[name] = []byte(drawing)
		}
	}
	for _, source := range slices.Concat(slices.Collect(maps.Keys(s.pictures)), s.markdown()) {
		content, err := fs.ReadFile(s.tree, source)
		if err != nil {
			return err
		}
		files[source] = content
	}
	for name, content := range files {
		place := filepath.Join(out, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, content, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// markdown returns the pages whose source is Markdown, which programs read more easily.
func (s *site) markdown() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.pages)), func(source string) bool { return !strings.HasSuffix(source, ".md") })
}

func (s *site) view(p *page) view {
	v := view{
		Title: s.fullTitle(p), Kind: s.kind(p), Summary: shortened(p.summary), Root: p.toAddress(""), Headings: p.headings,
		Body: template.HTML(p.body), // #nosec: generated from our own pages
	}
	if len(v.Headings) < 3 {
		v.Headings = nil
	}
	for _, each := range s.sections {
		shown := struct {
			Title string
			Items []item
		}{Title: each.title}
		for _, e := range each.entries {
			there := s.pageOf(e)
			if there == nil {
				continue
			}
			shown.Items = append(shown.Items, item{Title: there.title, Address: p.toAddress(there.address), Current: there == p})
		}
		v.Sections = append(v.Sections, shown)
	}
	return v
}

// pageOf returns the page of an entry of the navigation.
func (s *site) pageOf(e entry) *page {
	if to, err := target(s.tree, "README.md", e.source); err == nil {
		return s.pages[to]
	}
	return nil
}

// index returns a list of all pages for programs that read text, in the format of llms.txt.
func (s *site) index() string {
	var text strings.Builder
	home := s.pages[start[0]]
	fmt.Fprintf(&text, "# %s\n\n> %s\n", home.title, home.summary)
	listed := map[*page]bool{home: true}
	for _, each := range s.sections {
		fmt.Fprintf(&text, "\n## %s\n\n", each.title)
		for _, e := range each.entries {
			if there := s.pageOf(e); there != nil && !listed[there] {
				listed[there] = true
				fmt.Fprintf(&text, "- [%s](%s): %s\n", there.title, forPrograms(there), e.text)
			}
		}
	}
	text.WriteString("\n## More\n\n")
	for _, source := range s.markdown() {
		if there := s.pages[source]; !listed[there] {
			fmt.Fprintf(&text, "- [%s](%s): %s\n", there.title, forPrograms(there), shortened(there.summary))
		}
	}
	return text.String()
}

func forPrograms(p *page) string {
	if strings.HasSuffix(p.source, ".md") {
		return p.source
	}
	return p.address
}

// longest is the maximum length of a page's summary.
const longest = 160

// shortened returns the start of a text, up to a word.
func shortened(text string) string {
	if len(text) <= longest {
		return text
	}
	begin := text[:longest]
	return begin[:strings.LastIndex(begin, " ")] + " …"
}
