// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Output is what a page shows that a block prints. The zero value stands for a block without one.
type Output struct {
	// Line is the first line of the output on the page.
	Line int
	Text string
	// Varies lists the words that differ from run to run, separated by spaces.
	Varies string
}

const anything = "..."

// newOutput returns an error for an output that anything would match, and for a varying word that it does not contain.
func newOutput(line int, text, varies string) (Output, error) {
	o := Output{Line: line, Text: text, Varies: varies}
	if !slices.ContainsFunc(o.lines(), func(line string) bool { return strings.Trim(line, ". ") != "" }) {
		return Output{}, fmt.Errorf("line %d: the output shows nothing to compare", line)
	}
	for _, word := range strings.Fields(varies) {
		if !wordPattern(word).MatchString(text) {
			return Output{}, fmt.Errorf("line %d: the output does not contain %s, which is said to vary", line, word)
		}
	}
	return o, nil
}

// Check compares the output with what the block has printed. The width of gaps does not count: that of the columns of a table depends on
// their content.
func (o Output) Check(printed string) error {
	if o.Text == "" {
		return nil
	}
	shown := o.lines()
	got := strings.Join(linesOf(printed), "\n") + "\n"
	for i := range shown {
		if !o.pattern(shown[:i+1], `(?s:.*)`).MatchString(got) {
			return fmt.Errorf("the page shows on line %d what the commands do not print there: %s", o.Line+i, shown[i])
		}
	}
	if !o.pattern(shown, "").MatchString(got) {
		return fmt.Errorf("the commands print more than the page shows up to line %d", o.Line+len(shown)-1)
	}
	return nil
}

func (o Output) lines() []string { return linesOf(o.Text) }

// linesOf returns the lines of a text with single spaces, without empty ones at the end.
func linesOf(text string) []string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return lines
}

// pattern matches a text that begins with certain lines and goes on in a certain way.
func (o Output) pattern(lines []string, rest string) *regexp.Regexp {
	var pattern strings.Builder
	for _, line := range lines {
		if line == anything {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(o.linePattern(line) + `\n`)
	}
	return regexp.MustCompile(`\A` + pattern.String() + rest + `\z`)
}

// linePattern replaces the parts of a line that vary.
func (o Output) linePattern(line string) string {
	parts := strings.Split(regexp.QuoteMeta(line), regexp.QuoteMeta(anything))
	for i := range parts {
		for _, word := range strings.Fields(o.Varies) {
			parts[i] = wordPattern(regexp.QuoteMeta(word)).ReplaceAllLiteralString(parts[i], `\S+`)
		}
	}
	return strings.Join(parts, `.+`)
}

// wordPattern finds a word that is not part of a longer one.
func wordPattern(word string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`)
}
