// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"espalier.dev/internal/template"
)

// maxWidth is the greatest width or precision in a format.
const maxWidth = 1000

func (r *run) toString(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	if err := r.walk(value); err != nil {
		return "", err
	}
	return format(value), nil
}

func (r *run) print(args ...any) (string, error) {
	if err := r.walk(args); err != nil {
		return "", err
	}
	return fmt.Sprint(texts(args)...), nil
}

func (r *run) println(args ...any) (string, error) {
	if err := r.walk(args); err != nil {
		return "", err
	}
	return fmt.Sprintln(texts(args)...), nil
}

// texts replaces the numbers among arguments by ones that write themselves as JSON does.
func texts(args []any) []any {
	for i, arg := range args {
		if number, ok := arg.(float64); ok {
			args[i] = decimalText(number)
		}
	}
	return args
}

// printf charges for what the format asks for before it formats: wide fields, and arguments that occur several times.
func (r *run) printf(format string, args ...any) (string, error) {
	demand, err := readFormat(format)
	if err != nil {
		return "", err
	}
	_, before := r.meter.Used()
	if err := r.walk(args); err != nil {
		return "", err
	}
	_, after := r.meter.Used()
	bytes := int64(len(format)) + demand.width + demand.repeated*(after-before)
	if err := r.meter.Build(bytes); err != nil {
		return "", err
	}
	for i, arg := range args {
		if number, ok := arg.(float64); ok && demand.plainText {
			args[i] = decimalText(number)
		}
	}
	return fmt.Sprintf(format, args...), nil
}

// formatDemand is what a format takes beyond its own length and its arguments.
type formatDemand struct {
	// width is the sum of all widths and precisions.
	width int64
	// repeated counts the verbs that choose their argument by an index.
	repeated int64
	// plainText says that all verbs write their argument as text.
	plainText bool
}

func readFormat(format string) (formatDemand, error) {
	demand := formatDemand{plainText: true}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		end := i + 1 + strings.IndexFunc(format[i+1:], isVerb)
		if end == i {
			break
		}
		if err := demand.add(format[i+1:end], format[end]); err != nil {
			return demand, err
		}
		i = end
	}
	return demand, nil
}

// isVerb tells the end of a directive from its flags, widths and indexes.
func isVerb(char rune) bool {
	return !strings.ContainsRune("+-# 0123456789.[]*", char)
}

func (d *formatDemand) add(directive string, verb byte) error {
	switch {
	case strings.Contains(directive, "*"):
		return template.Problemf("a format cannot take its width from an argument")
	case verb == 'p' || verb == 'v' && strings.Contains(directive, "#"):
		return template.Problemf("a format cannot show how a value is kept in memory")
	case strings.Contains(directive, "["):
		d.repeated++
	}
	if verb != 's' && verb != 'v' && verb != 'q' && verb != '%' {
		d.plainText = false
	}
	for _, digits := range strings.FieldsFunc(directive, func(char rune) bool { return char < '0' || char > '9' }) {
		width, err := strconv.Atoi(digits)
		if err != nil || width > maxWidth {
			return template.Problemf("a width in a format is greater than %d", maxWidth)
		}
		d.width += int64(width)
	}
	return nil
}

func (r *run) repeat(count int, text string) (string, error) {
	if count < 0 {
		return "", template.Problemf("the count is negative")
	}
	if err := r.buildRepeated(int64(count), int64(len(text))); err != nil {
		return "", err
	}
	return strings.Repeat(text, count), nil
}

// buildRepeated charges for so many pieces of a size, whose product may be too large for a number.
func (r *run) buildRepeated(count, size int64) error {
	limit := r.meter.Limits().Memory
	if count > 0 && size > limit/count {
		return r.meter.Build(limit + 1)
	}
	return r.meter.Build(count * size)
}

func (r *run) indent(spaces int, text string) (string, error) {
	if spaces < 0 {
		return "", template.Problemf("the number of spaces is negative")
	}
	lines := int64(strings.Count(text, "\n")) + 1
	if err := r.buildRepeated(lines, int64(spaces)); err != nil {
		return "", err
	}
	if err := r.meter.Build(int64(len(text))); err != nil {
		return "", err
	}
	pad := strings.Repeat(" ", spaces)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad), nil
}

func (r *run) nindent(spaces int, text string) (string, error) {
	indented, err := r.indent(spaces, text)
	return "\n" + indented, err
}

func (r *run) replace(old, replacement, text string) (string, error) {
	count := int64(strings.Count(text, old))
	if err := r.buildRepeated(count, int64(len(replacement))); err != nil {
		return "", err
	}
	if err := r.meter.Build(int64(len(text))); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, old, replacement), nil
}

// join writes the items of a list with a separator between them. Items that are null are left out.
func (r *run) join(separator string, list any) (string, error) {
	if err := r.walk(list); err != nil {
		return "", err
	}
	items := stringsOf(list)
	if err := r.buildRepeated(int64(len(items)), int64(len(separator))); err != nil {
		return "", err
	}
	return strings.Join(items, separator), nil
}

func stringsOf(list any) []string {
	value := reflect.ValueOf(list)
	if kind := value.Kind(); kind != reflect.Slice && kind != reflect.Array {
		if list == nil {
			return nil
		}
		return []string{format(list)}
	}
	var items []string
	for i := range value.Len() {
		if item := value.Index(i).Interface(); item != nil {
			items = append(items, format(item))
		}
	}
	return items
}

// partSize is what one part of a divided string takes, wherever it is kept.
const partSize = 64

// parts divides a string after charging for the parts.
func (r *run) parts(separator, text string, limit int) ([]string, error) {
	count := int64(strings.Count(text, separator)) + 1
	if limit >= 0 {
		count = min(count, int64(limit))
	}
	if err := r.buildRepeated(count, partSize); err != nil {
		return nil, err
	}
	return strings.SplitN(text, separator, limit), r.meter.Step(count)
}

func (r *run) splitList(separator, text string) ([]string, error) {
	return r.parts(separator, text, -1)
}

// split returns the parts by the names _0, _1 and so on.
func (r *run) split(separator, text string) (map[string]string, error) {
	return r.splitn(separator, -1, text)
}

func (r *run) splitn(separator string, limit int, text string) (map[string]string, error) {
	parts, err := r.parts(separator, text, limit)
	if err != nil {
		return nil, err
	}
	named := make(map[string]string, len(parts))
	for i, part := range parts {
		named["_"+strconv.Itoa(i)] = part
	}
	return named, nil
}

func (r *run) wrap(width int, text string) (string, error) {
	if err := r.chargeLines(width, "\n", text); err != nil {
		return "", err
	}
	return library["wrap"].value.Interface().(func(int, string) string)(width, text), nil
}

func (r *run) wrapWith(width int, separator, text string) (string, error) {
	if err := r.chargeLines(width, separator, text); err != nil {
		return "", err
	}
	return library["wrapWith"].value.Interface().(func(int, string, string) string)(width, separator, text), nil
}

// chargeLines charges for a text that is about to be broken into lines, at spaces and where lines are too long.
func (r *run) chargeLines(width int, separator, text string) error {
	lines := int64(strings.Count(text, " ")+len(text)/max(1, width)) + 1
	if err := r.buildRepeated(lines, int64(len(separator)+1)); err != nil {
		return err
	}
	return r.meter.Build(int64(len(text)))
}
