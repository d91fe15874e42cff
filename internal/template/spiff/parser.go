// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"encoding/json"
	"strconv"
	"strings"

	"espalier.dev/internal/template"
)

// longestExpression is the maximum length of an expression in bytes.
const longestExpression = 16 << 10

// costOfByte is the cost of parsing a byte of an expression in steps.
const costOfByte = 4

// parser parses one expression. The grammar is a parsing expression grammar: alternatives are tried in order, and the first
// that matches is taken. The result of a rule at a position is memoised, so that the work grows linearly with the length of
// the text; otherwise it doubles with every pair of brackets.
type parser struct {
	text  string
	limit int
	// depth is the nesting depth of the expression at the current position.
	depth int
	known map[known]parsed
	// furthest is the furthest position that was read.
	furthest int
	// failure is an error that no other alternative can resolve.
	failure error
}

type rule uint8

// The memoised rules.
const (
	ruleExpression rule = iota
	ruleOr
	ruleConditional
	ruleConcatenation
	ruleLogical
	ruleComparison
	ruleSum
	ruleProduct
	ruleOperand
)

type known struct {
	rule rule
	pos  int
}

// parsed is the result of a rule at a position: an expression and its end. Without a match, there is no expression.
type parsed struct {
	expr expr
	end  int
}

func (p parsed) ok() bool { return p.expr != nil }

var none = parsed{}

// syntaxError is where an expression cannot be parsed.
type syntaxError struct {
	offset  int
	problem error
}

// parse parses an expression, without the brackets around it.
func parse(text string, meter *template.Meter) (expr, *syntaxError) {
	if len(text) > longestExpression {
		return nil, &syntaxError{0, template.Problemf("the expression is longer than %d bytes", longestExpression)}
	}
	if err := meter.Step(costOfByte * int64(len(text))); err != nil {
		return nil, &syntaxError{0, err}
	}
	p := &parser{text: text, limit: meter.Limits().Nesting, known: map[known]parsed{}}
	result := p.dynaml()
	switch {
	case p.failure != nil:
		return nil, &syntaxError{p.furthest, p.failure}
	case !result.ok() || result.end != len(text):
		return nil, &syntaxError{p.furthest, template.Problemf("the expression cannot be read from here on")}
	}
	return result.expr, nil
}

// remember returns the memoised result of a rule at a position, and applies the rule only once.
func (p *parser) remember(r rule, pos int, apply func(int) parsed) parsed {
	if p.failure != nil {
		return none
	}
	if result, ok := p.known[known{r, pos}]; ok {
		return result
	}
	result := apply(pos)
	if result.ok() {
		p.furthest = max(p.furthest, result.end)
	}
	p.known[known{r, pos}] = result
	return result
}

// nested limits the recursion of the grammar.
func (p *parser) nested(pos int, apply func(int) parsed) parsed {
	if p.depth >= p.limit {
		p.furthest = pos
		p.failure = &template.LimitError{Limit: "Nesting", Max: int64(p.limit), Hint: "the expression nests deeper than %d levels"}
		return none
	}
	p.depth++
	defer func() { p.depth-- }()
	return apply(pos)
}

// giveUp ends the parsing with an error to report.
func (p *parser) giveUp(pos int, format string, args ...any) parsed {
	if p.failure == nil {
		p.furthest = pos
		p.failure = template.Problemf(format, args...)
	}
	return none
}

// word returns the end of a word at a position, or -1.
func (p *parser) word(pos int, word string) int {
	if pos < 0 || !strings.HasPrefix(p.text[pos:], word) {
		return -1
	}
	return pos + len(word)
}

// keyword is word for words that could be the beginning of a name.
func (p *parser) keyword(pos int, word string) int {
	end := p.word(pos, word)
	if end >= 0 && end < len(p.text) && (isName(p.text[end]) || p.text[end] == '-' && end+1 < len(p.text) && isName(p.text[end+1])) {
		return -1
	}
	return end
}

// space skips white space.
func (p *parser) space(pos int) int {
	for pos >= 0 && pos < len(p.text) && strings.IndexByte(" \t\n\r", p.text[pos]) >= 0 {
		pos++
	}
	return pos
}

// gap skips white space and returns -1 if there is none.
func (p *parser) gap(pos int) int {
	if end := p.space(pos); end > pos {
		return end
	}
	return -1
}

