// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package masking

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"espalier.dev/internal/failure"
)

// Error returns an error of the same kind and with the same causes, whose text shows no secret.
func (v *Values) Error(err error) error {
	if err == nil {
		return nil
	}
	told := &told{text: v.Text(Words(err)), cause: err}
	if wait := (*failure.Wait)(nil); errors.As(err, &wait) {
		masked := *wait
		masked.For = v.Text(wait.For)
		told.wait = &masked
	}
	return told
}

// told keeps the original error for errors.Is and As, and never prints it.
type told struct {
	text  string
	cause error
	wait  *failure.Wait
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.cause }

// As finds the masked wait instead of the original one.
func (t *told) As(target any) bool {
	wait, ok := target.(**failure.Wait)
	if !ok || t.wait == nil {
		return false
	}
	*wait = t.wait
	return true
}

// Words returns the text of an error without the values that API servers, decoders and parsers quote, and without the users of URLs.
func Words(err error) string {
	text := err.Error()
	for _, foreign := range foreignIn(err) {
		if before := foreign.Error(); before != "" {
			text = strings.ReplaceAll(text, before, wordsFor(foreign))
		}
	}
	return withoutUsers(text)
}

// foreignIn returns the foreign errors inside an error, longest text first, so that none is replaced before those that
// contain it.
func foreignIn(err error) []error {
	var found []error
	var walk func(error)
	walk = func(err error) {
		if err == nil {
			return
		}
		if wordsFor(err) != "" {
			found = append(found, err)
			return
		}
		switch inner := err.(type) {
		case interface{ Unwrap() error }:
			walk(inner.Unwrap())
		case interface{ Unwrap() []error }:
			for _, one := range inner.Unwrap() {
				walk(one)
			}
		}
	}
	walk(err)
	slices.SortStableFunc(found, func(a, b error) int { return len(b.Error()) - len(a.Error()) })
	return found
}

// wordsFor returns our wording for a foreign error; empty if the error quotes nothing.
func wordsFor(err error) string {
	switch err := err.(type) {
	case apierrors.APIStatus:
		return Refusal(err.Status())
	case *field.Error:
		return Cause(metav1.StatusCause{Field: err.Field, Message: err.ErrorBody()})
	case *json.UnmarshalTypeError:
		kind, _, _ := strings.Cut(err.Value, " ")
		return fmt.Sprintf("a %s where a %s is expected, at %q", kind, err.Type, err.Field)
	case *strconv.NumError:
		return "the value is not a number"
	case *time.ParseError:
		return "the value is not a time"
	}
	return ""
}

// Refusal words the answer of an API server without values.
func Refusal(status metav1.Status) string {
	if status.Reason != metav1.StatusReasonInvalid {
		return withoutExcerpt(status)
	}
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return "the API server rejects it as invalid"
	}
	var parts []string
	for _, cause := range status.Details.Causes {
		if part := Cause(cause); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return "the API server rejects it as invalid: " + strings.Join(parts, "; ")
}

// excerpts match what servers quote of a body that they cannot parse.
var excerpts = []*regexp.Regexp{
	regexp.MustCompile(`, error found in .*`),
	regexp.MustCompile(`(?s), bigger context .*`),
	regexp.MustCompile(`: cannot unmarshal (number|string) [^ ]+ into`),
	regexp.MustCompile(`(parsing time|parsing|invalid duration|unable to parse|illegal base64 data in) ("(\\.|[^"\\])*")`),
}

func withoutExcerpt(status metav1.Status) string {
	text := status.Message
	if status.Reason != metav1.StatusReasonBadRequest && status.Reason != metav1.StatusReasonInternalError &&
		status.Reason != metav1.StatusReasonUnknown {
		return text
	}
	text = excerpts[0].ReplaceAllString(text, "")
	text = excerpts[1].ReplaceAllString(text, "")
	text = excerpts[2].ReplaceAllString(text, ": cannot read a $1 into")
	return excerpts[3].ReplaceAllString(text, "$1 the value")
}

// Cause returns which field an API server rejects and why, without the value.
func Cause(cause metav1.StatusCause) string {
	where := cause.Field
	if where == "" || where == "<nil>" {
		where = "the object"
	}
	sort, value, detail := splitValue(cause.Message)
	if value == "" {
		return where + ": " + cause.Message
	}
	hide := piecesOf(value)
	text := hide(where) + ": " + sort
	if detail != "" {
		text += ": " + hide(detail)
	}
	return text
}

// sorts are the beginnings of messages that continue with a value.
var sorts = []string{"Invalid value", "Unsupported value", "Duplicate value", "Not found"}

// splitValue splits a message like `Invalid value: "x": must be a number`. If the end of the value cannot be determined, the
// value is the whole rest.
func splitValue(message string) (sort, value, detail string) {
	i := slices.IndexFunc(sorts, func(sort string) bool { return strings.HasPrefix(message, sort+": ") })
	if i < 0 {
		return message, "", ""
	}
	sort, rest := sorts[i], message[len(sorts[i])+2:]
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		value, err = strconv.Unquote(quoted)
		if err != nil {
			value = quoted
		}
		return sort, value, strings.TrimPrefix(rest[len(quoted):], ": ")
	}
	if strings.ContainsAny(rest, "{[") {
		return sort, rest, ""
	}
	value, detail, _ = strings.Cut(rest, ": ")
	return sort, value, detail
}

// typeNames replace a value of the wrong type.
var typeNames = []string{"string", "integer", "number", "boolean", "object", "array", "null"}

// piecesOf returns a function that removes a value and its parts from a text: parsers quote the part that they fail on.
func piecesOf(value string) func(string) string {
	if slices.Contains(typeNames, value) {
		return func(text string) string { return text }
	}
	pieces := &Values{}
	pieces.add(value)
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return !isPart(r) }) {
		pieces.add(part)
	}
	return pieces.Text
}

func isPart(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r >= 0x80
}
