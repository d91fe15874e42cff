// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

// chained parses an expression that can be followed by fields, indexes and calls.
func (p *parser) chained(pos int) parsed {
	if p.word(pos, "sync[") > 0 {
		return p.giveUp(pos, "sync is not available in blueprints because %s", becauseWaiting)
	}
	for _, read := range []func(int) parsed{
		p.iteration, p.catch, p.aggregation, p.list, p.object, p.interval, p.grouped, p.reference, p.topIndex,
	} {
		result := read(pos)
		if p.failure != nil {
			return none
		}
		if result.ok() {
			return p.suffixes(result)
		}
	}
	return none
}

// iterations are the words that apply a function to every element, with the opening bracket.
var iterations = []struct {
	open  string
	close string
	kind  iterationKind
}{
	{"map{", "}", mapToMap},
	{"map[", "]", mapToList},
	{"select{", "}", selectToMap},
	{"select[", "]", selectToList},
}

func (p *parser) iteration(pos int) parsed {
	for _, form := range iterations {
		source := p.orAt(p.word(pos, form.open))
		if !source.ok() {
			continue
		}
		apply := p.functionOrBar(source.end)
		if !apply.ok() {
			continue
		}
		if end := p.word(apply.end, form.close); end > 0 {
			return parsed{&iteration{at(pos, end), form.kind, source.expr, apply.expr}, end}
		}
	}
	return none
}

// orAt is or for a position that may not exist.
func (p *parser) orAt(pos int) parsed {
	if pos < 0 {
		return none
	}
	return p.or(pos)
}

// functionOrBar parses a function, or a bar and an expression that yields one.
func (p *parser) functionOrBar(pos int) parsed {
	if result := p.lambda(pos); result.ok() {
		return result
	}
	return p.expression(p.word(pos, "|"))
}

func (p *parser) catch(pos int) parsed {
	source := p.orAt(p.word(pos, "catch["))
	if !source.ok() {
		return none
	}
	apply := p.functionOrBar(source.end)
	if !apply.ok() {
		return none
	}
	end := p.word(apply.end, "]")
	if end < 0 {
		return none
	}
	return parsed{&catch{at(pos, end), source.expr, apply.expr}, end}
}

func (p *parser) aggregation(pos int) parsed {
	source := p.orAt(p.word(pos, "sum["))
	if !source.ok() {
		return none
	}
	initial := p.orAt(p.word(source.end, "|"))
	if !initial.ok() {
		return none
	}
	apply := p.functionOrBar(initial.end)
	if !apply.ok() {
		return none
	}
	end := p.word(apply.end, "]")
	if end < 0 {
		return none
	}
	return parsed{&aggregation{at(pos, end), source.expr, initial.expr, apply.expr}, end}
}

func (p *parser) list(pos int) parsed {
	start := p.word(pos, "[")
	if start < 0 {
		return none
	}
	items, end := p.expressions(p.space(start))
	if end = p.word(end, "]"); end < 0 {
		return none
	}
	return parsed{&listing{at(pos, end), items}, end}
}

// expressions parses expressions separated by commas. There may be none.
func (p *parser) expressions(pos int) ([]argument, int) {
	var all []argument
	end := pos
	for {
		next := p.expression(pos)
		if !next.ok() {
			return all, end
		}
		item := argument{expr: next.expr}
		end = next.end
		if expanded := p.word(end, "..."); expanded > 0 {
			item.expanded, end = true, p.space(expanded)
		}
		all = append(all, item)
		if pos = p.word(end, ","); pos < 0 {
			return all, end
		}
	}
}

func (p *parser) object(pos int) parsed {
	start := p.word(pos, "{")
	if start < 0 {
		return none
	}
	assignments, end := p.assignments(p.space(start))
	if end = p.word(end, "}"); end < 0 {
		return none
	}
	return parsed{&mapping{at(pos, end), assignments}, end}
}