// while returns the end of a run of bytes.
func (p *parser) while(pos int, accept func(byte) bool) int {
	for pos < len(p.text) && accept(p.text[pos]) {
		pos++
	}
	return pos
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isName(b byte) bool {
	return b == '_' || isDigit(b) || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func isKey(b byte) bool { return isName(b) || b == '-' }

// name parses a name and returns its end, or -1.
func (p *parser) name(pos int) int {
	if end := p.while(pos, isName); end > pos {
		return end
	}
	return -1
}

// key parses a component of a path, such as alice or name:alice, and returns its end, or -1.
func (p *parser) key(pos int) int {
	if pos >= len(p.text) || !isName(p.text[pos]) {
		return -1
	}
	end := p.while(pos, isKey)
	if next := end + 1; end < len(p.text) && p.text[end] == ':' && next < len(p.text) && isName(p.text[next]) {
		return p.while(next, isKey)
	}
	return end
}

// index parses a constant index in brackets and returns its end, or -1.
func (p *parser) index(pos int) int {
	start := p.word(pos, "[")
	if start < 0 {
		return -1
	}
	digits := start
	if minus := p.word(start, "-"); minus > 0 {
		digits = minus
	}
	end := p.while(digits, isDigit)
	if end == digits {
		return -1
	}
	return p.word(end, "]")
}

// at returns the span of text that an expression was parsed from.
func at(pos, end int) span { return span{pos, end} }

// literal parses a string, a number or one of the words that stand for a value.
func (p *parser) literal(pos int) parsed {
	for _, read := range []func(int) parsed{p.address, p.quoted, p.number, p.constant, p.symbol} {
		if result := read(pos); result.ok() || p.failure != nil {
			return result
		}
	}
	return none
}

// address parses an IP address, which needs no quotes.
func (p *parser) address(pos int) parsed {
	end := pos
	for part := range 4 {
		if part > 0 {
			if end = p.word(end, "."); end < 0 {
				return none
			}
		}
		digits := p.while(end, isDigit)
		if digits == end {
			return none
		}
		end = digits
	}
	return parsed{&literal{at(pos, end), p.text[pos:end]}, end}
}

func (p *parser) quoted(pos int) parsed {
	if p.word(pos, "\"") < 0 {
		return none
	}
	end := pos + 1
	for ; end < len(p.text) && p.text[end] != '"'; end++ {
		if p.text[end] == '\\' {
			end++
		}
	}
	if end >= len(p.text) {
		return none
	}
	end++
	var value string
	if json.Unmarshal([]byte(p.text[pos:end]), &value) != nil {
		return p.giveUp(pos, "the string is not written as in JSON")
	}
	return parsed{&literal{at(pos, end), value}, end}
}

func (p *parser) number(pos int) parsed {
	start := pos
	if minus := p.word(pos, "-"); minus > 0 {
		start = minus
	}
	if start >= len(p.text) || !isDigit(p.text[start]) {
		return none
	}
	end := p.while(start, func(b byte) bool { return isDigit(b) || b == '_' })
	end, fraction := p.fraction(end)
	if p.word(end, "::") > 0 {
		return none
	}
	digits := strings.ReplaceAll(p.text[pos:end], "_", "")
	if fraction {
		value, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return p.giveUp(pos, "the number is out of range")
		}
		return parsed{&literal{at(pos, end), value}, end}
	}
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return p.giveUp(pos, "the number is out of range")
	}
	return parsed{&literal{at(pos, end), value}, end}
}

// fraction parses what follows the integer part of a number, and reports whether there is anything.
func (p *parser) fraction(pos int) (end int, found bool) {
	end = pos
	if point := p.word(end, "."); point > 0 {
		if digits := p.while(point, isDigit); digits > point {
			end = digits
		}
	}
	if exponent := end; exponent < len(p.text) && (p.text[exponent] == 'e' || p.text[exponent] == 'E') {
		exponent++
		if minus := p.word(exponent, "-"); minus > 0 {
			exponent = minus
		}
		if digits := p.while(exponent, isDigit); digits > exponent {
			end = digits
		}
	}
	return end, end > pos
}

// constants are the words that stand for a value.
var constants = []struct {
	word  string
	value value
}{{"true", true}, {"false", false}, {"nil", nil}}

func (p *parser) constant(pos int) parsed {
	for _, constant := range constants {
		if end := p.keyword(pos, constant.word); end > 0 {
			return parsed{&literal{at(pos, end), constant.value}, end}
		}
	}
	if end := p.word(pos, "~~"); end > 0 {
		return parsed{&undefined{at(pos, end)}, end}
	}
	if end := p.word(pos, "~"); end > 0 {
		return parsed{&literal{at(pos, end), nil}, end}
	}
	return none
}

// symbol parses a name that stands for itself.
func (p *parser) symbol(pos int) parsed {
	start := p.word(pos, "$")
	if start < 0 {
		return none
	}
	end := p.name(start)
	if end < 0 {
		return none
	}
	return parsed{&literal{at(pos, end), p.text[start:end]}, end}
}
