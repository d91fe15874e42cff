// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
)

// Exit codes of commands that speak to a cluster. Scripts rely on them.
const (
	ExitOK = 0
	// ExitError is wrong usage, and every error without a specific code.
	ExitError = 1
	// ExitFailed says that the job failed.
	ExitFailed = 2
	// ExitTimeout says that the command timed out before the job finished.
	ExitTimeout = 3
	// ExitNeedsSomebody says that the job waits for a person, for example for an approval.
	ExitNeedsSomebody = 4
	// ExitNotFound says that the object does not exist, or that the user may not see or change it.
	ExitNotFound = 5
	// ExitDetached says that Ctrl-C ended the command; shells report the same code for other programs. A job that it waits for continues.
	ExitDetached = 130
)

// gravity orders exit codes for commands that deal with several objects: the first that occurred counts.
var gravity = []int{ExitDetached, ExitError, ExitNotFound, ExitFailed, ExitNeedsSomebody, ExitTimeout, ExitOK}

// Gravest returns the code with which a command ends that had several outcomes.
func Gravest(codes ...int) int {
	for _, code := range gravity {
		if slices.Contains(codes, code) {
			return code
		}
	}
	if len(codes) == 0 {
		return ExitOK
	}
	return ExitError
}

// Problem is an error in the parts that help a user: what went wrong, where, what to do next, and what explains it.
type Problem struct {
	Code int
	// What is one sentence without a full stop.
	What string
	// Where names the object and the cluster or file; it may be empty.
	Where string
	// Next are commands to run, or advice where no command helps.
	Next []string
	// See is the place in the documentation that explains what went wrong; it may be empty.
	See string
	// Reason is a CamelCase word for programs; it may be empty.
	Reason string
	// Cause is what the API server or a library said; it is part of the chain of errors, and not printed again.
	Cause error

	several []*Problem
}

// Together makes one error of several problems; of none, it is the cause.
func Together(problems []*Problem, cause error) error {
	switch len(problems) {
	case 0:
		return cause
	case 1:
		return problems[0]
	}
	var codes []int
	for _, problem := range problems {
		codes = append(codes, problem.Code)
	}
	return &Problem{Code: Gravest(codes...), Cause: cause, several: problems}
}

func (p *Problem) Error() string {
	var text strings.Builder
	for i, one := range p.several {
		if i > 0 {
			text.WriteString("\nerror: ")
		}
		text.WriteString(one.Error())
	}
	text.WriteString(p.What)
	if p.Where != "" {
		text.WriteString("\n  where: " + p.Where)
	}
	for i, command := range p.Next {
		title := "\n  next:  "
		if i > 0 {
			title = "\n         "
		}
		text.WriteString(title + command)
	}
	if p.See != "" {
		text.WriteString("\n  see:   " + p.See)
	}
	return text.String()
}

func (p *Problem) Unwrap() error { return p.Cause }