// interval parses two bounds; both may be omitted.
func (p *parser) interval(pos int) parsed {
	start := p.word(pos, "[")
	if start < 0 {
		return none
	}
	i := &interval{}
	if from := p.expression(start); from.ok() {
		i.from, start = from.expr, from.end
	}
	end := p.word(start, "..")
	if end < 0 {
		return none
	}
	if to := p.expression(end); to.ok() {
		i.to, end = to.expr, to.end
	}
	if end = p.word(end, "]"); end < 0 {
		return none
	}
	i.span = at(pos, end)
	return parsed{i, end}
}

func (p *parser) grouped(pos int) parsed {
	inner := p.expression(p.word(pos, "("))
	if !inner.ok() {
		return none
	}
	end := p.word(inner.end, ")")
	if end < 0 {
		return none
	}
	return parsed{&grouped{at(pos, end), inner.expr}, end}
}

func (p *parser) reference(pos int) parsed {
	if result := p.taggedReference(pos); result.ok() {
		return result
	}
	path, end := p.path(pos)
	if end < 0 {
		return none
	}
	return parsed{&reference{at(pos, end), path}, end}
}

// taggedReference parses a tag and the path after it; a dot stands for an empty path.
func (p *parser) taggedReference(pos int) parsed {
	end := p.tag(pos)
	if document := p.document(pos); document > 0 {
		end = document
	}
	start := p.word(end, "::")
	if start < 0 {
		return none
	}
	name := tagName(p.text[pos:end])
	if whole := p.word(start, "."); whole > 0 {
		return parsed{&tagged{at(pos, whole), name, nil}, whole}
	}
	last := p.key(start)
	if last < 0 {
		return none
	}
	path, last := p.follow([]string{p.text[start:last]}, last)
	if name == thisDocument {
		return parsed{&reference{at(pos, last), append([]string{""}, path...)}, last}
	}
	return parsed{&tagged{at(pos, last), name, path}, last}
}

// thisDocument is every document's tag for itself.
const thisDocument = "doc.0"

// document parses the tag of a document by its number.
func (p *parser) document(pos int) int {
	start := max(p.word(pos, "doc."), p.word(pos, "doc:"))
	if minus := p.word(start, "-"); minus > 0 {
		start = minus
	}
	if start < 0 {
		return -1
	}
	if end := p.while(start, isDigit); end > start {
		return end
	}
	return -1
}

// tag parses a tag, which consists of names separated by dots or colons, and returns its end, or -1.
func (p *parser) tag(pos int) int {
	if pos < 0 || pos >= len(p.text) || isDigit(p.text[pos]) {
		return -1
	}
	end := p.name(pos)
	for end > 0 && end < len(p.text) && (p.text[end] == '.' || p.text[end] == ':') {
		next := end + 1
		if next >= len(p.text) || isDigit(p.text[next]) || !isName(p.text[next]) {
			break
		}
		end = p.name(next)
	}
	return end
}

// path parses a path. An empty first component means that it starts at the root.
func (p *parser) path(pos int) ([]string, int) {
	if pos < 0 || pos > len(p.text) {
		return nil, -1
	}
	var path []string
	start := pos
	if dot := p.word(pos, "."); dot > 0 {
		path, start = []string{""}, dot
	}
	end := p.key(start)
	if end < 0 {
		return nil, -1
	}
	return p.follow(append(path, p.text[start:end]), end)
}

// follow parses the remaining components of a path.
func (p *parser) follow(path []string, pos int) ([]string, int) {
	for {
		component, end := p.component(pos)
		if end < 0 {
			return path, pos
		}
		path, pos = append(path, component), end
	}
}

// component parses a dot and a key, or an index with or without a dot.
func (p *parser) component(pos int) (string, int) {
	dot := p.word(pos, ".")
	if dot > 0 {
		if end := p.key(dot); end > 0 {
			return p.text[dot:end], end
		}
		pos = dot
	}
	if end := p.index(pos); end > 0 {
		return p.text[pos:end], end
	}
	return "", -1
}

