// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Entry is one request and its outcome.
type Entry struct {
	Request
	Number int       // among all requests, from 1
	Write  int       // among the numbered writes, from 1; 0 for everything else
	At     time.Time // when it was made
	Fault  string    // the printed fault that hit it, if any
	Status int       // the server's answer; 0 if it was not asked or has not answered yet
	Err    error     // the error that the caller got instead of an answer
}

func (e Entry) String() string {
	text := fmt.Sprintf("%4d ", e.Number)
	if e.Write > 0 {
		text += fmt.Sprintf("w%-3d ", e.Write)
	} else {
		text += "     "
	}
	text += fmt.Sprintf("%s -> %d", e.Request, e.Status)
	if e.Fault != "" {
		text += " (" + e.Fault + ")"
	}
	if e.Err != nil {
		text += " " + e.Err.Error()
	}
	return text
}

// Log lists the requests of a transport, in the order of arrival.
type Log []Entry

// Writes returns the numbered writes.
func (l Log) Writes() Log { return l.Where(func(e Entry) bool { return e.Write > 0 }) }

// Matching returns the requests that a pattern selects, written as in a plan: "patch/installations/status".
func (l Log) Matching(pattern string) (Log, error) {
	parsed, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	return l.Where(func(e Entry) bool { return parsed.Matches(e.Request) }), nil
}

// Where returns the entries for which the predicate holds.
func (l Log) Where(holds func(Entry) bool) Log {
	return slices.DeleteFunc(slices.Clone(l), func(e Entry) bool { return !holds(e) })
}

// Signatures counts the requests of each signature.
func (l Log) Signatures() map[string]int {
	counts := map[string]int{}
	for _, entry := range l {
		counts[entry.Signature()]++
	}
	return counts
}

func (l Log) String() string {
	var text strings.Builder
	for _, entry := range l {
		fmt.Fprintln(&text, entry)
	}
	return text.String()
}
