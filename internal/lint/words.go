// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// wordsPage has the table of words. What is bold in its column "Not" is always wrong, and rejected everywhere else.
const wordsPage = "CONTRIBUTING.md"

var (
	bold         = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	tableOfWords = regexp.MustCompile(`(?m)^\| Say \| Not \|\n(?:\|.*\n)*`)
)

// phrase is a phrase that is always wrong, and what to write instead.
type phrase struct {
	wrong, right string
	// hint is a word of the phrase in lower case. Searching for it first makes it cheap to search every file.
	hint   []byte
	regexp *regexp.Regexp
}

// wrongPhrases returns the bold phrases of the table of words.
func wrongPhrases(page []byte) []phrase {
	var found []phrase
	for row := range strings.Lines(string(tableOfWords.Find(page))) {
		cells := strings.Split(row, "|")
		for _, match := range bold.FindAllStringSubmatch(cells[2], -1) {
			found = append(found, newPhrase(match[1], strings.TrimSpace(cells[1])))
		}
	}
	return found
}

// newPhrase finds the phrase in any case, also across the lines of a comment.
func newPhrase(wrong, right string) phrase {
	words := strings.Fields(strings.ToLower(wrong))
	longest := ""
	for i, word := range words {
		if len(word) > len(longest) {
			longest = word
		}
		words[i] = regexp.QuoteMeta(word)
	}
	return phrase{
		wrong: wrong, right: right, hint: []byte(longest), regexp: regexp.MustCompile(`(?i)\b` + strings.Join(words, `[\s/]+`) + `\b`),
	}
}

// findWrongWords searches pages, and the comments and texts of Go files that are not tests.
func findWrongWords(tree *Tree) []Offence {
	var phrases []phrase
	for _, file := range tree.Files {
		if file.Path == wordsPage {
			phrases = wrongPhrases(file.Text)
		}
	}
	var offences []Offence
	for _, file := range tree.Files {
		lower := bytes.ToLower(file.Text)
		for _, p := range phrases {
			if bytes.Contains(lower, p.hint) {
				offences = append(offences, tree.findPhrase(file, p)...)
			}
		}
	}
	return offences
}

func (t *Tree) findPhrase(file *File, p phrase) []Offence {
	var offences []Offence
	for _, prose := range t.proseOf(file) {
		for _, match := range p.regexp.FindAllIndex(prose.text, -1) {
			offences = append(offences, Offence{
				Path:    file.Path,
				Line:    prose.line + bytes.Count(prose.text[:match[0]], []byte("\n")),
				Message: "do not write \"" + p.wrong + "\"; write as in: " + p.right,
			})
		}
	}
	return offences
}

// passage is a part of a file that people read.
type passage struct {
	line int
	text []byte
}

// proseOf returns what users and readers of the code read in a file.
func (t *Tree) proseOf(file *File) []passage {
	if file.Go == nil {
		if isPage(file.Path) {
			return []passage{{1, file.Text}}
		}
		return nil
	}
	if !production(file) {
		return nil
	}
	var found []passage
	add := func(node ast.Node) {
		from, to := t.positions.Position(node.Pos()), t.positions.Position(node.End())
		found = append(found, passage{from.Line, file.Text[from.Offset:to.Offset]})
	}
	for _, group := range file.Go.Comments {
		add(group)
	}
	ast.Inspect(file.Go, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			add(literal)
		}
		return true
	})
	return found
}

// isPage reports whether a file is a page of the documentation. The changelog is history, and may quote what was.
func isPage(name string) bool {
	atRoot := path.Dir(name) == "." && name != wordsPage && name != "CHANGELOG.md"
	return path.Ext(name) == ".md" && (atRoot || withinAny(name, []string{"docs", "examples"}))
}