// topIndex parses a dot and an index into the document itself.
func (p *parser) topIndex(pos int) parsed {
	start := p.word(pos, ".")
	if start < 0 {
		return none
	}
	index := p.indices(start)
	if !index.ok() {
		return none
	}
	root := &reference{at(pos, start), []string{""}}
	return parsed{&dynamic{at(pos, index.end), root, index.expr}, index.end}
}

// indices parses the keys of a reference that is only known once evaluated.
func (p *parser) indices(pos int) parsed {
	start := p.word(pos, "[")
	if start < 0 {
		return none
	}
	items, end := p.expressions(p.space(start))
	if end = p.word(end, "]"); end < 0 || len(items) == 0 {
		return none
	}
	return parsed{&listing{at(pos, end), items}, end}
}

// suffixes parses fields, indexes and calls as long as there are any.
func (p *parser) suffixes(base parsed) parsed {
	for {
		next := p.suffix(base)
		if p.failure != nil {
			return none
		}
		if !next.ok() {
			return base
		}
		base = next
	}
}

func (p *parser) suffix(base parsed) parsed {
	for _, read := range []func(parsed) parsed{p.call, p.currying, p.field, p.dynamicField, p.projection} {
		if result := read(base); result.ok() {
			return result
		}
	}
	return none
}

func (p *parser) call(base parsed) parsed {
	start := p.word(base.end, "(")
	if start < 0 {
		return none
	}
	named, pos := p.namedArguments(p.space(start))
	positional, end := p.expressions(pos)
	if end = p.word(end, ")"); end < 0 {
		return none
	}
	from, _ := base.expr.where()
	return parsed{&call{at(from, end), base.expr, named, positional, false}, end}
}

// namedArguments parses names with values, and the comma after them if something follows.
func (p *parser) namedArguments(pos int) ([]namedArgument, int) {
	var all []namedArgument
	for {
		start := p.space(pos)
		end := p.name(start)
		if end < 0 {
			return all, pos
		}
		content := p.expression(p.assigned(end))
		if !content.ok() {
			return all, pos
		}
		all = append(all, namedArgument{p.text[start:end], content.expr})
		pos = content.end
		comma := p.word(pos, ",")
		if comma < 0 {
			return all, pos
		}
		pos = comma
	}
}

// assigned returns the start of the value after a single equals sign, or -1.
func (p *parser) assigned(pos int) int {
	end := p.word(p.space(pos), "=")
	if end < 0 || p.word(end, "=") > 0 {
		return -1
	}
	return end
}

func (p *parser) currying(base parsed) parsed {
	start := p.word(base.end, "*")
	if start < 0 {
		return none
	}
	result := p.call(parsed{base.expr, start})
	if result.ok() {
		result.expr.(*call).curry = true
	}
	return result
}

func (p *parser) field(base parsed) parsed {
	path, end := p.follow(nil, base.end)
	if len(path) == 0 {
		return none
	}
	from, _ := base.expr.where()
	return parsed{&qualified{at(from, end), base.expr, path}, end}
}

func (p *parser) dynamicField(base parsed) parsed {
	start := base.end
	if dot := p.word(start, "."); dot > 0 {
		start = dot
	}
	index := p.indices(start)
	if !index.ok() {
		return none
	}
	from, _ := base.expr.where()
	return parsed{&dynamic{at(from, index.end), base.expr, index.expr}, index.end}
}

// projection parses an expression that is applied to every element of a list or of a part of it.
func (p *parser) projection(base parsed) parsed {
	start := base.end
	if dot := p.word(start, "."); dot > 0 {
		start = dot
	}
	from, _ := base.expr.where()
	end := p.word(start, "[*]")
	if end < 0 {
		part := p.interval(start)
		if !part.ok() {
			return none
		}
		end = part.end
		base = parsed{&slice{at(from, end), base.expr, part.expr.(*interval)}, end}
	}
	element := &projected{at(end, end)}
	inner := p.suffixes(parsed{element, end})
	if !inner.ok() {
		return none
	}
	return parsed{&projection{at(from, inner.end), base.expr, inner.expr}, inner.end}
}
