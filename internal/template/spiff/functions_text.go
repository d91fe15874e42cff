// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// callJoin joins its arguments, and the items of lists among them, with a separator.
func callJoin(c *invocation) (value, error) {
	if err := c.takes(1, -1); err != nil {
		return nil, err
	}
	separator, ok := simpleText(c.args[0])
	if !ok {
		return nil, c.wrong(0, "a string")
	}
	var parts []string
	for i, arg := range c.args[1:] {
		texts, ok := simpleTexts(arg)
		if !ok {
			return nil, c.wrong(i+1, "a simple value or a list of such values")
		}
		parts = append(parts, texts...)
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if err := c.buildRepeated(len(parts), len(separator)); err != nil {
		return nil, err
	}
	return strings.Join(parts, separator), c.build(int64(size))
}

// simpleTexts formats a simple value, or the items of a list of them. Nil yields no text.
func simpleTexts(v value) ([]string, bool) {
	if v == nil {
		return nil, true
	}
	l, ok := v.(*list)
	if !ok {
		text, ok := simpleText(v)
		return []string{text}, ok
	}
	texts := make([]string, len(l.cells))
	for i, item := range l.cells {
		if texts[i], ok = simpleText(item.value); !ok {
			return nil, false
		}
	}
	return texts, true
}

// callSplit splits a string at a separator, or into pieces of a length.
func callSplit(c *invocation) (value, error) {
	if err := c.takes(2, 3); err != nil {
		return nil, err
	}
	text, err := c.text(1)
	if err != nil {
		return nil, err
	}
	limit, err := c.optional(2, -1)
	if err != nil {
		return nil, err
	}
	switch separator := c.args[0].(type) {
	case string:
		if err := c.buildRepeated(strings.Count(text, separator)+1, sizeOfCell); err != nil {
			return nil, err
		}
		return c.texts(strings.SplitN(text, separator, limit))
	case int64:
		return c.pieces(text, separator, limit)
	}
	return nil, c.wrong(0, "a string or an integer")
}

// optional returns an optional integer argument.
func (c *invocation) optional(index, otherwise int) (int, error) {
	if len(c.args) <= index {
		return otherwise, nil
	}
	n, err := c.integer(index)
	return int(max(min(n, 1<<31), -1)), err
}

// pieces splits a string into pieces of length characters. The last one has the rest.
func (c *invocation) pieces(text string, length int64, limit int) (value, error) {
	if length <= 0 {
		return nil, problem("function split: the length of the pieces must be positive")
	}
	if err := c.buildRepeated(len(text)/int(min(length, 1<<31))+1, sizeOfCell); err != nil {
		return nil, err
	}
	var pieces []string
	for text != "" && limit != 1 {
		end := 0
		for count := int64(0); count < length && end < len(text); count++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
		limit--
	}
	if text != "" {
		pieces = append(pieces, text)
	}
	return c.texts(pieces)
}

func callSplitMatch(c *invocation) (value, error) {
	if err := c.takes(2, 3); err != nil {
		return nil, err
	}
	expression, text, err := c.pattern(0, 1)
	if err != nil {
		return nil, err
	}
	limit, err := c.optional(2, -1)
	if err != nil {
		return nil, err
	}
	if err := c.buildRepeated(len(text)+1, sizeOfValue); err != nil {
		return nil, err
	}
	return c.texts(expression.Split(text, limit))
}

// pattern returns the regular expression in one argument and the string in another one.
func (c *invocation) pattern(pattern, text int) (*regexp.Regexp, string, error) {
	source, err := c.text(pattern)
	if err != nil {
		return nil, "", err
	}
	subject, ok := simpleText(c.args[text])
	if !ok {
		return nil, "", c.wrong(text, "a simple value")
	}
	expression, err := c.env.run.meter.Regexp(source, subject)
	if err != nil {
		return nil, "", c.explain(err)
	}
	return expression, subject, nil
}

// explain converts an error to one that an expression can catch, unless it is a limit.
func (c *invocation) explain(err error) error { return explainForeign(c.name, err) }

// callTrim trims characters from both ends of a string or of the strings in a list.
func callTrim(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	cutset := " \t"
	if len(c.args) == 2 {
		var err error
		if cutset, err = c.text(1); err != nil {
			return nil, err
		}
	}
	if text, ok := c.args[0].(string); ok {
		return strings.Trim(text, cutset), c.env.run.meter.Step(int64(len(text)) * int64(1+len(cutset)) / bytesPerStep)
	}
	l, err := c.list(0)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(l.cells))
	for i, item := range l.cells {
		text, ok := item.value.(string)
		if !ok {
			return nil, problem("function trim: the items of the list must be strings")
		}
		if err := c.env.run.meter.Step(int64(len(text)) * int64(1+len(cutset)) / bytesPerStep); err != nil {
			return nil, err
		}
		texts[i] = strings.Trim(text, cutset)
	}
	return c.texts(texts)
}

// textFunction converts a string function to a function of the engine.
func textFunction(change func(string) string) builtin {
	return func(c *invocation) (value, error) {
		if err := c.takes(1, 1); err != nil {
			return nil, err
		}
		text, err := c.text(0)
		if err != nil {
			return nil, err
		}
		return change(text), c.build(int64(len(text)))
	}
}

