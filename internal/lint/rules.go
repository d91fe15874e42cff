// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Rule is one rule of the project.
type Rule struct {
	Name string
	// Demand says what the rule requires, for the reader of a failed test.
	Demand string
	// Exemptable reports whether a comment with a reason may exempt code from the rule.
	Exemptable bool

	find func(*Tree) []Offence
}

// Rules lists every rule. Exemptions refer to their names.
var Rules = []Rule{
	{Name: "format", Demand: "every Go file is as gofmt writes it", find: findUnformatted},
	{Name: "imports", Demand: "a package imports only what its layer may see", find: findForbiddenImports},
	{Name: "purity", Demand: "a pure package has no clock, no randomness, no I/O and no context", find: findImpurity},
	{Name: "length", Demand: "a function has at most 80 lines", Exemptable: true, find: findLongFunctions},
	{Name: "complexity", Demand: "a function has a cyclomatic complexity of at most 11", Exemptable: true, find: findComplexFunctions},
	{
		Name:       "parameters",
		Demand:     "a function has at most four parameters beside a context or a test",
		Exemptable: true,
		find:       findLongSignatures,
	},
	{Name: "width", Demand: "a line has at most 140 characters, unless a message makes it longer", find: findLongLines},
	{Name: "effects", Demand: "a switch over effects names all of them, itself or where its default clause passes them on", find: findIncompleteEffects},
	{Name: "package-doc", Demand: "every package says what it is for", find: findUndocumentedPackages},
	{Name: "names", Demand: "names say what a thing is for", find: findVagueNames},
	{Name: "header", Demand: "every Go file names its authors and its licence", find: findMissingHeaders},
	{Name: "unfinished", Demand: "unfinished work is an issue, not a comment", find: findUnfinishedWork},
	{Name: "commands", Demand: "CI runs the commands that a page shows, or the page says why not", find: findUnmarkedCommands},
	{Name: "words", Demand: "texts use the words of CONTRIBUTING.md", find: findWrongWords},
	{Name: "machine-paths", Demand: "no file names a path of somebody's machine", find: findMachinePaths},
	{Name: "sleep", Demand: "nothing is synchronised by sleeping", Exemptable: true, find: findSleeps},
	{
		Name:       "patience",
		Demand:     "a test waits as long as testkit.Patience: how long something takes depends on the machine",
		Exemptable: true,
		find:       findImpatience,
	},
	{Name: "skip", Demand: "a test runs or does not exist", find: findSkips},
	{Name: "mocks", Demand: "tests run against real parts", find: findMocks},
}

// Offence is one violation of a rule.
type Offence struct {
	Rule    string
	Path    string
	Line    int
	Message string
}

// String returns the offence in the form that editors recognise.
func (o Offence) String() string {
	return fmt.Sprintf("%s:%d: %s [%s]", o.Path, o.Line, o.Message, o.Rule)
}

// Check returns the offences against one rule that are not exempt.
func (r Rule) Check(tree *Tree) []Offence {
	offences := r.find(tree)
	for i := range offences {
		offences[i].Rule = r.Name
	}
	if !r.Exemptable {
		return offences
	}
	exemptions := exemptionsOf(tree)
	return slices.DeleteFunc(offences, func(o Offence) bool {
		return slices.ContainsFunc(exemptions, func(e exemption) bool { return e.excuses(o) })
	})
}

// CheckExemptions returns the exemptions that are malformed or excuse nothing.
func CheckExemptions(tree *Tree) []Offence {
	var wrong []Offence
	for _, e := range exemptionsOf(tree) {
		if message := e.fault(tree); message != "" {
			wrong = append(wrong, Offence{Rule: "exemption", Path: e.path, Line: e.from, Message: message})
		}
	}
	return wrong
}

const exemptionMark = "//lint:allow"

// exemption excuses the offences against one rule in a range of lines.
type exemption struct {
	rule     string
	reason   string
	path     string
	from, to int
}

func (e exemption) excuses(o Offence) bool {
	return e.rule == o.Rule && e.path == o.Path && e.from <= o.Line && o.Line <= e.to
}

func (e exemption) fault(tree *Tree) string {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == e.rule })
	switch {
	case i < 0:
		return fmt.Sprintf("there is no rule %q to allow an exemption from", e.rule)
	case !Rules[i].Exemptable:
		return fmt.Sprintf("rule %q knows no exemptions", e.rule)
	case e.reason == "":
		return "an exemption needs a reason"
	}
	for _, offence := range Rules[i].find(tree) {
		offence.Rule = e.rule
		if e.excuses(offence) {
			return ""
		}
	}
	return fmt.Sprintf("this exemption from rule %q excuses nothing; remove it", e.rule)
}

func exemptionsOf(tree *Tree) []exemption {
	var found []exemption
	for _, file := range tree.goFiles(everyFile) {
		for _, group := range file.Go.Comments {
			for _, comment := range group.List {
				if e, ok := parseExemption(comment.Text); ok {
					e.path = file.Path
					e.from, e.to = tree.reach(file.Go, group, comment)
					found = append(found, e)
				}
			}
		}
	}
	return found
}

func parseExemption(comment string) (exemption, bool) {
	words, ok := strings.CutPrefix(comment, exemptionMark)
	if !ok {
		return exemption{}, false
	}
	rule, reason, _ := strings.Cut(strings.TrimSpace(words), " ")
	return exemption{rule: rule, reason: strings.TrimSpace(reason)}, true
}

// reach returns the lines that a comment applies to: the whole declaration if it is in its doc comment, otherwise its own line and the
// next.
func (t *Tree) reach(file *ast.File, group *ast.CommentGroup, comment *ast.Comment) (from, to int) {
	line := t.Line(comment.Pos())
	for _, declaration := range file.Decls {
		if docOf(declaration) == group {
			return line, t.Line(declaration.End())
		}
	}
	return line, line + 1
}

func docOf(declaration ast.Decl) *ast.CommentGroup {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// offence returns an offence at a place in a Go file.
func (t *Tree) offence(file *File, pos token.Pos, format string, args ...any) Offence {
	return Offence{Path: file.Path, Line: t.Line(pos), Message: fmt.Sprintf(format, args...)}
}
