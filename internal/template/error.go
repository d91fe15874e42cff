// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// Operation is the operation of the engines in a status.
const Operation = "RenderTemplate"

// Reasons of errors.
const (
	// ReasonInvalid means that the text is not a template.
	ReasonInvalid = "TemplateInvalid"
	// ReasonFailed means that a template could not be rendered with its input.
	ReasonFailed = "TemplateFailed"
	// ReasonLimit means that a template exceeded a limit.
	ReasonLimit = "TemplateLimitReached"
)

// Source identifies a template.
type Source struct {
	// Engine is the name of the engine, as in blueprints.
	Engine string
	// Execution is the name of the execution or of the data mapping that the template belongs to.
	Execution string
	// File is the file of the blueprint that contains the template; empty for an inline template.
	File string
	// Text is the template, if it is text.
	Text string
}

// Place is a place in a template.
type Place struct {
	// Line and Column count from one; zero means unknown. Columns count bytes.
	Line, Column int
	// Path leads to the place in the tree that the template describes, such as deployItems[0].config.
	Path string
	// Expression is the part of the template at the place.
	Expression string
}

// Error describes an error in a template. None of its fields contains a value that the template processed.
type Error struct {
	Source  Source
	Place   Place
	Message string
	// Excerpt is the part of the template around the place, with a caret below it.
	Excerpt string
	// Input is the structure of the bindings: names and types.
	Input string

	cause error
}

// NewError returns a terminal error about a template. It shows the message if there is one, and otherwise the part of the
// cause that may be shown.
func NewError(source Source, place Place, message string, cause error) *Error {
	if message == "" {
		message = Explain(cause)
	}
	if message == "" {
		message = "the template cannot be evaluated here"
	}
	return &Error{Source: source, Place: place, Message: message, Excerpt: excerpt(source.Text, place), cause: cause}
}

// WithInput adds the structure of the bindings.
func (e *Error) WithInput(bindings map[string]any) *Error {
	e.Input = Structure(bindings)
	return e
}

// Terminal classifies the error for the controllers.
func (e *Error) Terminal() error {
	reason := ReasonFailed
	var limit *LimitError
	switch {
	case errors.As(e.cause, &limit):
		reason = ReasonLimit
	case e.Input == "":
		reason = ReasonInvalid
	}
	return failure.NewTerminal(failure.Details{
		Operation: Operation, Reason: reason, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, e)
}

// Unwrap returns the limit that was reached, if that is the cause. Other causes stay hidden, because their texts may
// contain values.
func (e *Error) Unwrap() error {
	var limit *LimitError
	if errors.As(e.cause, &limit) {
		return limit
	}
	return nil
}

// Error returns all details, in several lines.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s", e.location(), e.Message)
	if e.Place.Expression != "" {
		fmt.Fprintf(&text, "\nexpression: %s", shorten(e.Place.Expression, maxExpression))
	}
	if e.Excerpt != "" {
		fmt.Fprintf(&text, "\ntemplate:\n%s", e.Excerpt)
	}
	if e.Input != "" {
		fmt.Fprintf(&text, "\ninput (types only):\n%s", e.Input)
	}
	return text.String()
}

// location names the execution and the place in it on one line.
func (e *Error) location() string {
	var details []string
	if e.Source.File != "" {
		details = append(details, "file "+e.Source.File)
	}
	if e.Place.Line > 0 {
		details = append(details, fmt.Sprintf("line %d", e.Place.Line))
	}
	if e.Place.Column > 0 {
		details = append(details, fmt.Sprintf("column %d", e.Place.Column))
	}
	if e.Place.Path != "" {
		details = append(details, "at "+shorten(e.Place.Path, maxExpression))
	}
	where := fmt.Sprintf("%s %q", e.Source.Engine, e.Source.Execution)
	if len(details) == 0 {
		return where
	}
	return where + " (" + strings.Join(details, ", ") + ")"
}
