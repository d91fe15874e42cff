// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"cmp"
	"strings"
)

// dynaml parses everything between the brackets of an expression.
func (p *parser) dynaml() parsed {
	if start := p.keyword(p.space(0), "prefer"); start > 0 {
		if result := p.expression(p.gap(start)); result.ok() {
			return parsed{&prefer{at(0, result.end), result.expr}, result.end}
		}
	}
	if result := p.marked(); result.ok() || p.failure != nil {
		return result
	}
	return p.expression(0)
}

// markers are the words after an ampersand.
var markers = map[string]flags{
	"template":  isTemplate,
	"temporary": isTemporary,
	"local":     isLocal,
	"inject":    isInject,
	"state":     isState,
	"default":   isDefault,
	"dynamic":   isDynamic,
}

// marked parses markers and the parenthesised expression that may follow them.
func (p *parser) marked() parsed {
	m := &marked{}
	pos := p.space(0)
	for next := pos; p.word(next, "&") > 0; {
		end := p.name(next + 1)
		if end < 0 {
			return none
		}
		flag, ok := markers[p.text[next+1:end]]
		if tag, after := p.tagMarker(next); after > 0 {
			m.tag, end = cmp.Or(m.tag, tag), after
		} else if !ok {
			return p.giveUp(next, "there is no marker %s", p.text[next:end])
		}
		m.flags |= flag
		pos = end
		if next = p.gap(end); next < 0 {
			break
		}
	}
	if m.flags == 0 && m.tag == "" {
		return none
	}
	pos = p.space(pos)
	if inner := p.grouped(pos); inner.ok() {
		m.inner, pos = inner.expr, p.space(inner.end)
	}
	m.span = at(0, pos)
	return parsed{m, pos}
}

// tagMarker parses a marker with a name for the node. A star exports the name to other documents, of which there are
// none.
func (p *parser) tagMarker(pos int) (string, int) {
	start := p.word(pos, "&tag:")
	if star := p.word(start, "*"); star > 0 {
		start = star
	}
	end := p.tag(start)
	if end < 0 {
		return "", -1
	}
	return tagName(p.text[start:end]), end
}

// expression parses a complete expression and the white space after it.
func (p *parser) expression(pos int) parsed {
	if pos < 0 {
		return none
	}
	return p.remember(ruleExpression, pos, func(pos int) parsed {
		return p.nested(pos, func(pos int) parsed {
			for _, read := range []func(int) parsed{p.scoped, p.lambda, p.or} {
				if result := read(pos); result.ok() || p.failure != nil {
					result.end = p.space(result.end)
					return result
				}
			}
			return none
		})
	})
}

// scoped parses names for values, in parentheses, and the expression that can use them.
func (p *parser) scoped(pos int) parsed {
	start := p.space(pos)
	open := p.word(start, "(")
	if open < 0 {
		return none
	}
	assignments, end := p.assignments(p.space(open))
	if end = p.word(end, ")"); end < 0 {
		return none
	}
	inner := p.expression(p.space(end))
	if !inner.ok() {
		return none
	}
	names := &mapping{at(start, end), assignments}
	return parsed{&scoped{at(start, inner.end), names, inner.expr}, inner.end}
}

// assignments parses keys and values. There may be none.
func (p *parser) assignments(pos int) ([]assignment, int) {
	var all []assignment
	end := pos
	for {
		next, after := p.assignment(pos)
		if after < 0 {
			return all, end
		}
		all, end = append(all, next), after
		if pos = p.word(end, ","); pos < 0 {
			return all, end
		}
	}
}

func (p *parser) assignment(pos int) (assignment, int) {
	key := p.expression(pos)
	if !key.ok() {
		return assignment{}, -1
	}
	content := p.expression(p.word(key.end, "="))
	if !content.ok() {
		return assignment{}, -1
	}
	return assignment{key.expr, content.expr}, content.end
}

// lambda parses a function without a name.
func (p *parser) lambda(pos int) parsed {
	start := p.space(pos)
	function, end := p.parameters(start)
	if end < 0 {
		return none
	}
	body := p.expression(p.word(p.space(end), "->"))
	if !body.ok() {
		return none
	}
	function.body = body.expr
	function.span = at(start, body.end)
	function.text = strings.TrimSpace(p.text[start:body.end])
	return parsed{function, body.end}
}

// parameters parses the parameters of a function, between bars.
func (p *parser) parameters(pos int) (*function, int) {
	pos = p.word(pos, "|")
	if pos < 0 {
		return nil, -1
	}
	f := &function{}
	pos = p.space(pos)
	for p.name(p.space(pos)) > 0 {
		start := p.space(pos)
		end := p.name(start)
		next := parameter{name: p.text[start:end]}
		pos = p.space(end)
		if initial := p.expression(p.word(pos, "=")); initial.ok() {
			next.initial, pos = initial.expr, initial.end
		} else if len(f.parameters) > 0 && f.parameters[len(f.parameters)-1].initial != nil {
			return nil, -1
		}
		f.parameters = append(f.parameters, next)
		comma := p.word(pos, ",")
		if comma < 0 {
			break
		}
		pos = comma
	}
	if rest := p.word(pos, "..."); rest > 0 && len(f.parameters) > 0 {
		f.variadic, pos = true, p.space(rest)
	}
	return f, p.word(pos, "|")
}

// or parses alternatives.
func (p *parser) or(pos int) parsed {
	return p.remember(ruleOr, pos, func(pos int) parsed {
		return p.series(p.space(pos), p.conditional, []string{"||", "//"})
	})
}

