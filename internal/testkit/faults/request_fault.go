// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RequestFault is a fault of certain requests.
type RequestFault struct {
	What  Pattern
	Which Which
	Do    Action
}

func (f RequestFault) String() string { return fmt.Sprintf("%s:%s:%s", f.What, f.Which, f.Do) }

func parseRequestFault(parts []string) (RequestFault, error) {
	if len(parts) != 3 {
		return RequestFault{}, errors.New("want WHAT:WHICH:ACTION")
	}
	what, err := parsePattern(parts[0])
	if err != nil {
		return RequestFault{}, err
	}
	which, err := parseWhich(parts[1])
	if err != nil {
		return RequestFault{}, err
	}
	action, err := parseAction(parts[2])
	return RequestFault{What: what, Which: which, Do: action}, err
}

const (
	anything   = "*"
	anyWrite   = "write"
	anyRequest = "request"
)

// Pattern selects requests by their signature. Which then selects among the matching ones.
type Pattern struct {
	Verb        string // write for all numbered writes, * for everything
	Resource    string // with or without its group; empty for every one
	Subresource string // empty for the object itself, * for both
	Name        string // empty for every one
}

func parsePattern(text string) (Pattern, error) {
	if text == anyWrite {
		return Pattern{Verb: anyWrite}, nil
	}
	if text == anyRequest {
		return Pattern{Verb: anything}, nil
	}
	signature, name, _ := strings.Cut(text, "=")
	parts := strings.SplitN(signature, "/", 3)
	if len(parts) < 2 || slices.Contains(parts, "") {
		return Pattern{}, fmt.Errorf("%q is not write, request or VERB/RESOURCE[/SUBRESOURCE][=NAME]", text)
	}
	pattern := Pattern{Verb: parts[0], Resource: parts[1], Name: name}
	if len(parts) == 3 {
		pattern.Subresource = parts[2]
	}
	return pattern, nil
}

func (p Pattern) String() string {
	if p.Resource == "" {
		if p.Verb == anything {
			return anyRequest
		}
		return p.Verb
	}
	text := p.Verb + "/" + p.Resource
	if p.Subresource != "" {
		text += "/" + p.Subresource
	}
	if p.Name != "" {
		text += "=" + p.Name
	}
	return text
}

// Matches reports whether the pattern selects the request.
func (p Pattern) Matches(r Request) bool {
	return p.matchesVerb(r) && p.matchesResource(r) && (p.Name == "" || p.Name == r.Name)
}

func (p Pattern) matchesVerb(r Request) bool {
	switch p.Verb {
	case anything:
		return true
	case anyWrite:
		return r.IsNumbered()
	default:
		return p.Verb == r.Verb
	}
}

func (p Pattern) matchesResource(r Request) bool {
	if p.Resource == "" {
		return true
	}
	return names(p.Resource, r) && (p.Subresource == anything || p.Subresource == r.Subresource)
}

// names reports whether the text, with or without a group, names the request's resource.
func names(resource string, r Request) bool {
	return r.Resource != "" && (resource == r.Resource || resource == r.GroupResource())
}

// Which selects among the requests that match a pattern, counted from 1. One of its three forms is used.
type Which struct {
	Number int  // this one
	All    bool // every one

	Percent int    // a share of them ...
	Seed    uint64 // ... that is the same whenever the seed is
}

func parseWhich(text string) (Which, error) {
	if text == anything {
		return Which{All: true}, nil
	}
	share, seed, random := strings.Cut(text, "%@")
	number, err := strconv.Atoi(share)
	if err != nil || number < 1 {
		return Which{}, fmt.Errorf("%q is not a number from 1 on, * or P%%@SEED", text)
	}
	if !random {
		return Which{Number: number}, nil
	}
	value, err := strconv.ParseUint(seed, 10, 64)
	if err != nil || number > 100 {
		return Which{}, fmt.Errorf("%q is not P%%@SEED with a share of 1 to 100 and a seed", text)
	}
	return Which{Percent: number, Seed: value}, nil
}

func (w Which) String() string {
	switch {
	case w.All:
		return anything
	case w.Percent > 0:
		return fmt.Sprintf("%d%%@%d", w.Percent, w.Seed)
	default:
		return strconv.Itoa(w.Number)
	}
}

func (w Which) selects(number int) bool {
	if w.Percent == 0 {
		return w.All || w.Number == number
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d/%d", w.Seed, number)
	return int(hash.Sum64()%100) < w.Percent
}

// Action is what is done to a request. Its printed form is its name, and for Slow the name and the time.
type Action struct {
	name  string
	delay time.Duration
}

// The actions that need no further detail.
var (
	CrashBefore          = Action{name: "before"}
	CrashAfter           = Action{name: "after"}
	LoseAnswer           = Action{name: "lost"}
	LoseAnswerByTimeout  = Action{name: "lost-timeout"}
	Reset                = Action{name: "reset"}
	Timeout              = Action{name: "timeout"}
	AnswerConflict       = Action{name: "409"}
	AnswerTooMany        = Action{name: "429"}
	AnswerInternalError  = Action{name: "500"}
	AnswerUnavailable    = Action{name: "503"}
	AnswerGatewayTimeout = Action{name: "504"}
)

const slow = "slow"

// Slow waits before the request is sent.
func Slow(delay time.Duration) Action { return Action{name: slow, delay: delay} }

var plainActions = []Action{
	CrashBefore, CrashAfter, LoseAnswer, LoseAnswerByTimeout, Reset, Timeout,
	AnswerConflict, AnswerTooMany, AnswerInternalError, AnswerUnavailable, AnswerGatewayTimeout,
}

func parseAction(text string) (Action, error) {
	if action := (Action{name: text}); slices.Contains(plainActions, action) {
		return action, nil
	}
	if name, detail, found := strings.Cut(text, "="); found && name == slow {
		delay, err := parseTime(detail)
		return Slow(delay), err
	}
	return Action{}, fmt.Errorf("there is no action %q", text)
}

func (a Action) String() string {
	if a.delay > 0 {
		return a.name + "=" + a.delay.String()
	}
	return a.name
}
