// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"reflect"
	"strings"
	gotemplate "text/template"

	"github.com/Masterminds/sprig/v3"
)

// class is how much of its arguments a function processes, and so determines the cost of a call.
type class int

const (
	// accessor returns a part of its arguments or a small result. Long strings cost time.
	accessor class = iota
	// copier returns a result of about the size of its arguments, not counting the contents of lists and maps.
	copier
	// walker processes everything inside its arguments.
	walker
	// decimal calculates with decimal fractions, whose digits grow with every argument.
	decimal
	// writer is a walker that converts values to text. It gets numbers in the form of JSON.
	writer
)

// entry is a library function that is wrapped unchanged.
type entry struct {
	value reflect.Value
	class class
	// cost is the minimum cost of a call in steps.
	cost int64
	// signature is the type of the wrapper: the same parameters, any result, and an error.
	signature reflect.Type
}

func newEntry(function any, class class, cost int64) entry {
	value := reflect.ValueOf(function)
	typ := value.Type()
	parameters := make([]reflect.Type, typ.NumIn())
	for i := range parameters {
		parameters[i] = typ.In(i)
	}
	signature := reflect.FuncOf(parameters, []reflect.Type{anyType, errorType}, typ.IsVariadic())
	return entry{value, class, 1 + cost, signature}
}

// classes classifies the functions of sprig that are safe once their arguments and results are counted. A function that is
// neither here nor reimplemented nor rejected does not exist, so that a new version of sprig adds no functions.
var classes = map[class]string{
	accessor: `add add1 sub div mod mul max min biggest ceil floor round int int64 float64 atoi
		default empty coalesce all any ternary typeOf typeIs typeIsLike kindOf kindIs hello
		get hasKey dig first mustFirst last mustLast contains hasPrefix hasSuffix isAbs osIsAbs plural`,
	copier: `trim trimall trimAll trimSuffix trimPrefix upper lower title untitle substr trunc abbrev abbrevboth nospace
		initials swapcase snakecase camelcase kebabcase sha1sum sha256sum sha512sum adler32sum b64enc b64dec b32enc b32dec
		base dir clean ext osBase osClean osDir osExt list tuple append mustAppend push mustPush prepend mustPrepend
		rest mustRest initial mustInitial reverse mustReverse compact mustCompact slice mustSlice concat pick omit pluck
		urlParse urlJoin regexQuoteMeta duration durationRound decryptAES semverCompare`,
	walker:  `toStrings sortAlpha toDecimal toJson toPrettyJson toRawJson mustToJson mustToPrettyJson mustToRawJson deepEqual`,
	decimal: `addf add1f subf divf mulf maxf minf`,
	writer:  `quote squote cat`,
}

// costs are the costs of calls in steps beyond their class, for functions that do a lot with a few bytes.
var costs = map[string]int64{"semverCompare": 150, "urlParse": 20, "urlJoin": 20, "addf": 5, "subf": 5, "mulf": 5, "divf": 20}

// inner are functions of sprig that functions of this package call after charging for them.
const inner = "wrap wrapWith mustMerge mustMergeOverwrite derivePassword"

// library holds the functions of sprig and text/template that are used unchanged.
var library = buildLibrary()

func buildLibrary() map[string]entry {
	known := map[string]entry{
		"html":     newEntry(gotemplate.HTMLEscaper, writer, 0),
		"js":       newEntry(gotemplate.JSEscaper, writer, 0),
		"urlquery": newEntry(gotemplate.URLQueryEscaper, writer, 0),
	}
	functions := sprig.HermeticTxtFuncMap()
	for _, name := range strings.Fields(inner) {
		known[name] = newEntry(functions[name], copier, 0)
	}
	for class, names := range classes {
		for _, name := range strings.Fields(names) {
			known[name] = newEntry(functions[name], class, costs[name])
		}
	}
	return known
}

// builtin are the functions of text/template that need no wrapper: they only use lengths and truth, or are part of the
// language.
var builtin = []string{"and", "or", "not", "len"}

