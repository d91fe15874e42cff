// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	attribute = regexp.MustCompile(`\b(href|src|srcset)="([^"]*)"`)
	pageTitle = regexp.MustCompile(`<title>([^<]+)</title>`)
	topTitle  = regexp.MustCompile(`<h1[ >]`)
)

// read returns all files of a site, by path.
func read(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The documentation becomes a site: every page has its own title and can be reached by links from the first, every link and every anchor
// leads somewhere, and no page loads anything from elsewhere.
func TestTheDocumentationBecomesASite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	count, err := build(filepath.Join("..", ".."), out)
	if err != nil {
		t.Fatal(err)
	}
	files := read(t, out)
	reached, titles, pages := map[string]bool{}, map[string]string{}, 0
	queue := []string{"index.html"}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if reached[name] {
			continue
		}
		reached[name] = true
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		pages++
		text := files[name]
		title := pageTitle.FindStringSubmatch(text)
		if title == nil || titles[title[1]] != "" || len(topTitle.FindAllString(text, -1)) != 1 {
			t.Errorf("%s has the title %v, as %s has, or not exactly one heading at the top", name, title, titles[title[1]])
		}
		titles[title[1]] = name
		queue = append(queue, follow(t, files, name)...)
	}
	for name := range files {
		if !reached[name] && path.Ext(name) == ".html" {
			t.Errorf("no link leads to %s", name)
		}
	}
	if pages != count || count < 50 {
		t.Errorf("%d pages were written, %d were reached", count, pages)
	}
	for _, wanted := range []string{"docs/tutorial.html", "docs/reference/errors.html", "docs/images/ui-overview.png", "examples/hello/index.html", "LICENSE.html"} {
		if !reached[wanted] {
			t.Errorf("%s was not reached", wanted)
		}
	}
	if strings.Contains(files["style.css"], "url(") || strings.Contains(files["style.css"], "@import") {
		t.Error("the stylesheet loads something")
	}
	checkIndex(t, files)
}

// follow returns the targets of a page's links, and reports those that lead nowhere.
func follow(t *testing.T, files map[string]string, page string) []string {
	t.Helper()
	var found []string
	for _, match := range attribute.FindAllStringSubmatch(files[page], -1) {
		written := html.UnescapeString(match[2])
		if strings.Contains(written, "://") {
			if match[1] != "href" {
				t.Errorf("%s loads %s", page, written)
			}
			continue
		}
		name, anchor, _ := strings.Cut(written, "#")
		to := page
		if name != "" {
			to = path.Join(path.Dir(page), name)
		}
		text, exists := files[to]
		if !exists {
			t.Errorf("%s: link %s leads nowhere", page, written)
			continue
		}
		if anchor != "" && !strings.Contains(text, ` id="`+anchor+`"`) {
			t.Errorf("%s: link %s leads to no place of the page", page, written)
		}
		found = append(found, to)
	}
	return found
}

// checkIndex checks llms.txt: it lists every page that people have written, and all pages that it lists exist.
func checkIndex(t *testing.T, files map[string]string) {
	t.Helper()
	listed := map[string]bool{"README.md": true}
	for _, match := range linkInText.FindAllStringSubmatch(files["llms.txt"], -1) {
		if _, exists := files[match[2]]; !exists {
			t.Errorf("llms.txt lists %s, which does not exist", match[2])
		}
		listed[match[2]] = true
	}
	sources, err := written(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if !listed[source] {
			t.Errorf("llms.txt does not list %s", source)
		}
	}
	if !strings.HasPrefix(files["llms.txt"], "# Espalier\n\n> ") {
		t.Errorf("llms.txt begins with %.80s", files["llms.txt"])
	}
}