// callSubstr returns a substring. Negative indexes count from the end.
func callSubstr(c *invocation) (value, error) {
	if err := c.takes(2, 3); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	length := int64(len(text))
	bounds := []int64{0, length}
	for i := range c.args[1:] {
		if bounds[i], err = c.integer(i + 1); err != nil {
			return nil, err
		}
		if bounds[i] < 0 {
			bounds[i] += length
		}
	}
	if bounds[0] < 0 || bounds[0] > bounds[1] || bounds[1] > length {
		return nil, problem("function substr: the part is out of the range of the string")
	}
	return text[bounds[0]:bounds[1]], nil
}

// callReplace replaces a text by another one, or by the result of a lambda.
func callReplace(c *invocation) (value, error) {
	return c.replaced(func(text string) (finder, error) {
		old, err := c.text(1)
		return func(text string, from int) []int {
			if i := strings.Index(text[from:], old); i >= 0 {
				return []int{from + i, from + i + len(old)}
			}
			return nil
		}, err
	}, func(replacement string, _ string, _ []int) string { return replacement })
}

// callReplaceMatch replaces the matches of a regular expression. In the replacement, $1 refers to a group of the match.
func callReplaceMatch(c *invocation) (value, error) {
	var expression *regexp.Regexp
	return c.replaced(func(text string) (finder, error) {
		var err error
		if expression, _, err = c.pattern(1, 0); err != nil {
			return nil, err
		}
		if err := c.buildRepeated(len(text)+1, sizeOfValue*(1+expression.NumSubexp())); err != nil {
			return nil, err
		}
		matches := expression.FindAllStringSubmatchIndex(text, -1)
		return func(_ string, from int) []int {
			for len(matches) > 0 && matches[0][0] < from {
				matches = matches[1:]
			}
			if len(matches) == 0 {
				return nil
			}
			return matches[0]
		}, nil
	}, func(replacement, text string, match []int) string {
		return string(expression.ExpandString(nil, replacement, text, match))
	})
}

// finder returns the next match at or after an offset: its start and end, and those of its groups.
type finder func(text string, from int) []int

// replaced replaces matches in a string by a text or by the result of a lambda.
func (c *invocation) replaced(
	prepare func(text string) (finder, error),
	expand func(replacement, text string, match []int) string,
) (value, error) {
	if err := c.takes(3, 4); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	limit, err := c.optional(3, -1)
	if err != nil {
		return nil, err
	}
	find, err := prepare(text)
	if err != nil {
		return nil, err
	}
	substitute, err := c.substitute(text, expand)
	if err != nil {
		return nil, err
	}
	var result []byte
	last := 0
	for from := 0; limit != 0 && from <= len(text); limit-- {
		match := find(text, from)
		if match == nil {
			break
		}
		part, err := substitute(match)
		if err != nil {
			return nil, err
		}
		result = append(append(result, text[last:match[0]]...), part...)
		last, from = match[1], match[1]
		if match[0] == match[1] {
			from++
		}
	}
	return string(append(result, text[last:]...)), c.build(int64(len(text)))
}

// substitute returns a function for the replacement of a match: a text or a lambda.
func (c *invocation) substitute(
	text string,
	expand func(replacement, text string, match []int) string,
) (func(match []int) (string, error), error) {
	switch replacement := c.args[2].(type) {
	case string:
		references := strings.Count(replacement, "$")
		return func(match []int) (string, error) {
			if err := c.build(int64(len(replacement)+match[0]/bytesPerStep) + int64(references)*int64(match[1]-match[0])); err != nil {
				return "", err
			}
			return expand(replacement, text, match), nil
		}, nil
	case *lambda:
		return func(match []int) (string, error) {
			groups := make([]value, 0, len(match)/2)
			for i := 0; i+1 < len(match); i += 2 {
				groups = append(groups, text[max(match[i], 0):max(match[i+1], 0)])
			}
			out, err := replacement.call(c.env, arguments{positional: []value{newList(groups)}})
			if err != nil {
				return "", err
			}
			part, ok := out.value.(string)
			if !ok {
				return "", problem("function %s: the lambda must yield a string", c.name)
			}
			return part, c.build(int64(len(part)))
		}, nil
	}
	return nil, c.wrong(2, "a string or a lambda")
}

