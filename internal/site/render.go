// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	markup "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"espalier.dev/internal/diagram"
)

// page is a page of the site.
type page struct {
	// source is its path in the tree, and address its path in the site.
	source, address string
	title, summary  string
	body            string
	headings        []heading
	ids             []string
	links           []link
	// drawings are the diagrams of the page, by their addresses.
	drawings map[string]string
}

type heading struct{ ID, Text string }

// link is a link of a page to another file of the tree.
type link struct {
	// written is the link as written in the source.
	written string
	// source is its target, and anchor the optional anchor.
	source, anchor string
}

var language = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(markup.WithUnsafe()), // All of it is written by us.
)

// renderMarkdown renders a text in Markdown to a page.
func renderMarkdown(tree fs.FS, source string) (*page, error) {
	content, err := fs.ReadFile(tree, source)
	if err != nil {
		return nil, err
	}
	p := &page{source: source}
	if p.address, err = address(tree, source); err != nil {
		return nil, err
	}
	ids := &anchors{used: map[string]int{}}
	document := language.Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	err = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, p.visit(tree, node, content)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var body bytes.Buffer
	if err := language.Renderer().Render(&body, content, document); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	p.body, p.ids = accessible(p.draw(body.String())), ids.all
	if err := p.embedded(tree); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if p.title == "" {
		return nil, fmt.Errorf("%s has no title: begin it with # and a title", source)
	}
	return p, nil
}

// visit records titles and links, and rewrites links to the addresses in the site.
func (p *page) visit(tree fs.FS, node ast.Node, content []byte) error {
	switch node := node.(type) {
	case *ast.Heading:
		p.heading(node, content)
	case *ast.Paragraph:
		if p.summary == "" && p.title != "" {
			p.summary = strings.Join(strings.Fields(plain(node, content)), " ")
		}
	case *ast.Link:
		destination, err := p.follow(tree, string(node.Destination))
		node.Destination = []byte(destination)
		return err
	case *ast.Image:
		destination, err := p.follow(tree, string(node.Destination))
		node.Destination = []byte(destination)
		return err
	}
	return nil
}

func (p *page) heading(node *ast.Heading, content []byte) {
	words := plain(node, content)
	switch id, _ := node.AttributeString("id"); {
	case node.Level == 1 && p.title == "":
		p.title = words
	case node.Level == 2:
		p.headings = append(p.headings, heading{ID: fmt.Sprintf("%s", id), Text: words})
	}
}

// follow returns the address of a link's target, relative to the page.
func (p *page) follow(tree fs.FS, written string) (string, error) {
	parsed, err := url.Parse(written)
	if err != nil {
		return "", fmt.Errorf("link %s: %w", written, err)
	}
	if parsed.Scheme != "" || parsed.Host != "" {
		return written, nil
	}
	to := p.source
	if parsed.Path != "" {
		if to, err = target(tree, p.source, parsed.Path); err != nil {
			return "", fmt.Errorf("link %s %w", written, err)
		}
	}
	p.links = append(p.links, link{written: written, source: to, anchor: parsed.Fragment})
	if parsed.Path == "" {
		return written, nil
	}
	there, err := address(tree, to)
	if err != nil {
		return "", err
	}
	if parsed.Fragment != "" {
		there += "#" + parsed.Fragment
	}
	return p.toAddress(there), nil
}

// toAddress returns an address of the site, relative to the page.
func (p *page) toAddress(to string) string {
	return strings.Repeat("../", strings.Count(p.address, "/")) + to
}

