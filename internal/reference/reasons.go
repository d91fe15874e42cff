// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const conditionsHeading = `# Conditions and reasons

The condition types in ` + "`status.conditions`" + ` and their reasons. A reason is one word for machines; the message says the same to people.
While a job runs, the reason can also be its phase; when it fails, it is the reason of the [error](errors.md). This page is generated from
the code: ` + "`go test ./internal/reference -update`" + `.

## Condition types

| Type | Kinds | |
|---|---|---|
`

const errorsHeading = `# Errors

What went wrong and what to do about it. ` + "`status.lastError`" + ` of an object contains error codes and a reason; conditions and
` + "`espalier why`" + ` repeat the reason. Start with the reason: it is more specific. This page is generated from the code:
` + "`go test ./internal/reference -update`" + `.

## Error codes

`

// codeAdvice says what to do about errors with a code.
var codeAdvice = map[string]string{
	"ERR_UNAUTHORIZED":          "Replace the credentials or give them the right that the message names, then start a new job.",
	"ERR_CONFIGURATION_PROBLEM": "Fix what the message names: the installation, the blueprint, or what they refer to. Then start a new job.",
	"ERR_INTERNAL_PROBLEM":      reportBug,
	"ERR_TIMEOUT": "`espalier why` and `espalier tree --live` show what is late. Fix it, or raise the timeout that the message names, then " +
		"start a new job.",
	"ERR_CYCLIC_DEPENDENCIES": "Break the circle that the message shows: one of the installations or deploy items must not depend on the next.",
	"ERR_WEBHOOK":             "Wait: the controllers retry automatically. If it persists, look at the admission webhook or the API server.",
	"ERR_UNFINISHED":          "Wait: it continues automatically.",
	"ERR_FOR_INFO_ONLY":       "Nothing.",
	"ERR_NO_RETRY":            "Fix what the message names, then start a new job.",
	"ERR_CLEANUP":             "Fix what the message names; only controllers of earlier versions set it.",
}

// conditionTexts describe types that share a comment in the code.
var conditionTexts = map[string]string{
	"EnsureSubInstallations":      "Whether the nested installations were written.",
	"ReconcileExecution":          "Whether the execution finished.",
	"ValidateImports":             "Whether all imports exist and match their schemas.",
	"CreateImports":               "Whether the values of the imports could be computed.",
	"CreateExports":               "Whether the exports could be computed and written.",
	"EnsureExecutions":            "Whether the execution was written.",
	"ValidateExport":              "Whether the exports match their schemas.",
	"ComponentReferenceOverwrite": "Whether a ComponentVersionOverwrites replaced the component.",
	"BlueprintWarnings":           "Present and True while the blueprint contains something that has no effect.",
	"Suspended":                   "True while the root is suspended: no new run starts. False while the annotation for it has no effect. Absent otherwise.",
	"DeployItemValidation":        "Whether the deployer understood the configuration.",
}

// kindsWith are the kinds that have a condition, by the folder that declares it, or by its name.
var kindsWith = map[string]string{
	"api/landscaper/v1alpha1": "Installation, Execution, DeployItem, TargetSync",
	"api/pipelines/v1alpha1":  "Pipeline",
	"internal/installation":   "Installation",
	"DeployItemValidation":    "DeployItem",
}

// conditionsPage returns the page about conditions.
func (p *program) conditionsPage() (string, error) {
	var page strings.Builder
	page.WriteString(conditionsHeading)
	if err := p.conditionTypes(&page); err != nil {
		return "", err
	}
	for _, a := range states {
		if a.title == "Steps" {
			p.holds(&page)
		}
		fmt.Fprintf(&page, "\n## %s\n\n", a.title)
		if a.title == "Steps" {
			page.WriteString("What a controller just did or is about to do. Steps appear in logs and traces, and briefly in conditions.\n\n")
		}
		page.WriteString("| Reason | |\n|---|---|\n")
		for _, w := range a.words {
			fmt.Fprintf(&page, "| `%s` | %s |\n", w.is, cell(w.text))
		}
	}
	return page.String(), nil
}

const holdsTitle = "Pipelines: holds"

// holds explains why environments of pipelines wait.
func (p *program) holds(page *strings.Builder) {
	page.WriteString("\n## " + holdsTitle + "\n\nWhy an environment does not get a revision yet: `reason` of an entry in `status.holds`.\n\n")
	page.WriteString("| Reason | |\n|---|---|\n")
	for _, c := range p.constants() {
		if c.of == "HoldReason" {
			fmt.Fprintf(page, "| `%s` | %s |\n", c.value, cell(p.described(c)))
		}
	}
}

func (p *program) conditionTypes(page *strings.Builder) error {
	found := 0
	for _, c := range p.constants() {
		if c.of != "ConditionType" && (c.folder != "api/pipelines/v1alpha1" || !strings.HasPrefix(c.name, "Condition")) {
			continue
		}
		kinds, text := kindsWith[c.folder], p.described(c)
		if conditionTexts[c.value] != "" {
			kinds, text = "Installation", conditionTexts[c.value]
		}
		if special := kindsWith[c.value]; special != "" {
			kinds = special
		}
		if kinds == "" || text == "" {
			return fmt.Errorf("which kinds have the condition %s of %s, and what does it say? See kindsWith and conditionTexts", c.value, c.folder)
		}
		found++
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", c.value, kinds, cell(text))
	}
	if found == 0 {
		return fmt.Errorf("no condition types found")
	}
	return nil
}

// errorsPage returns the page about errors.
func (p *program) errorsPage() (string, error) {
	if err := p.checkWords(); err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString(errorsHeading)
	for _, c := range p.constants() {
		if c.of != "ErrorCode" {
			continue
		}
		fmt.Fprintf(&page, "### %s\n\n%s\n\n**What to do:** %s\n\n", c.value, p.described(c), codeAdvice[c.value])
	}
	for _, a := range failures {
		fmt.Fprintf(&page, "## %s\n\n", a.title)
		for _, w := range a.words {
			fmt.Fprintf(&page, "### %s\n\n%s\n\n**What to do:** %s\n\n", w.is, w.text, w.do)
		}
	}
	return strings.TrimRight(page.String(), "\n") + "\n", nil
}

const documentedHeading = `// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Code generated by go test ./internal/reference -update. DO NOT EDIT.