// small returns the smallest tree that becomes a site.
func small(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	for name, text := range map[string]string{
		"README.md":           "# Home\n\nIt is [documented](docs/README.md). See [changes](CHANGELOG.md), [rules](CONTRIBUTING.md), [secrets](SECURITY.md).\n",
		"CHANGELOG.md":        "# Changes\n",
		"CONTRIBUTING.md":     "# Rules\n",
		"SECURITY.md":         "# Secrets\n",
		"docs/README.md":      "# Contents\n\n## Start\n\n| | |\n|---|---|\n| [one](one.md) | the first |\n| All [others](deep) | |\n",
		"docs/one.md":         "# One\n\n## A `b` [c](two.md): d_e?\n\n## Again\n\n## Again\n\n[up](#a-b-c-d_e) [down](two.md#x) [2nd](#again-1) [code](../main.go)\n",
		"docs/two.md":         "# Two & three\n\n<b>x</b> ![picture](p.png)\n\n## X\n\n```mermaid\na --> b\n```\n\n```mermaid\nflowchart LR\n  a --> b\n```\n\n| a | |\n|---|---|\n| `<i>` | 1 |\n",
		"docs/p.png":          "picture",
		"docs/deep/README.md": "# Deep\n\n[home](../../README.md) [list](list)\n",
		"docs/deep/list/a.md": "# A\n\n[elsewhere](https://example.com)\n",
		"docs/deep/list/b.go": "package <b>\n",
		"main.go":             "package main\n",
	} {
		put(t, tree, name, text)
	}
	return tree
}

