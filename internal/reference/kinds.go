// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"espalier.dev/config/crd"
)

const kindsHeading = `# Kinds

All kinds that Espalier serves or reads. The pages of the groups list every field. These pages are generated from the definitions
in ` + "`config/crd`" + `: ` + "`go test ./internal/reference -update`" + `. [Schemas for editors](../how-to/editors.md) come from the same source.

| Kind | API version | Short names | |
|---|---|---|---|
`

// exampleFiles contain the examples of kinds, the best first. Tests apply all of them to an API server.
var exampleFiles = []string{
	"examples/*/*.yaml", "config/samples/*.yaml", "config/crd/testdata/accepted/sample-*.yaml", "config/crd/testdata/accepted/*.yaml",
}

// kindFact is what a page says about a kind, in addition to its fields.
type kindFact struct {
	kindSchema
	group      string
	shortNames []string
}

// KindPages returns the pages about kinds for the tree at root, by their names in docs/reference: one with all kinds, and one for each
// group.
func KindPages(root string) (map[string]string, error) {
	kinds, err := kindFacts()
	if err != nil {
		return nil, err
	}
	var index strings.Builder
	index.WriteString(kindsHeading)
	groups := map[string]*strings.Builder{}
	for _, k := range kinds {
		page := "kinds/" + k.group + ".md"
		if groups[page] == nil {
			groups[page] = &strings.Builder{}
			fmt.Fprintf(groups[page], "# %s\n\nThe [kinds](../kinds.md) of this group, field by field. `[]` stands for each element of a list, `*` for each key of a map.\n", k.group)
		}
		fmt.Fprintf(&index, "| [%s](%s#%s) | `%s` | %s | %s |\n", k.kind, page, strings.ToLower(k.kind), k.apiVersion, code(k.shortNames),
			cell(firstSentence(description(k.content))))
		if err := k.write(groups[page], root); err != nil {
			return nil, err
		}
	}
	pages := map[string]string{"kinds.md": index.String()}
	for name, page := range groups {
		pages[name] = page.String()
	}
	return pages, nil
}

func kindFacts() ([]kindFact, error) {
	definitions, err := crd.All()
	if err != nil {
		return nil, err
	}
	var facts []kindFact
	for _, d := range definitions {
		for _, version := range d.Spec.Versions {
			text, err := json.Marshal(version.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", d.Name, err)
			}
			k := kindFact{group: d.Spec.Group, shortNames: d.Spec.Names.ShortNames}
			k.apiVersion, k.kind, k.content = d.Spec.Group+"/"+version.Name, d.Spec.Names.Kind, schema{}
			if err := json.Unmarshal(text, &k.content); err != nil {
				return nil, fmt.Errorf("schema of %s: %w", d.Name, err)
			}
			facts = append(facts, k)
		}
	}
	return facts, nil
}

func (k kindFact) write(page *strings.Builder, root string) error {
	example, where, err := k.example(root)
	if err != nil {
		return err
	}
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n", k.kind, description(k.content))
	fmt.Fprintf(page, "Example, from `%s`:\n\n```yaml\n%s\n```\n\n", where, example)
	table := &fieldTable{}
	table.object("", k.content)
	var tables []string
	for _, part := range slices.Sorted(maps.Keys(table.parts)) {
		tables = append(tables, fmt.Sprintf("### %s %s\n\n| Field | Type | Required | |\n|---|---|---|---|\n%s", k.kind, part, table.parts[part]))
	}
	page.WriteString(strings.Join(tables, "\n"))
	return nil
}

// fieldTable collects the rows of tables: for the spec, for the status, and for the other fields.
type fieldTable struct{ parts map[string]string }

// object adds the fields of the schema at a path.
func (t *fieldTable) object(path string, s schema) {
	properties, _ := s["properties"].(schema)
	required, _ := s["required"].([]any)
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		if path == "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, field) {
			continue
		}
		inner := properties[field].(schema)
		t.row(join(path, field), inner, slices.Contains(required, any(field)))
		t.below(join(path, field), inner)
	}
}

// below adds the content of a field.
func (t *fieldTable) below(path string, s schema) {
	if s["properties"] != nil {
		t.object(path, s)
	}
	if items, ok := s["items"].(schema); ok {
		t.below(path+"[]", items)
	}
	if values, ok := s["additionalProperties"].(schema); ok {
		t.below(path+".*", values)
	}
}

func (t *fieldTable) row(path string, s schema, required bool) {
	part, _, _ := strings.Cut(path, ".")
	if part != "spec" && part != "status" {
		part = "fields"
	}
	yes := ""
	if required {
		yes = "yes"
	}
	text := description(s)
	if _, field, found := strings.Cut(path, "conditions[]."); found {
		text = cmp.Or(ofConditions[field], text)
	}
	if fallback, has := s["default"]; has {
		value, _ := json.Marshal(fallback)
		text += fmt.Sprintf(" Default `%s`.", value)
	}
	for _, limit := range limits {
		if value, has := s[limit[0]]; has {
			text += fmt.Sprintf(" %s `%v`.", limit[1], value)
		}
	}
	for _, rule := range rulesOf(s) {
		text += " Rule: " + rule + "."
	}
	if t.parts == nil {
		t.parts = map[string]string{}
	}
	t.parts[part] += fmt.Sprintf("| `%s` | %s | %s | %s |\n", path, typeOf(s), yes, cell(strings.TrimSpace(text)))
}