package explain

// documented are the codes and reasons that docs/reference explains.
var documented = []Word{
`

// documentedSource returns a source file with what the pages about errors and conditions explain, for commands that refer to them.
func (p *program) documentedSource() (string, error) {
	var all []string
	add := func(w word, area, page string) {
		entry := fmt.Sprintf("\t{Is: %q, Area: %q, Means: %q, ", w.is, area, w.text)
		if w.do != "" {
			entry += fmt.Sprintf("Do: %q, ", w.do)
		}
		all = append(all, entry+fmt.Sprintf("Page: %q},\n", page))
	}
	for _, c := range p.constants() {
		switch c.of {
		case "ErrorCode":
			add(word{is: c.value, text: p.described(c), do: codeAdvice[c.value]}, "Error codes", "errors.md#"+anchor(c.value))
		case "HoldReason":
			add(word{is: c.value, text: p.described(c)}, holdsTitle, "conditions.md#"+anchor(holdsTitle))
		}
	}
	for _, a := range failures {
		for _, w := range a.words {
			add(w, a.title, "errors.md#"+anchor(w.is))
		}
	}
	for _, a := range states {
		for _, w := range a.words {
			add(w, a.title, "conditions.md#"+anchor(a.title))
		}
	}
	slices.Sort(all)
	return documentedHeading + strings.Join(all, "") + "}\n", nil
}

// anchor is how links name a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// checkWords compares the words of the code with those that the pages explain.
func (p *program) checkWords() error {
	explained, problems := explainedWords()
	used := p.reasons()
	for _, reason := range slices.Sorted(maps.Keys(used)) {
		if !explained[reason] {
			problems = append(problems, fmt.Errorf("%s uses the reason %s: explain it in internal/reference/words.go", used[reason], reason))
		}
	}
	for _, c := range p.constants() {
		if c.of == "ErrorCode" && codeAdvice[c.value] == "" {
			problems = append(problems, fmt.Errorf("what can be done about %s? Say so in codeAdvice of internal/reference", c.value))
		}
	}
	spoken := p.literals()
	for _, reason := range slices.Sorted(maps.Keys(explained)) {
		if !spoken[reason] {
			problems = append(problems, fmt.Errorf("no code uses the reason %s any more: remove it from internal/reference/words.go", reason))
		}
	}
	return errors.Join(problems...)
}

// explainedWords returns the words of words.go, and a problem for each that occurs twice, or lacks a text or, for errors, advice.
func explainedWords() (explained map[string]bool, problems []error) {
	explained = map[string]bool{}
	for i, a := range slices.Concat(failures, states) {
		for _, w := range a.words {
			if explained[w.is] || w.text == "" || w.do == "" && i < len(failures) {
				problems = append(problems, fmt.Errorf("%s in internal/reference/words.go is a duplicate, or lacks what it means or what to do", w.is))
			}
			explained[w.is] = true
		}
	}
	return explained, problems
}

var (
	reasonConstant = regexp.MustCompile(`^((Reason|reason|Code)([A-Z]\w*)?|WaitingFor\w*)$`)
	camelCase      = regexp.MustCompile(`^[A-Za-z][a-z]+[A-Za-z]*$`)
	// reasonTypes are types whose constants are reasons.
	reasonTypes = []string{"RefusalReason", "Class"}
	// carriers are types with a field Reason or Code that gets into a status.
	carriers = []string{"Details", "Wait", "Reason", "Condition", "PromotionError", "Problem", "Explanation", "Synchronisation"}
	// silent are folders whose words only users see, in other forms.
	silent = []string{"internal/cli", "internal/web", "cmd"}
)

// reasons returns the words that the code uses as reasons, each with a folder that uses it.
func (p *program) reasons() map[string]string {
	found := map[string]string{}
	add := func(word, folder string) {
		if camelCase.MatchString(word) && !slices.ContainsFunc(silent, func(s string) bool { return strings.HasPrefix(folder, s) }) {
			found[word] = folder
		}
	}
	for _, c := range p.constants() {
		if reasonConstant.MatchString(c.name) || slices.Contains(reasonTypes, c.of) {
			add(c.value, c.folder)
		}
	}
	for i := range p.files {
		file := &p.files[i]
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			literal, ok := node.(*ast.CompositeLit)
			if !ok || !slices.Contains(carriers, lastName(literal.Type)) {
				return true
			}
			for _, value := range valuesOf(literal, "Reason", "Code") {
				p.eachText(expression{value, file}, func(text string) { add(text, file.folder) })
			}
			return true
		})
	}
	return found
}

// lastName is the name of a type without its package.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// valuesOf returns the values of some fields of a literal.
func valuesOf(literal *ast.CompositeLit, fields ...string) []ast.Expr {
	var values []ast.Expr
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok && slices.Contains(fields, lastName(pair.Key)) {
			values = append(values, pair.Value)
		}
	}
	return values
}

// eachText calls a function for each text that an expression may have: its own, or those of the literals in it.
func (p *program) eachText(e expression, do func(string)) {
	if text, known := p.fold(e); known {
		do(text)
		return
	}
	if call, ok := e.Expr.(*ast.CallExpr); ok {
		for _, arg := range call.Args {
			p.eachText(expression{arg, e.in}, do)
		}
	}
}

// literals returns all strings in the code.
func (p *program) literals() map[string]bool {
	all := map[string]bool{}
	for i := range p.files {
		ast.Inspect(p.files[i].syntax, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok {
				all[plainText(literal)] = true
			}
			return true
		})
	}
	return all
}
