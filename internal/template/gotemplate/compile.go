// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"espalier.dev/internal/template"
)

// Engine is the name of this engine in blueprints.
const Engine = "GoTemplate"

// mainName is the name of the template itself among those that it defines. text/template uses the same name in its errors.
const mainName = "blueprint"

// Options are the settings known at compile time.
type Options struct {
	Limits template.Limits
	// Functions are the names of the functions that every rendering adds.
	Functions []string
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	source template.Source
	limits template.Limits
	trees  map[string]*parse.Tree
	// used are the functions that occur in the template.
	used []string
	// values are the places where values are written; the inserted calls refer to them by index.
	values []parse.Pos
}

// Compile parses a template and prepares it for bounded rendering.
func Compile(source template.Source, options Options) (*Template, error) {
	source.Engine = Engine
	limits := options.Limits.WithDefaults()
	if err := template.NewMeter(limits).Source(len(source.Text)); err != nil {
		return nil, template.NewError(source, template.Place{}, "", err).Terminal()
	}
	if place, err := checkNesting(source.Text, limits); err != nil {
		return nil, template.NewError(source, place, "", err).Terminal()
	}
	trees, err := parseTrees(source.Text)
	if err != nil {
		return nil, syntaxError(source, err)
	}
	t := &Template{source: source, limits: limits, trees: trees}
	c := compiler{template: t, known: knownFunctions(options.Functions), added: options.Functions, used: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		if err := c.instrument(trees[name]); err != nil {
			return nil, err
		}
	}
	t.used = slices.Sorted(maps.Keys(c.used))
	return t, nil
}

// Functions returns the names of the functions that occur in the template, sorted.
func (t *Template) Functions() []string { return slices.Clone(t.used) }

func parseTrees(text string) (map[string]*parse.Tree, error) {
	trees := map[string]*parse.Tree{}
	tree := parse.New(mainName)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return nil, err
	}
	// An empty template has no tree.
	if trees[mainName] == nil {
		trees[mainName] = tree
	}
	return trees, nil
}

// control matches the actions that open, continue or close a body.
var control = regexp.MustCompile(`\{\{-?\s*(if|range|with|block|define|else\s+if|else\s+with|end)\b`)

// checkNesting rejects bodies that nest too deeply before the recursive parser sees them, because the text alone determines
// the depth. It also counts actions inside string constants, which does no harm below the limit.
func checkNesting(text string, limits template.Limits) (template.Place, error) {
	meter := template.NewMeter(limits)
	var open []int
	depth := 0
	for _, found := range control.FindAllStringSubmatchIndex(text, -1) {
		word := text[found[2]:found[3]]
		switch {
		case word != "end":
			depth++
			if strings.HasPrefix(word, "else") && len(open) > 0 {
				open[len(open)-1]++
			} else {
				open = append(open, 1)
			}
		case len(open) > 0:
			depth -= open[len(open)-1]
			open = open[:len(open)-1]
		}
		if err := meter.Nested(depth); err != nil {
			return placeOf(text, parse.Pos(found[2])), err
		}
	}
	return template.Place{}, nil
}

// syntaxForm is the format of errors of text/template/parse. The message quotes only the template.
var syntaxForm = regexp.MustCompile(`(?s)^template: ` + mainName + `:([0-9]+): (.*)`)

func syntaxError(source template.Source, err error) error {
	place := template.Place{}
	message := "the template has a syntax error"
	if form := syntaxForm.FindStringSubmatch(err.Error()); form != nil {
		place.Line, _ = strconv.Atoi(form[1])
		message += ": " + form[2]
	}
	return template.NewError(source, place, message, err).Terminal()
}

// placeOf returns the place of a position in the text, with the action around it.
func placeOf(text string, pos parse.Pos) template.Place {
	offset := min(int(pos), len(text))
	before := text[:offset]
	line := strings.Count(before, "\n") + 1
	column := offset - strings.LastIndex(before, "\n")
	return template.Place{Line: line, Column: column, Expression: actionAround(text, offset)}
}

// actionAround returns the action of the template at an offset, including delimiters.
func actionAround(text string, offset int) string {
	start := strings.LastIndex(text[:offset], "{{")
	if start < 0 {
		return ""
	}
	end := strings.Index(text[start:], "}}")
	if end < 0 {
		return ""
	}
	return text[start : start+end+2]
}