// ofConditions are the fields of a condition. CRDs describe them at length, in the words of Kubernetes.
var ofConditions = map[string]string{
	"type":               "type names the condition; see [conditions](../conditions.md).",
	"status":             "status of the condition.",
	"reason":             "reason is one word for machines; see [conditions](../conditions.md) and [errors](../errors.md).",
	"message":            "message says the same to people.",
	"lastTransitionTime": "lastTransitionTime is when the status of the condition last changed.",
	"observedGeneration": "observedGeneration is the `metadata.generation` that the condition speaks of.",
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// typeOf describes the type of a field in one or two words.
func typeOf(s schema) string {
	if values, ok := s["enum"].([]any); ok {
		var words []string
		for _, v := range values {
			words = append(words, fmt.Sprint(v))
		}
		return code(words)
	}
	if items, ok := s["items"].(schema); ok {
		return "list of " + typeOf(items)
	}
	if values, ok := s["additionalProperties"].(schema); ok {
		return "map of " + typeOf(values)
	}
	if s["x-kubernetes-int-or-string"] == true {
		return "number or string"
	}
	return simpleType(s)
}

func simpleType(s schema) string {
	kind, _ := s["type"].(string)
	switch {
	case kind == "" || kind == "object" && s["x-kubernetes-preserve-unknown-fields"] == true && s["properties"] == nil:
		return "any JSON"
	case s["format"] == "date-time":
		return "time"
	case kind == "integer":
		return "number"
	}
	return kind
}

// limits are keywords of schemas, and how the pages word them.
var limits = [][2]string{
	{"minimum", "Minimum"}, {"maximum", "Maximum"}, {"minLength", "Minimum length"}, {"maxLength", "Maximum length"},
	{"minItems", "Minimum number"}, {"maxItems", "Maximum number"}, {"maxProperties", "Maximum number"}, {"pattern", "Pattern"},
}

// rulesOf returns the messages of the rules that the API server checks.
func rulesOf(s schema) []string {
	var told []string
	rules, _ := s["x-kubernetes-validations"].([]any)
	for _, rule := range rules {
		if message, _ := rule.(schema)["message"].(string); message != "" {
			told = append(told, strings.TrimSuffix(message, "."))
		}
	}
	return told
}

// description is the text of a schema in one line.
func description(s schema) string {
	text, _ := s["description"].(string)
	return strings.Join(strings.Fields(text), " ")
}

func firstSentence(text string) string {
	first, _, found := strings.Cut(text, ". ")
	if found {
		return first + "."
	}
	return first
}

// code formats words as code.
func code(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

var (
	documentKind    = regexp.MustCompile(`(?m)^kind: (\S+)`)
	documentVersion = regexp.MustCompile(`(?m)^apiVersion: (\S+)`)
)

// telling is the length from which an example is informative.
const telling = 180

// example returns a document of a kind, without its status, and its file: of the first files that have an informative one the shortest, or
// the longest of all.
func (k kindFact) example(root string) (text, where string, err error) {
	for _, pattern := range exampleFiles {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return "", "", err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return "", "", err
			}
			for _, document := range documentsOf(string(content), k.apiVersion, k.kind) {
				if better(document, text) {
					relative, err := filepath.Rel(root, file)
					if err != nil {
						return "", "", err
					}
					text, where = document, filepath.ToSlash(relative)
				}
			}
		}
		if len(text) >= telling {
			break
		}
	}
	if text != "" {
		return text, where, nil
	}
	return "", "", fmt.Errorf("no example of kind %s in %s", k.kind, strings.Join(exampleFiles, ", "))
}

func better(a, b string) bool {
	if len(a) < telling || len(b) < telling {
		return len(a) > len(b)
	}
	return len(a) < len(b)
}

// loopback is in documents that work on one machine only, which are poor examples.
const loopback = "127.0.0.1"

// packed matches content that nobody can read, such as a compressed chart.
var packed = regexp.MustCompile(`[A-Za-z0-9+/=]{100}`)

// documentsOf returns the YAML documents of a kind in a text, without leading comments and the status. It leaves out those with loopback
// addresses and those with packed content.
func documentsOf(content, apiVersion, kind string) []string {
	var found []string
	for document := range strings.SplitSeq("\n"+content, "\n---") {
		is, of := documentKind.FindStringSubmatch(document), documentVersion.FindStringSubmatch(document)
		if is == nil || of == nil || is[1] != kind || of[1] != apiVersion {
			continue
		}
		if strings.Contains(document, loopback) || packed.MatchString(document) {
			continue
		}
		begin := min(documentKind.FindStringIndex(document)[0], documentVersion.FindStringIndex(document)[0])
		text, _, _ := strings.Cut(document[begin:], "\nstatus:")
		found = append(found, strings.TrimSpace(text))
	}
	return found
}
