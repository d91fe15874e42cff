// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	gotemplate "text/template"
	"text/template/parse"

	"espalier.dev/internal/template"
)

// executionForm is the format of errors of text/template: place, template, node and message.
var executionForm = regexp.MustCompile(`(?s)^template: ` + mainName + `:([0-9]+):([0-9]+): executing ".*?" at <.*?>: (.*)`)

// plainMessages are messages of text/template that quote only the template and the names of types.
var plainMessages = regexp.MustCompile("^(?:" + strings.Join([]string{
	`can't evaluate field \w+ in type [^ ]+(?: {})?`,
	`nil pointer evaluating [^ ]+(?: {})?\.\w+`,
	`nil data; no entry for key "\w+"`,
	`wrong number of args for \w+: want (?:at least )?[0-9]+ got [0-9]+`,
	`wrong type for value; expected [^ ]+(?: {})?; got [^ ]+(?: {})?`,
	`invalid value; expected [^ ]+(?: {})?`,
	`template "[^"]*" not defined`,
	`nil is not a command`,
	`exceeded maximum template depth \([0-9]+\)`,
	`can't give argument to non-function [^ ]+`,
	`\w+ is not a method but has arguments`,
	`expected [a-z ]+; found .*`,
	`cannot assign nil to [^ ]+(?: {})?`,
}, "|") + ")$")

// otherMessages replace messages that quote values, with the same meaning without the values.
var otherMessages = map[string]string{
	"range can't iterate over": "range can only iterate over lists, maps and integers",
}

var failedCall = regexp.MustCompile(`^error calling (\w+): `)

// fault is what may be shown of an error of text/template.
type fault struct {
	place    template.Place
	function string
	message  string
}

// explain converts the error of a rendering to one that can be shown.
func (r *run) explain(err error) *template.Error {
	f := r.locate(err)
	if r.missing != nil {
		f.place = placeOf(r.template.source.Text, *r.missing)
	}
	return template.NewError(r.template.source, f.place, f.tell(template.Explain(err)), err)
}

// tell composes the message from the known parts.
func (f fault) tell(explanation string) string {
	switch {
	case f.function == "" && explanation == "":
		return f.message
	case f.function == "" || strings.HasPrefix(explanation, "function "+f.function+" is not available"):
		return explanation
	case explanation == "":
		return fmt.Sprintf("function %s failed", f.function)
	default:
		return fmt.Sprintf("function %s: %s", f.function, explanation)
	}
}

// locate parses an error. For nested errors, which come from include, it uses the innermost one.
func (r *run) locate(err error) fault {
	var found fault
	for execution := (gotemplate.ExecError{}); errors.As(err, &execution); err = errors.Unwrap(execution.Err) {
		form := executionForm.FindStringSubmatch(execution.Error())
		if form == nil {
			break
		}
		line, _ := strconv.Atoi(form[1])
		column, _ := strconv.Atoi(form[2])
		found = fault{place: r.placeAt(line, column), message: messageOf(form[3])}
		found.function = calledFunction(form[3])
	}
	return found
}

// calledFunction returns the name of the function that failed, as in the template.
func calledFunction(text string) string {
	called := failedCall.FindStringSubmatch(text)
	switch {
	case called == nil:
		return ""
	case called[1] == failFunction:
		return "fail"
	case strings.HasPrefix(called[1], reservedPrefix):
		return ""
	}
	return called[1]
}

// placeAt returns the place of a line and an offset in it, which is how text/template counts columns.
func (r *run) placeAt(line, offset int) template.Place {
	text := r.template.source.Text
	start := 0
	for n := 1; n < line; n++ {
		end := strings.IndexByte(text[start:], '\n')
		if end < 0 {
			break
		}
		start += end + 1
	}
	return placeOf(text, parse.Pos(min(start+offset, len(text))))
}

// insertedQuestion matches the call that Compile inserts before the fields of a value. Here, only the call is left of them.
var insertedQuestion = regexp.MustCompile(`\(` + knownFunction + ` (?:\.|(\S+))(?: "\w+")+\)`)

func messageOf(text string) string {
	text = insertedQuestion.ReplaceAllString(text, "$1")
	if plainMessages.MatchString(text) {
		return text
	}
	for opening, message := range otherMessages {
		if strings.HasPrefix(text, opening) {
			return message
		}
	}
	return ""
}