func put(t *testing.T, tree, name, text string) {
	t.Helper()
	place := filepath.Join(tree, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestAPageShowsWhatItsSourceSays(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if _, err := build(small(t), out); err != nil {
		t.Fatal(err)
	}
	files := read(t, out)
	for name, wanted := range map[string][]string{
		"index.html": {"<title>Home</title>", `href="docs/index.html"`, `href="style.css"`},
		"docs/one.html": {
			"<title>One · Start · Espalier</title>", `<h2 id="a-b-c-d_e">`, `id="again"`, `id="again-1"`, `href="../docs/two.html#x"`, `href="../main.go.html"`,
			`aria-current="page"`, `<p class="kind">Start</p>`, `<li><a href="#again">Again</a></li>`,
		},
		"docs/two.html": {
			"<title>Two &amp; three · Espalier</title>", "<b>x</b>", `src="../docs/p.png"`, "a --&gt; b", `aria-label="Diagram`, `src="two-diagram-1.svg"`, "from a to b", "<td></td>",
			"&lt;i&gt;", `tabindex="0"><table>`,
		},
		"docs/deep/index.html":      {`href="../../index.html"`, `href="../../docs/deep/list/index.html"`},
		"docs/deep/list/index.html": {`href="../../../docs/deep/list/a.html"`, `href="../../../docs/deep/list/b.go.html"`},
		"docs/deep/list/b.go.html":  {"package &lt;b&gt;"},
		"docs/deep/list/a.html":     {`href="https://example.com"`},
		"docs/p.png":                {"picture"},
		"docs/two-diagram-1.svg":    {"<svg ", "From a to b"},
		"llms.txt":                  {"# Home\n\n> It is documented.", "- [One](docs/one.md): the first\n", "- [A](docs/deep/list/a.md)"},
	} {
		for _, each := range wanted {
			if !strings.Contains(files[name], each) {
				t.Errorf("%s lacks %s:\n%s", name, each, files[name])
			}
		}
	}
}

func TestDiagramsAreRead(t *testing.T) {
	for text, wanted := range map[string]string{
		"flowchart LR\n    I[\"Installation<br/>what\"] -- renders its --> B[\"Blueprint\"]\n    B --> T([\"t\"])": "Diagram: from Installation what to Blueprint: " +
			"renders its; from Blueprint to t.",
		"flowchart TD\n dev -- healthy for 15 min --> staging -- approved --> production": "Diagram: from dev to staging: healthy for 15 min; " +
			"from staging to production: approved.",
		"flowchart LR\n V --> W\n subgraph shop\n  D[\"database\"] --> W[\"web\"]\n  M\n end\n W --> S": "Diagram: from V to web; " +
			"from database to web; from web to S.",
		"stateDiagram-v2\n    direction LR\n    [*] --> Init: new job\n    Init --> [*]": "Diagram: from start to Init: new job; from Init to end.",
		"stateDiagram-v2\n A --> PendingDependencies":                                    "Diagram: from A to Pending Dependencies.",
	} {
		graph, understood := readMermaid(text, "")
		if got := inWords(graph); !understood || got != wanted {
			t.Errorf("%s\ngives %v: %s", text, understood, got)
		}
	}
	inGroup, _ := readMermaid("flowchart LR\n V --> W\n subgraph shop\n  D --> W\n end\n W --> S", "")
	for _, n := range inGroup.Nodes {
		if wanted := n.ID == "W" || n.ID == "D"; wanted != (n.Parent == "shop") {
			t.Errorf("%s lies in %q", n.ID, n.Parent)
		}
	}
	for _, strange := range []string{
		"", "pie title x", "flowchart LR\n a ==> b", "flowchart LR\n a --> b{c}", "flowchart LR\n subgraph x\n a", "flowchart LR\n end", "flowchart LR",
		"stateDiagram-v2\n state a {", "flowchart LR\n a -->",
	} {
		if graph, understood := readMermaid(strange, ""); understood {
			t.Errorf("%q becomes %v", strange, graph)
		}
	}
}

func TestMistakesInPagesAreFound(t *testing.T) {
	mistakes := map[string]struct{ name, text, complaint string }{
		"a link to nothing":           {"docs/one.md", "# One\n\n[x](nothing.md)\n", "docs/one.md: link nothing.md leads to nothing"},
		"an anchor that is none":      {"docs/one.md", "# One\n\n[x](two.md#y)\n", "docs/one.md: link two.md#y leads to a heading that docs/two.md does not have"},
		"an anchor of its own":        {"docs/one.md", "# One\n\n[x](#y) [two](two.md)\n", "link #y leads to a heading"},
		"a picture that is missing":   {"docs/two.md", "# Two\n\n![p](q.png)\n\n## X\n", "docs/two.md: link q.png leads to nothing"},
		"a picture in markup":         {"README.md", "# Home\n\n<img src=\"q.png\">\n", "README.md: picture q.png leads to nothing"},
		"a way out of the tree":       {"docs/one.md", "# One\n\n[x](../../../etc/passwd)\n", "leads out of the tree"},
		"a page without a link to it": {"docs/three.md", "# Three\n", "nothing links to docs/three.md"},
		"a page without a title":      {"docs/two.md", "## X\n", "docs/two.md has no title"},
		"two pages with one title":    {"docs/two.md", "# Rules\n\n## X\n", "have the same title: Rules"},
		"contents without a section":  {"docs/README.md", "# Contents\n", "has no sections"},
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			tree, out := small(t), filepath.Join(t.TempDir(), "out")
			put(t, tree, mistake.name, mistake.text)
			if _, err := build(tree, out); err == nil || !strings.Contains(err.Error(), mistake.complaint) {
				t.Errorf("got: %v", err)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written in spite of the mistake")
			}
		})
	}
}

// A second run replaces the first completely; other folders are left alone.
func TestOnlyAnEarlierSiteIsReplaced(t *testing.T) {
	tree, out := small(t), filepath.Join(t.TempDir(), "out")
	for range 2 {
		if _, err := build(tree, out); err != nil {
			t.Fatal(err)
		}
		put(t, out, "docs/old.html", "old")
	}
	if _, err := build(tree, out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "docs", "old.html")); err == nil {
		t.Error("a page of the earlier run is still there")
	}
	if _, err := build(tree, ""); err == nil {
		t.Error("a site was written to nowhere")
	}
	mine := t.TempDir()
	put(t, mine, "letter.txt", "dear reader")
	if _, err := build(tree, mine); err == nil || !strings.Contains(err.Error(), "did not write") {
		t.Errorf("got: %v", err)
	}
	if len(read(t, mine)) != 1 {
		t.Error("a folder of somebody else was changed")
	}
}
