// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// unusedImports warns about imports that the blueprint does not mention. Any mention counts as a use: the warning must
// not be wrong.
func (f *Findings) unusedImports(b *Blueprint) {
	texts := b.texts()
	if len(texts) == 0 || usesAllImports(texts) {
		return
	}
	f.unmentioned("imports", b.Imports, func(name string) bool {
		word := regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(name) + `(?:[^\w-]|$)`)
		return word.MatchString(texts)
	})
}

func (f *Findings) unmentioned(path string, imports []lsv1alpha1.ImportDefinition, mentioned func(name string) bool) {
	for i := range imports {
		at := fmt.Sprintf("%s[%d]", path, i)
		// An import that others depend on is used.
		if len(imports[i].ConditionalImports) == 0 && imports[i].Name != "" && !mentioned(imports[i].Name) {
			f.odd(at, "nothing in the blueprint uses the import %q", imports[i].Name)
		}
		f.unmentioned(at+".imports", imports[i].ConditionalImports, mentioned)
	}
}

// texts returns everything that can use an import: templates, nested installations, and the files that templates may read. It is empty if
// nothing can use one.
func (b *Blueprint) texts() string {
	var all strings.Builder
	add := func(text []byte) {
		all.Write(text)
		all.WriteString("\n")
	}
	addFile := func(name string) {
		content, _ := readFile(b.Files, name) // A missing file is reported elsewhere.
		add(content)
	}
	for _, list := range b.executorLists() {
		for i := range list.executors {
			if e := &list.executors[i]; e.File != "" {
				addFile(e.File)
			} else if e.Template != nil {
				add([]byte(plainText(e.Template.Raw)))
			}
		}
	}
	for i := range b.Subinstallations {
		if text, err := json.Marshal(b.Subinstallations[i]); err == nil {
			add(text)
		}
		addFile(b.Subinstallations[i].File)
	}
	if !readsFiles.MatchString(all.String()) {
		return all.String()
	}
	for name := range b.Files {
		if name != lsv1alpha1.BlueprintFileName {
			addFile(name)
		}
	}
	return all.String()
}

// readsFiles matches the functions with which templates read files, whose names may be computed.
var readsFiles = regexp.MustCompile(`\b(?:readFile|readDir)\b|\b(?:read|list_files|list_dirs|lookup_file|lookup_dir)\s*\(`)

// plainText returns the content of a JSON string, and any other JSON text unchanged.
func plainText(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// actions matches what a template evaluates: an action of a GoTemplate, or an expression of Spiff up to the end of its line or JSON string,
// because expressions may contain brackets. The rest of a template is text.
var actions = regexp.MustCompile(`(?s:\{\{.*?\}\})|\(\((?s:.*?)\)\)(?:\\.|[^"\n\\])*`)

// allImports matches the word imports where a value can be and no name follows, as in toYaml .imports, and names of everything.
var allImports = regexp.MustCompile(`(?:[.([\s$\w]imports|\$\.imports)(?:\s*[)}|,\]\s]|\.?\[)|__ctx|___`)

// usesAllImports reports whether a template may use imports without naming them.
func usesAllImports(texts string) bool {
	return slices.ContainsFunc(actions.FindAllString(texts, -1), allImports.MatchString)
}
