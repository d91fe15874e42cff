// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
)

// Problem is an error with a text that may be shown: it describes the error without quoting a value. Functions that callers add to
// an engine may return it for the same purpose; the text of their other errors is withheld.
type Problem struct {
	text string
}

// Problemf formats a problem. The arguments must be names or numbers from the template's own text, types or limits; never
// values that the template processed.
func Problemf(format string, args ...any) *Problem {
	return &Problem{text: fmt.Sprintf(format, args...)}
}

// maxRefusal bounds the shown part of a message that a template fails with, which appears in the status of an object.
const maxRefusal = 500

// Refusal returns the problem of a template that rejects its input: its author calls fail or error with a message. The
// message is shown if it consists only of template text. Otherwise it may contain values, and only the expression is shown.
func Refusal(message string, literal bool) *Problem {
	if !literal {
		return &Problem{text: "the template rejects its input; the message may contain values and is withheld, see the expression"}
	}
	return &Problem{text: shorten(message, maxRefusal)}
}

// Error returns the text.
func (p *Problem) Error() string { return p.text }

// Explain returns the part of an error that may be shown: the text of the Problem or LimitError in it; empty if there is none.
func Explain(err error) string {
	var limit *LimitError
	if errors.As(err, &limit) {
		return limit.Error()
	}
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.text
	}
	return ""
}
