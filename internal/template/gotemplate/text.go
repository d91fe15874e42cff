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

// texts replaces numbers among arguments with numbers that are formatted as in JSON.
func texts(args []any) []any {
	for i, arg := range args {
		if number, ok := arg.(float64); ok {
			args[i] = template.Decimal(number)
		}
	}
	return args
}

func (r *run) printf(format string, args ...any) (string, error) {
	return r.meter.Format(format, args)
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

// buildRepeated charges for count pieces of a size, whose product may overflow.
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

// join joins the items of a list with a separator. Null items are omitted.
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

// partSize is the assumed size of one part of a split string.
const partSize = 64

// parts splits a string after charging for the parts.
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

// split returns the parts under the names _0, _1 and so on.
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

// chargeLines charges for breaking a text into lines, at spaces and in long words.
func (r *run) chargeLines(width int, separator, text string) error {
	lines := int64(strings.Count(text, " ")+len(text)/max(1, width)) + 1
	if err := r.buildRepeated(lines, int64(len(separator)+1)); err != nil {
		return err
	}
	return r.meter.Build(int64(len(text)))
}