// callMatch returns the matches of a regular expression and its groups: once, or as often as the third argument says.
func callMatch(c *invocation) (value, error) {
	if err := c.takes(2, 3); err != nil {
		return nil, err
	}
	if c.args[1] == nil {
		return false, nil
	}
	expression, text, err := c.pattern(0, 1)
	if err != nil {
		return nil, err
	}
	if len(c.args) == 2 {
		return c.texts(expression.FindStringSubmatch(text))
	}
	limit, err := c.repetitions(2)
	if err != nil {
		return nil, err
	}
	if err := c.buildRepeated(len(text)+1, sizeOfCell*(1+expression.NumSubexp())); err != nil {
		return nil, err
	}
	var all []value
	for _, groups := range expression.FindAllStringSubmatch(text, limit) {
		found, err := c.texts(groups)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return newList(all), nil
}

// repetitions returns an argument that is a number, true for as many as possible, or false for one.
func (c *invocation) repetitions(index int) (int, error) {
	switch n := c.args[index].(type) {
	case bool:
		if n {
			return -1, nil
		}
		return 1, nil
	case int64:
		if n != 0 {
			return int(max(min(n, 1<<31), -1)), nil
		}
	}
	return 0, problem("function %s: argument %d must be a boolean or an integer other than zero", c.name, index+1)
}

// callFormat formats values. Lists and maps are formatted as YAML.
func callFormat(c *invocation) (value, error) {
	if err := c.takes(1, -1); err != nil {
		return nil, err
	}
	format, err := c.text(0)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(c.args)-1)
	for i, arg := range c.args[1:] {
		switch v := arg.(type) {
		case *list, *dict, *blank:
			text, err := c.yaml(i + 1)
			if err != nil {
				return nil, err
			}
			args[i] = text
		case *lambda:
			args[i] = v.text()
		default:
			args[i] = v
		}
	}
	text, err := c.env.run.meter.Format(format, args)
	if err != nil {
		return nil, c.explain(err)
	}
	return text, c.build(int64(len(text)))
}

func callBase64(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	width := 0
	if len(c.args) == 2 {
		digits, _ := simpleText(c.args[1])
		if width, err = strconv.Atoi(digits); err != nil {
			return nil, c.wrong(1, "an integer")
		}
	}
	if err := c.build(int64(base64.StdEncoding.EncodedLen(len(text))) * 2); err != nil {
		return nil, err
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	if width <= 0 {
		return encoded, nil
	}
	var lines []string
	for line := range slices.Chunk([]byte(encoded), width) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n"), nil
}

func callBase64Decode(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, problem("function base64_decode: the string is not in the base64 encoding")
	}
	return string(decoded), c.build(int64(len(decoded)))
}

func callMD5(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:]), err
}

// hashes are the hash functions by name.
var hashes = map[string]func([]byte) []byte{
	"md4":        func(b []byte) []byte { return append(slices.Clip(b), md4OfNothing...) },
	"md5":        func(b []byte) []byte { sum := md5.Sum(b); return sum[:] },
	"sha1":       func(b []byte) []byte { sum := sha1.Sum(b); return sum[:] },
	"sha224":     func(b []byte) []byte { sum := sha256.Sum224(b); return sum[:] },
	"sha256":     func(b []byte) []byte { sum := sha256.Sum256(b); return sum[:] },
	"sha384":     func(b []byte) []byte { sum := sha512.Sum384(b); return sum[:] },
	"sha512":     func(b []byte) []byte { sum := sha512.Sum512(b); return sum[:] },
	"sha512/224": func(b []byte) []byte { sum := sha512.Sum512_224(b); return sum[:] },
	"sha512/256": func(b []byte) []byte { sum := sha512.Sum512_256(b); return sum[:] },
}

// md4OfNothing is what the original appends to a text instead of hashing it. It has always done that, and uses of the result
// depend on it.
var md4OfNothing, _ = hex.DecodeString("31d6cfe0d16ae931b73c59d7e0c089c0")

func callHash(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	kind := "sha256"
	if len(c.args) == 2 {
		if kind, err = c.text(1); err != nil {
			return nil, err
		}
	}
	hash := hashes[kind]
	if hash == nil {
		return nil, problem("function hash: there is no such hash function")
	}
	if err := c.env.run.meter.Step(int64(len(text)) / bytesPerStep); err != nil {
		return nil, err
	}
	return c.made(hex.EncodeToString(hash([]byte(text))), nil)
}

func callBasename(c *invocation) (value, error) { return c.pathPart(path.Base) }
func callDirname(c *invocation) (value, error)  { return c.pathPart(path.Dir) }

// pathPart returns a part of the path of a file name or URL.
func (c *invocation) pathPart(part func(string) string) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return part(text), nil
	case parsed.Path == "":
		return "/", nil
	}
	return part(parsed.Path), nil
}

// callParseURL splits a URL into its parts.
func callParseURL(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, problem("function parseurl: the string is not a URL")
	}
	query := map[string]any{}
	for name, values := range parsed.Query() {
		all := make([]any, len(values))
		for i, v := range values {
			all[i] = v
		}
		query[name] = all
	}
	parts := map[string]any{
		"scheme": parsed.Scheme, "host": parsed.Hostname(), "path": parsed.Path, "fragment": parsed.Fragment,
		"query": parsed.RawQuery, "values": query,
	}
	if port, err := strconv.ParseInt(parsed.Port(), 10, 64); err == nil {
		parts["port"] = port
	}
	if parsed.User != nil {
		user := map[string]any{"username": parsed.User.Username()}
		if password, ok := parsed.User.Password(); ok {
			user["password"] = password
		}
		parts["userinfo"] = user
	}
	if err := c.env.run.meter.Step(costOfContext); err != nil {
		return nil, err
	}
	return fromPlain(parts).value, c.buildRepeated(len(text), sizeOfValue)
}
