// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"espalier.dev/internal/cli/plain"
)

// The two languages of templates, by the names that kubectl has for them.
const (
	langJSONPath   = "jsonpath"
	langGoTemplate = "go-template"
)

// templateFormat is a format that takes a template, or the name of a file with one, behind an equals sign.
type templateFormat struct {
	name, language string
	file           bool
}

var templateFormats = []templateFormat{
	{langJSONPath, langJSONPath, false},
	{langJSONPath + "-file", langJSONPath, true},
	{langGoTemplate, langGoTemplate, false},
	{langGoTemplate + "-file", langGoTemplate, true},
}

// argument is what stands behind the equals sign.
func (t templateFormat) argument() string {
	if t.file {
		return "FILE"
	}
	return "TEMPLATE"
}

// read returns the format with a template that was checked. Only what is found at run time can still go wrong.
func (t templateFormat) read(argument string) (Format, error) {
	flag := "--output " + t.name
	if argument == "" {
		return "", fmt.Errorf("%s needs a %s: %s=%s", flag, strings.ToLower(t.argument()), flag, t.example())
	}
	text := argument
	if t.file {
		content, err := os.ReadFile(argument)
		if err != nil {
			return "", fmt.Errorf("%s: %w", flag, err)
		}
		text = string(content)
		flag += "=" + argument
	} else if t.language == langJSONPath {
		text = braced(argument)
	}
	check := checkJSONPath
	if t.language == langGoTemplate {
		check = checkGoTemplate
	}
	if err := check(text); err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return Format(t.language + "=" + text), nil
}

// braced puts braces around a path without any, as kubectl does for --sort-by: nobody wants to print the path itself.
func braced(text string) string {
	if strings.HasPrefix(text, ".") && !strings.ContainsAny(text, "{}") {
		return "{" + text + "}"
	}
	return text
}

func (t templateFormat) example() string {
	switch {
	case t.file:
		return "template.txt"
	case t.language == langJSONPath:
		return "'{.metadata.name}'"
	}
	return "'{{.metadata.name}}'"
}

// template takes a format apart that Get has returned.
func (f Format) template() (language, text string, isTemplate bool) {
	language, text, isTemplate = strings.Cut(string(f), "=")
	return language, text, isTemplate && (language == langJSONPath || language == langGoTemplate)
}

// fill prints what a template makes of the document that -o json prints: all of it, or nothing if something goes wrong. A missing field is
// empty, as for kubectl.
func (p Printer) fill(language, text string, value any) error {
	document, err := documentOf(value)
	if err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	var out bytes.Buffer
	if language == langJSONPath {
		err = guarded(func() error {
			path := jsonpath.New("output").AllowMissingKeys(true)
			if err := path.Parse(text); err != nil {
				return err
			}
			return path.Execute(&out, document)
		})
	} else {
		var parsed *template.Template
		if parsed, err = parseGoTemplate(text); err == nil {
			err = placed(parsed.Execute(&out, document))
		}
	}
	if err != nil {
		return fmt.Errorf("--output %s: %w", language, err)
	}
	_, err = p.w.Write(p.harmless(out.Bytes()))
	return err
}

// harmless takes out what could steer the terminal. Programs get every character: JSON would quote those.
func (p Printer) harmless(text []byte) []byte {
	if p.width == 0 {
		return text
	}
	return []byte(plain.Lines(string(text)))
}

// documentOf returns what the JSON of a value says. Whole numbers stay whole.
func documentOf(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var document any
	err = utiljson.Unmarshal(text, &document)
	return document, err
}

// guarded turns a panic of the library, which trusts its input in some places, into an error.
func guarded(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	return do()
}