// bound are the reimplemented functions. Each is created for one rendering.
var bound = map[string]func(*run) any{
	"include":  func(r *run) any { return r.include },
	"readFile": func(r *run) any { return r.files.Read },
	"readDir":  func(r *run) any { return r.files.List },
	"fail":     func(r *run) any { return r.fail },

	"eq":    func(r *run) any { return r.equal },
	"ne":    func(r *run) any { return r.notEqual },
	"lt":    func(r *run) any { return r.compared(func(c int) bool { return c < 0 }) },
	"le":    func(r *run) any { return r.compared(func(c int) bool { return c <= 0 }) },
	"gt":    func(r *run) any { return r.compared(func(c int) bool { return c > 0 }) },
	"ge":    func(r *run) any { return r.compared(func(c int) bool { return c >= 0 }) },
	"index": func(r *run) any { return r.index },

	"toString":  func(r *run) any { return r.toString },
	"print":     func(r *run) any { return r.print },
	"println":   func(r *run) any { return r.println },
	"printf":    func(r *run) any { return r.printf },
	"repeat":    func(r *run) any { return r.repeat },
	"indent":    func(r *run) any { return r.indent },
	"nindent":   func(r *run) any { return r.nindent },
	"replace":   func(r *run) any { return r.replace },
	"join":      func(r *run) any { return r.join },
	"split":     func(r *run) any { return r.split },
	"splitn":    func(r *run) any { return r.splitn },
	"splitList": func(r *run) any { return r.splitList },
	"wrap":      func(r *run) any { return r.wrap },
	"wrapWith":  func(r *run) any { return r.wrapWith },

	"until":     func(r *run) any { return r.until },
	"untilStep": func(r *run) any { return r.untilStep },
	"seq":       func(r *run) any { return r.sequence },
	"semver":    func(r *run) any { return r.version },

	"dict":               func(r *run) any { return r.dict },
	"set":                func(r *run) any { return r.set },
	"unset":              func(r *run) any { return r.unset },
	"keys":               func(r *run) any { return r.keys },
	"values":             func(r *run) any { return r.values },
	"merge":              func(r *run) any { return r.merge },
	"mustMerge":          func(r *run) any { return r.merge },
	"mergeOverwrite":     func(r *run) any { return r.mergeOverwrite },
	"mustMergeOverwrite": func(r *run) any { return r.mergeOverwrite },
	"deepCopy":           func(r *run) any { return r.deepCopy },
	"mustDeepCopy":       func(r *run) any { return r.deepCopy },
	"uniq":               func(r *run) any { return r.uniq },
	"mustUniq":           func(r *run) any { return r.uniq },
	"without":            func(r *run) any { return r.without },
	"mustWithout":        func(r *run) any { return r.without },
	"has":                func(r *run) any { return r.has },
	"mustHas":            func(r *run) any { return r.has },
	"chunk":              func(r *run) any { return r.chunk },
	"mustChunk":          func(r *run) any { return r.chunk },

	"regexMatch":                 func(r *run) any { return r.regexMatch },
	"mustRegexMatch":             func(r *run) any { return r.regexMatch },
	"regexFind":                  func(r *run) any { return r.regexFind },
	"mustRegexFind":              func(r *run) any { return r.regexFind },
	"regexFindAll":               func(r *run) any { return r.regexFindAll },
	"mustRegexFindAll":           func(r *run) any { return r.regexFindAll },
	"regexReplaceAll":            func(r *run) any { return r.regexReplaceAll },
	"mustRegexReplaceAll":        func(r *run) any { return r.regexReplaceAll },
	"regexReplaceAllLiteral":     func(r *run) any { return r.regexReplaceAllLiteral },
	"mustRegexReplaceAllLiteral": func(r *run) any { return r.regexReplaceAllLiteral },
	"regexSplit":                 func(r *run) any { return r.regexSplit },
	"mustRegexSplit":             func(r *run) any { return r.regexSplit },

	"derivePassword": func(r *run) any { return r.derivePassword },

	"toYaml":       func(r *run) any { return r.toYAML },
	"fromYaml":     func(r *run) any { return r.meter.DecodeYAML },
	"fromJson":     func(r *run) any { return r.fromJSON },
	"mustFromJson": func(r *run) any { return r.fromJSON },
}

// knownFunctions returns the names that a template may use.
func knownFunctions(added []string) map[string]bool {
	known := map[string]bool{}
	for name := range library {
		known[name] = true
	}
	for name := range bound {
		known[name] = true
	}
	for name := range refused {
		known[name] = true
	}
	for name := range generators {
		known[name] = true
	}
	for _, name := range append(builtin, added...) {
		known[name] = true
	}
	return known
}
