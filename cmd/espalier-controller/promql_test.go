// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// query is what an expression of Prometheus refers to, for the part of the language that our rules and panels use.
type query struct {
	// metrics are the names of series with the labels that select them, and the values of those.
	metrics []selection
	// grouped are the labels by which the result is grouped.
	grouped []string
}

type selection struct {
	metric string
	labels map[string][]string
}

// words are tokens: strings, numbers with units, names, operators.
var words = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\$?[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9][0-9.a-z]*|=~|!~|!=|==|>=|<=|\S`)

var (
	functions = []string{
		"sum", "max", "min", "count", "rate", "increase", "absent", "histogram_quantile", "time",
	}
	groupings = []string{"by", "without"}
	operators = []string{"and", "or", "unless"}
	signs     = []string{"+", "-", "*", "/", ",", ">", "<", "==", "!=", ">=", "<="}
)

// parseQuery rejects what it does not know, so that typos are found.
func parseQuery(text string) (query, error) {
	p := &queryParser{tokens: words.FindAllString(text, -1)}
	var depth []string
	for !p.done() {
		token := p.next()
		switch {
		case slices.Contains(groupings, token):
			p.query.grouped = append(p.query.grouped, p.list()...)
		case slices.Contains(operators, token):
		case isName(token) && p.peek() == "(" || slices.Contains(functions, token):
			if !slices.Contains(functions, token) {
				return p.query, fmt.Errorf("unknown function %s", token)
			}
		case isName(token):
			p.selection(token)
		case token == "(":
			depth = append(depth, token)
		case token == ")":
			if len(depth) == 0 {
				return p.query, fmt.Errorf("a bracket too many")
			}
			depth = depth[:len(depth)-1]
		case token == "[":
			p.until("]")
		case slices.Contains(signs, token) || token[0] >= '0' && token[0] <= '9':
		default:
			return p.query, fmt.Errorf("unexpected %s", token)
		}
		if p.err != nil {
			return p.query, p.err
		}
	}
	if len(depth) > 0 {
		return p.query, fmt.Errorf("a bracket is not closed")
	}
	return p.query, nil
}

type queryParser struct {
	tokens []string
	at     int
	query  query
	err    error
}

func (p *queryParser) done() bool { return p.at >= len(p.tokens) }

func (p *queryParser) peek() string {
	if p.done() {
		return ""
	}
	return p.tokens[p.at]
}

func (p *queryParser) next() string {
	token := p.peek()
	p.at++
	return token
}

func (p *queryParser) until(end string) (within []string) {
	for !p.done() {
		token := p.next()
		if token == end {
			return within
		}
		within = append(within, token)
	}
	p.err = fmt.Errorf("no %s", end)
	return within
}

// list reads (a, b).
func (p *queryParser) list() (names []string) {
	if p.next() != "(" {
		p.err = fmt.Errorf("a grouping without labels")
		return nil
	}
	for _, token := range p.until(")") {
		if token != "," {
			names = append(names, token)
		}
	}
	return names
}

// selection parses what may follow a metric: {label="value", ...}.
func (p *queryParser) selection(metric string) {
	s := selection{metric: metric, labels: map[string][]string{}}
	if p.peek() == "{" {
		p.next()
		within := p.until("}")
		for i := 0; i+2 < len(within); i += 4 {
			value := strings.Trim(within[i+2], `"`)
			s.labels[within[i]] = strings.Split(value, "|")
			if i+3 < len(within) && within[i+3] != "," {
				p.err = fmt.Errorf("%s: no comma after %s", metric, value)
			}
		}
	}
	p.query.metrics = append(p.query.metrics, s)
}

func isName(token string) bool {
	return token[0] >= 'a' && token[0] <= 'z' || token[0] >= 'A' && token[0] <= 'Z' || token[0] == '_'
}
