// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxProblems is how many problems an error lists; the rest is only counted.
const maxProblems = 10

// reading collects all problems of a document, so that one error lists them.
type reading struct {
	limits   Limits
	problems []string
	more     int
}

func (r *reading) wrong(path, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	problem := fmt.Sprintf(format, args...)
	if path != "" {
		problem = path + ": " + problem
	}
	r.problems = append(r.problems, problem)
}

func (r *reading) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	text := strings.Join(r.problems, "; ")
	if r.more > 0 {
		text += fmt.Sprintf("; and %d more problems", r.more)
	}
	return errors.New(text)
}

// object is a JSON object that is being read. Each known field is taken out; the remaining fields are kept unchanged.
type object struct {
	path   string
	fields map[string]any
	in     *reading
}

// object starts to read a value that must be an object. Anything else is a problem and is treated as an empty object.
func (r *reading) object(path string, value any) object {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		r.wrong(path, "must be an object, is %s", kindOf(value))
	}
	if fields == nil {
		return object{path: path, in: r}
	}
	return object{path: path, fields: maps.Clone(fields), in: r}
}

// take removes a field and returns its value. Null counts as missing.
func (o object) take(name string) any {
	value := o.fields[name]
	delete(o.fields, name)
	return value
}

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o object) wrong(name, format string, args ...any) { o.in.wrong(o.at(name), format, args...) }

// text returns an optional field that must be a string.
func (o object) text(name string) string {
	switch value := o.take(name).(type) {
	case nil:
		return ""
	case string:
		return value
	case int64, float64, bool:
		o.wrong(name, "must be a text, is %s (%v): put it in quotes", kindOf(value), value)
	default:
		o.wrong(name, "must be a text, is %s", kindOf(value))
	}
	return ""
}

// required returns a required string field.
func (o object) required(name string) string {
	_, present := o.fields[name]
	before := len(o.in.problems) + o.in.more
	text := o.text(name)
	if text == "" && len(o.in.problems)+o.in.more == before {
		if present {
			o.wrong(name, "must not be empty")
		} else {
			o.wrong(name, "is required")
		}
	}
	return text
}

// child returns an optional field that must be an object.
func (o object) child(name string) object { return o.in.object(o.at(name), o.take(name)) }

// children returns an optional field that must be a list of objects.
func (o object) children(name string) []object {
	value := o.take(name)
	list, ok := value.([]any)
	if !ok && value != nil {
		o.wrong(name, "must be a list, is %s", kindOf(value))
	}
	if len(list) > o.in.limits.Elements {
		o.wrong(name, "has %d entries, at most %d are allowed", len(list), o.in.limits.Elements)
		return nil
	}
	objects := make([]object, len(list))
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", o.at(name), i)
		if item == nil {
			o.in.wrong(path, "must be an object, is null")
		}
		objects[i] = o.in.object(path, item)
	}
	return objects
}

// texts returns an optional field that must be an object with string values.
func (o object) texts(name string) map[string]string {
	inner := o.child(name)
	if len(inner.fields) == 0 {
		return nil
	}
	texts := make(map[string]string, len(inner.fields))
	for _, key := range slices.Sorted(maps.Keys(inner.fields)) {
		texts[key] = inner.text(key)
	}
	return texts
}

// rest returns the remaining fields, nil if there are none.
func (o object) rest() map[string]any {
	if len(o.fields) == 0 {
		return nil
	}
	return o.fields
}

// kindOf names the kind of a JSON value for error messages.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("a %T", value)
	}
}
