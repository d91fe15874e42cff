// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// configuration is a configuration that the page describes.
type configuration struct {
	title, folder, apiVersion string
	// example is a page below docs. The first block of YAML with this apiVersion is the example.
	example string
	// also are types to which no field refers.
	also []string
}

var configurations = []configuration{
	{
		title:      "The manifest deployer",
		folder:     "api/deployer/manifest/v1alpha2",
		apiVersion: "manifest.deployer.landscaper.gardener.cloud/v1alpha2",
		example:    "deployers/manifest.md",
	},
	{
		title:      "The helm deployer",
		folder:     "api/deployer/helm/v1alpha1",
		apiVersion: "helm.deployer.landscaper.gardener.cloud/v1alpha1",
		example:    "deployers/helm.md",
		also:       []string{"InstallOptions", "UninstallOptions"},
	},
	{
		title:      "The container deployer",
		folder:     "api/deployer/container/v1alpha1",
		apiVersion: "container.deployer.landscaper.gardener.cloud/v1alpha1",
		example:    "deployers/container.md",
	},
	{
		title:      "The mock deployer",
		folder:     "api/deployer/mock/v1alpha1",
		apiVersion: "mock.deployer.landscaper.gardener.cloud/v1alpha1",
		example:    "deployers.md",
	},
}

// plain maps types to a description of one or two words.
var plain = map[string]string{
	"AnyJSON":      "any JSON",
	"RawExtension": "object",
	"Duration":     "duration, such as `5m`",
	"CronSpec":     "schedule, such as `0 3 * * *`",
	"string":       "string",
	"bool":         "boolean",
	"int":          "number",
	"int32":        "number",
	"UID":          "string",
}

const heading = `# Provider configurations

Every field of ` + "`config`" + ` of a deploy item, for each deployer. [manifest.md](../deployers/manifest.md), [helm.md](../deployers/helm.md)
and [container.md](../deployers/container.md) show how to use them. This page is generated from the comments of the API types by
` + "`go test ./internal/reference -update`" + `.

`

// Page returns the page for the tree at a root.
func Page(root string) (string, error) {
	w := &writer{source: &source{root: root, known: map[string]map[string]*declaration{}}, seen: map[name]bool{}}
	w.WriteString(heading)
	var shared []name
	for _, c := range configurations {
		elsewhere, err := w.configuration(c)
		if err != nil {
			return "", err
		}
		shared = append(shared, elsewhere...)
	}
	return w.common(shared)
}

// configuration describes a configuration, and returns the types of other packages that it refers to.
func (w *writer) configuration(c configuration) (elsewhere []name, err error) {
	fmt.Fprintf(w, "## %s\n\n", c.title)
	example, err := c.exampleIn(w.source.root)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "Example, from [`docs/%s`](../%s):\n\n```yaml\n%s```\n\n", c.example, c.example, example)
	top := name{folder: c.folder, local: "ProviderConfiguration"}
	first := fmt.Sprintf("| `apiVersion` | `%s` | yes | |\n| `kind` | `ProviderConfiguration` | yes | |\n", c.apiVersion)
	if err := w.structure(top, first); err != nil {
		return nil, err
	}
	for _, local := range c.also {
		w.queue = append(w.queue, name{folder: c.folder, local: local})
	}
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		if next.folder != c.folder {
			elsewhere = append(elsewhere, next)
			continue
		}
		if err := w.part(next); err != nil {
			return nil, err
		}
	}
	return elsewhere, nil
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// exampleIn returns the example of a configuration.
func (c configuration) exampleIn(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", filepath.FromSlash(c.example)))
	if err != nil {
		return "", err
	}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[1], "apiVersion: "+c.apiVersion+"\n") {
			return block[1], nil
		}
	}
	return "", fmt.Errorf("docs/%s has no example of %s", c.example, c.apiVersion)
}

// writer writes tables and records which types are still to be described.
type writer struct {
	strings.Builder
	source *source
	seen   map[name]bool
	queue  []name
}

// common describes types that several deployers share, and the types that those refer to.
func (w *writer) common(shared []name) (string, error) {
	w.WriteString("## Shared\n\n")
	w.queue = shared
	for len(w.queue) > 0 {
		byName := func(a, b name) int { return strings.Compare(a.local, b.local) }
		slices.SortFunc(w.queue, byName)
		next := w.queue[0]
		w.queue = w.queue[1:]
		if err := w.part(next); err != nil {
			return "", err
		}
	}
	return strings.TrimRight(w.String(), "\n") + "\n", nil
}

func (w *writer) part(n name) error {
	fmt.Fprintf(w, "### %s\n\n", n.local)
	return w.structure(n, "")
}

func (w *writer) structure(n name, first string) error {
	d, err := w.source.find(n)
	if err != nil || d == nil {
		return fmt.Errorf("%s has no type %s: %w", n.folder, n.local, err)
	}
	fields, err := w.source.fields(n)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n\n| Field | Type | Required | |\n|---|---|---|---|\n%s", d.text, first)
	for _, f := range fields {
		shown, err := w.shown(f.is)
		if err != nil {
			return err
		}
		required := ""
		if f.required {
			required = "yes"
		}
		fmt.Fprintf(w, "| `%s` | %s%s | %s | %s |\n", f.name, f.of, shown, required, cell(f.text))
	}
	w.WriteString("\n")
	return nil
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// shown returns the name of a type for the page, and queues its description if it is one of our structs.
func (w *writer) shown(n name) (string, error) {
	if word, known := plain[n.local]; known {
		return word, nil
	}
	found, err := w.source.find(n)
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", fmt.Errorf("what is %s of %q? It is not in the list plain of this package", n.local, n.folder)
	}
	if len(found.values) > 0 {
		return "`" + strings.Join(found.values, "`, `") + "`", nil
	}
	if _, isStruct := found.spec.Type.(*ast.StructType); !isStruct {
		return "string", nil
	}
	if !w.seen[n] {
		w.seen[n] = true
		w.queue = append(w.queue, n)
	}
	return fmt.Sprintf("[%s](#%s)", n.local, strings.ToLower(n.local)), nil
}