func (p *parser) conditional(pos int) parsed {
	return p.remember(ruleConditional, pos, func(pos int) parsed {
		condition := p.concatenation(pos)
		if !condition.ok() {
			return none
		}
		yes := p.expression(p.word(p.space(condition.end), "?"))
		if !yes.ok() {
			return condition
		}
		no := p.expression(p.word(yes.end, ":"))
		if !no.ok() {
			return condition
		}
		return parsed{&conditional{at(pos, no.end), condition.expr, yes.expr, no.expr}, no.end}
	})
}

func (p *parser) concatenation(pos int) parsed {
	return p.remember(ruleConcatenation, pos, func(pos int) parsed {
		left := p.logical(pos)
		for left.ok() {
			gap := p.gap(left.end)
			if gap < 0 {
				break
			}
			right := p.logical(gap)
			if !right.ok() {
				break
			}
			left = parsed{&operation{at(pos, right.end), "", left.expr, right.expr}, right.end}
		}
		return left
	})
}

func (p *parser) logical(pos int) parsed {
	return p.remember(ruleLogical, pos, func(pos int) parsed { return p.series(pos, p.comparison, []string{"-or", "-and"}) })
}

func (p *parser) comparison(pos int) parsed {
	return p.remember(ruleComparison, pos, func(pos int) parsed {
		return p.series(pos, p.sum, []string{"==", "!=", "<=", ">=", ">", "<"})
	})
}

func (p *parser) sum(pos int) parsed {
	return p.remember(ruleSum, pos, func(pos int) parsed { return p.series(pos, p.product, []string{"+", "-"}) })
}

func (p *parser) product(pos int) parsed {
	return p.remember(ruleProduct, pos, func(pos int) parsed { return p.series(pos, p.operand, []string{"*", "/", "%"}) })
}

// series parses operands separated by operators. White space around an operator is part of it.
func (p *parser) series(pos int, operand func(int) parsed, operators []string) parsed {
	left := operand(pos)
	for left.ok() {
		operator, start := p.operator(left.end, operators)
		if start < 0 {
			break
		}
		right := operand(start)
		if !right.ok() {
			break
		}
		left = parsed{&operation{at(pos, right.end), operator, left.expr, right.expr}, right.end}
	}
	return left
}

// operator returns the operator at a position and the start of the operand after it.
func (p *parser) operator(pos int, operators []string) (string, int) {
	start := p.gap(pos)
	for _, operator := range operators {
		if end := p.word(start, operator); end > 0 {
			if next := p.gap(end); next > 0 {
				return operator, next
			}
		}
	}
	return "", -1
}

// operand parses the operand of an operator.
func (p *parser) operand(pos int) parsed {
	return p.remember(ruleOperand, pos, func(pos int) parsed {
		return p.nested(pos, func(pos int) parsed {
			for _, read := range []func(int) parsed{p.literal, p.not, p.substitution, p.merge, p.auto, p.lambdaWord, p.chained} {
				if result := read(pos); result.ok() || p.failure != nil {
					return result
				}
			}
			return none
		})
	})
}

func (p *parser) not(pos int) parsed {
	start := p.word(pos, "!")
	if start < 0 {
		return none
	}
	inner := p.operand(p.space(start))
	if !inner.ok() {
		return none
	}
	return parsed{&not{at(pos, inner.end), inner.expr}, inner.end}
}

// substitution parses a star and the template to instantiate.
func (p *parser) substitution(pos int) parsed {
	start := p.word(pos, "*")
	if start < 0 {
		return none
	}
	inner := p.operand(start)
	if !inner.ok() {
		return none
	}
	return parsed{&substitution{at(pos, inner.end), inner.expr}, inner.end}
}

func (p *parser) auto(pos int) parsed {
	end := p.keyword(pos, "auto")
	if end < 0 {
		return none
	}
	return parsed{&automatic{at(pos, end)}, end}
}

// lambdaWord parses a function that starts with the word lambda, or an expression after it that yields one.
func (p *parser) lambdaWord(pos int) parsed {
	start := p.keyword(pos, "lambda")
	if start < 0 {
		return none
	}
	inner := p.expression(p.gap(start))
	if !inner.ok() {
		inner = p.lambda(start)
	}
	if !inner.ok() {
		return none
	}
	if _, ok := inner.expr.(*function); ok {
		return inner
	}
	return parsed{&lambdaReference{at(pos, inner.end), inner.expr}, inner.end}
}

// merge parses a reference to the stubs, which here means the state, the only stub.
func (p *parser) merge(pos int) parsed {
	start := p.keyword(pos, "merge")
	if start < 0 {
		return none
	}
	m := &merge{}
	end := p.mergeOption(start, m, []string{"replace", "on"})
	if ref, after := p.path(p.gap(end)); after > 0 && p.keyword(p.gap(start), "required") < 0 {
		m.redirect, m.path = true, ref
		m.nothing = len(ref) == 1 && ref[0] == "none"
		m.span = at(pos, after)
		return parsed{m, after}
	}
	if p.word(start, "(") > 0 {
		return none
	}
	*m = merge{}
	end = p.mergeOption(start, m, []string{"replace", "required", "on"})
	m.span = at(pos, end)
	return parsed{m, end}
}

// mergeOption parses one of the words after merge, if there is one.
func (p *parser) mergeOption(pos int, m *merge, options []string) int {
	start := p.gap(pos)
	for _, option := range options {
		end := p.keyword(start, option)
		if end < 0 {
			continue
		}
		switch option {
		case "replace":
			m.replace = true
		case "required":
			m.required = true
		default:
			key := p.gap(end)
			if key < 0 || p.name(key) < 0 {
				return pos
			}
			end = p.name(key)
			m.keyName = p.text[key:end]
		}
		return end
	}
	return pos
}
