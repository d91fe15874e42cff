// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const blueprintHeading = `# Blueprints

Every field of ` + "`blueprint.yaml`" + `, and of the files with nested installations that it names. [Write a blueprint](../how-to/blueprints.md) shows
how to use them, [templates](../templates.md) what its templates can do. This page is generated from the API types:
` + "`go test ./internal/reference -update`" + `.

`

// blueprintExamples are the example blueprints that the page shows. A test runs them.
var blueprintExamples = []struct{ title, file string }{
	{"One deploy item", "examples/hello/hello.yaml"},
	{"Nested installations with data flow", "examples/shop/3-shop.yaml"},
}

// blueprintPage returns the page about blueprints.
func (p *program) blueprintPage() (string, error) {
	root := p.root
	w := &writer{source: &source{root: root, known: map[string]map[string]*declaration{}}, seen: map[name]bool{}}
	w.WriteString(blueprintHeading)
	w.WriteString("## Examples\n\n")
	for _, e := range blueprintExamples {
		text, err := blueprintIn(filepath.Join(root, filepath.FromSlash(e.file)))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(w, "### %s\n\nFrom `%s`:\n\n```yaml\n%s\n```\n\n", e.title, e.file, text)
	}
	w.WriteString("## Fields\n\n")
	files, err := blueprintFiles(root)
	if err != nil {
		return "", err
	}
	definitions := schema{}
	for _, file := range files {
		top := name{folder: blueprintFolder, local: file.kind}
		w.seen[top] = true
		w.queue = append(w.queue, top)
		definitions[file.kind] = file.content
		for local, content := range file.content["definitions"].(schema) {
			definitions[local] = content
		}
	}
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		if err := w.part(next); err != nil {
			return "", err
		}
		if content, ok := definitions[next.local].(schema); ok {
			w.WriteString(choices(content))
		}
	}
	return p.withValues(strings.TrimRight(w.String(), "\n")+"\n", blueprintFolder), nil
}

// choices describes which fields exclude each other, and of which at least one is required.
func choices(s schema) string {
	var text string
	for _, rule := range [][2]string{{"oneOf", "Set exactly one of "}, {"anyOf", "Set at least one of "}} {
		list, _ := s[rule[0]].([]any)
		var each []string
		for _, one := range list {
			needed, _ := one.(schema)["required"].([]string)
			each = append(each, code(needed))
		}
		if len(each) > 0 {
			text += rule[1] + strings.Join(each, " or ") + ".\n\n"
		}
	}
	return text
}

// blueprintIn returns the first blueprint.yaml that a manifest contains, without its indentation.
func blueprintIn(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(content), "blueprint.yaml: |\n")
	if !found {
		return "", fmt.Errorf("%s contains no blueprint.yaml", file)
	}
	indent := rest[:len(rest)-len(strings.TrimLeft(rest, " "))]
	var lines []string
	for line := range strings.SplitSeq(rest, "\n") {
		inner, inside := strings.CutPrefix(line, indent)
		if !inside && strings.TrimSpace(line) != "" {
			break
		}
		lines = append(lines, strings.TrimRight(inner, " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), nil
}