// place says where in a text something is, for people: lines and columns begin with 1.
func place(text string, offset int) string {
	before := text[:offset]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// checkJSONPath reads a template action by action, so that an error names the place. It also finds what the library only finds out with
// data.
func checkJSONPath(text string) error {
	depth := 0
	for at := 0; ; {
		start := strings.Index(text[at:], "{")
		if start < 0 {
			return nil
		}
		start += at
		length, words, err := firstAction(text[start:])
		if err != nil {
			return fmt.Errorf("%s: %w", place(text, start), err)
		}
		for _, word := range words {
			switch word {
			case "range":
				depth++
			case "end":
				depth--
			default:
				return fmt.Errorf("%s: unknown word %q: a field starts with a dot, as in {.%s}", place(text, start), word, word)
			}
		}
		if depth < 0 {
			return fmt.Errorf("%s: {end} without {range}", place(text, start))
		}
		at = start + length
	}
}

// firstAction returns the length of the action that a text begins with, and the words in it: it ends with the first brace at which it is
// complete.
func firstAction(text string) (length int, words []string, err error) {
	for end, c := range text {
		if c != '}' {
			continue
		}
		if words, err = wordsOf(text[:end+1]); err == nil {
			return end + 1, words, nil
		}
	}
	if _, whole := wordsOf(text); whole != nil {
		err = whole // It tells of the first thing that is wrong, not of a brace further on.
	}
	return 0, nil, err
}

// wordsOf parses an action.
func wordsOf(text string) (words []string, err error) {
	err = guarded(func() error {
		parser, err := jsonpath.Parse("output", text)
		if err != nil {
			return err
		}
		for _, action := range parser.Root.Nodes {
			list, isList := action.(*jsonpath.ListNode)
			if !isList {
				continue
			}
			for _, node := range list.Nodes {
				if word, isWord := node.(*jsonpath.IdentifierNode); isWord {
					words = append(words, word.Name)
				}
			}
		}
		return nil
	})
	return words, err
}

// checkGoTemplate parses a template. The library knows the line of a mistake; the action is found by parsing what comes before its end.
func checkGoTemplate(text string) error {
	_, whole := parseGoTemplate(text)
	if whole == nil {
		return nil
	}
	for at := 0; ; {
		end := strings.Index(text[at:], "}}")
		if end < 0 {
			break
		}
		at += end + len("}}")
		if _, err := parseGoTemplate(text[:at]); err != nil && !strings.HasSuffix(err.Error(), "unexpected EOF") {
			return fmt.Errorf("%s: %w", place(text, max(strings.LastIndex(text[:at], "{{"), 0)), err)
		}
	}
	if start := strings.LastIndex(text, "{{"); start > strings.LastIndex(text, "}}") {
		return fmt.Errorf("%s: %w", place(text, start), whole)
	}
	return fmt.Errorf("%s: %w", place(text, len(text)), whole)
}

// parseGoTemplate returns errors without the place, which only has a line.
func parseGoTemplate(text string) (*template.Template, error) {
	parsed, err := template.New("output").Funcs(template.FuncMap{"exists": exists, "base64decode": decoded}).Parse(text)
	if err != nil {
		return nil, errors.New(origin.ReplaceAllString(err.Error(), ""))
	}
	return parsed, nil
}

// origin is what errors of templates begin with.
var origin = regexp.MustCompile(`^template: output:(\d+)(?::(\d+))?: `)

// placed words the place in an error that was found with data.
func placed(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	found := origin.FindStringSubmatch(text)
	if found == nil {
		return err
	}
	line, column := found[1], 1
	if found[2] != "" {
		column, _ = strconv.Atoi(found[2]) // Digits are a number; libraries count columns from 0.
		column++
	}
	return fmt.Errorf("line %s, column %d: %s", line, column, text[len(found[0]):])
}

// exists reports whether there is something at a path of keys and indexes, for conditions in templates.
func exists(value any, path ...any) bool {
	for _, step := range path {
		switch at := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			value = at[key]
		case []any:
			index, isIndex := step.(int)
			if !isIndex || index < 0 || index >= len(at) {
				return false
			}
			value = at[index]
		default:
			return false
		}
	}
	return value != nil
}

// decoded returns what a text in base64 says, such as a value of a Secret.
func decoded(text string) (string, error) {
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("base64decode: %w", err)
	}
	return string(content), nil
}
