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

// Operation is what the engines attempt, as a status tells it.
const Operation = "RenderTemplate"

// The reasons of errors.
const (
	// ReasonInvalid says that the text is not a template.
	ReasonInvalid = "TemplateInvalid"
	// ReasonFailed says that a template could not be rendered with its input.
	ReasonFailed = "TemplateFailed"
	// ReasonLimit says that a template used more than it may.
	ReasonLimit = "TemplateLimitReached"
)

// Source names a template.
type Source struct {
	// Engine is the name of the engine, as blueprints have it.
	Engine string
	// Execution is the name of the execution or of the data mapping that the template belongs to.
	Execution string
	// File is the file of the blueprint that the template is in; empty for an inline template.
	File string
	// Text is the template, if it is a text.
	Text string
}

// Place is where in a template something is.
type Place struct {
	// Line and Column count from one; zero means unknown. A column is a number of bytes.
	Line, Column int
	// Path leads to the place through the tree that the template describes, such as deployItems[0].config.
	Path string
	// Expression is the part of the template.
	Expression string
}

// Error says what is wrong with a template. None of its fields contains a value that the template worked on.
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

// NewError returns a terminal error about a template. It shows the message if there is one, and otherwise what may be
// shown of the cause.
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

// Error tells everything there is to tell, in several lines.
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

// location names the execution and the place in it in one line.
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