// plain returns the text of a node without its markup.
func plain(node ast.Node, content []byte) string {
	var words strings.Builder
	_ = ast.Walk(node, func(inner ast.Node, entering bool) (ast.WalkStatus, error) {
		if segment, ok := inner.(*ast.Text); ok && entering {
			words.Write(segment.Segment.Value(content))
			if segment.SoftLineBreak() {
				words.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return html.UnescapeString(words.String())
}

var inMarkup = regexp.MustCompile(`(?:src|srcset|href)="([^"]+)"`)

// embedded records the pictures in raw markup. Their paths are right, because the site has the same folders.
func (p *page) embedded(tree fs.FS) error {
	for _, match := range inMarkup.FindAllStringSubmatch(p.body, -1) {
		drawn := p.drawings[path.Join(path.Dir(p.address), match[1])] != ""
		if drawn || !isPicture(match[1]) || strings.Contains(match[1], "://") {
			continue
		}
		to, err := target(tree, p.address, match[1])
		if err != nil {
			return fmt.Errorf("picture %s %w", match[1], err)
		}
		if !slices.ContainsFunc(p.links, func(known link) bool { return known.source == to }) {
			p.links = append(p.links, link{written: match[1], source: to})
		}
	}
	return nil
}

var diagramBlock = regexp.MustCompile(`(?s)<pre><code class="language-mermaid">(.*?)</code></pre>`)

// draw replaces diagrams by pictures, with their text below. A diagram that cannot be parsed stays text.
func (p *page) draw(body string) string {
	p.drawings = map[string]string{}
	return diagramBlock.ReplaceAllStringFunc(body, func(block string) string {
		source := html.UnescapeString(diagramBlock.FindStringSubmatch(block)[1])
		graph, understood := readMermaid(source, "Diagram of "+p.title)
		if !understood {
			return block
		}
		there := fmt.Sprintf("%s-diagram-%d.svg", strings.TrimSuffix(p.address, ".html"), len(p.drawings)+1)
		drawing := graph.Layout()
		p.drawings[there] = drawing.SVG()
		return fmt.Sprintf(
			`<div class="wide drawing" role="region" aria-label="Diagram" tabindex="0"><img src=%q width="%d" height="%d" alt=%q></div>`+
				"\n<details class=\"source\"><summary>The diagram as text</summary>\n%s</details>",
			path.Base(there), drawing.Width, drawing.Height, html.EscapeString(inWords(graph)), block)
	})
}

// inWords describes a diagram in words.
func inWords(g diagram.Graph) string {
	titles := map[string]string{}
	for _, n := range g.Nodes {
		titles[n.ID] = strings.TrimSpace(n.Title + " " + n.Detail)
	}
	var sentences []string
	for _, e := range g.Edges {
		text := "from " + titles[e.From] + " to " + titles[e.To]
		if e.Label != "" {
			text += ": " + e.Label
		}
		sentences = append(sentences, text)
	}
	return "Diagram: " + strings.Join(sentences, "; ") + "."
}

// accessible makes wide tables and code scrollable with keys, and labels diagrams: they stay readable text.
var accessible = strings.NewReplacer(
	"<table>", `<div class="wide" role="region" aria-label="Table" tabindex="0"><table>`,
	"</table>", "</table></div>",
	"<th></th>", "<td></td>",
	`<pre><code class="language-mermaid">`, `<pre tabindex="0" class="diagram" aria-label="Diagram in the language of Mermaid"><code>`,
	"<pre><code", `<pre tabindex="0"><code`,
).Replace

// anchors gives headings the IDs that GitHub gives them, so that links work in both places.
type anchors struct {
	used map[string]int
	all  []string
}

// Generate returns an ID that no earlier heading has.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := slug(string(value))
	if count := a.used[id]; count > 0 {
		a.used[id]++
		id += "-" + strconv.Itoa(count)
	}
	a.used[id]++
	a.all = append(a.all, id)
	return []byte(id)
}

// Put records an ID in the source.
func (a *anchors) Put(value []byte) { a.used[string(value)]++ }

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

func slug(title string) string {
	title = markdownLink.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}

// renderFile renders a page for a file other than Markdown, or for a folder without a README.
func renderFile(tree fs.FS, source string) (*page, error) {
	p := &page{source: source, title: source, summary: "A file of the source: " + source}
	there, err := address(tree, source)
	if err != nil {
		return nil, err
	}
	p.address = there
	if info, err := fs.Stat(tree, source); err != nil || !info.IsDir() {
		content, err := fs.ReadFile(tree, source)
		p.body = fmt.Sprintf("<h1>%s</h1>\n<pre tabindex=\"0\"><code>%s</code></pre>\n", html.EscapeString(source), html.EscapeString(string(content)))
		return p, err
	}
	return p, p.list(tree)
}

// list lists the content of a folder, without tests.
func (p *page) list(tree fs.FS) error {
	entries, err := fs.ReadDir(tree, p.source)
	if err != nil {
		return err
	}
	var rows strings.Builder
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") || e.Name() == "testdata" {
			continue
		}
		there, err := p.follow(tree, path.Join(path.Base(p.source), e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&rows, "<li><a href=%q>%s</a></li>\n", there, html.EscapeString(e.Name()))
	}
	p.summary = "A folder of the source: " + p.source
	p.body = fmt.Sprintf("<h1>%s</h1>\n<ul>\n%s</ul>\n", html.EscapeString(p.source), rows.String())
	return nil
}
