// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"
	"time"
)

// MaxHold ends a hold whose final write does not come.
const MaxHold = 5 * time.Second

// Plan lists the faults of one transport. The zero plan has none. Where two faults apply to one request, the first counts.
type Plan struct {
	Requests []RequestFault
	Watches  []WatchFault
}

// At returns the plan with a single fault, at write number n.
func At(n int, action Action) Plan {
	return Plan{Requests: []RequestFault{{What: Pattern{Verb: anyWrite}, Which: Which{Number: n}, Do: action}}}
}

// And returns the plan with the faults of both.
func (p Plan) And(other Plan) Plan {
	return Plan{
		Requests: append(append([]RequestFault(nil), p.Requests...), other.Requests...),
		Watches:  append(append([]WatchFault(nil), p.Watches...), other.Watches...),
	}
}

// String returns the form that Parse parses.
func (p Plan) String() string {
	var faults []string
	for _, fault := range p.Requests {
		faults = append(faults, fault.String())
	}
	for _, fault := range p.Watches {
		faults = append(faults, fault.String())
	}
	return strings.Join(faults, ";")
}

// Parse parses the printed form of a plan, which the package documentation describes.
func Parse(text string) (Plan, error) {
	var plan Plan
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if err := plan.add(part); err != nil {
			return Plan{}, fmt.Errorf("fault %q: %w", part, err)
		}
	}
	return plan, nil
}

// MustParse is Parse for plans in the source of tests.
func MustParse(text string) Plan {
	plan, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return plan
}

// parseTime parses a positive duration.
func parseTime(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil {
		return 0, err
	}
	if duration <= 0 {
		return 0, fmt.Errorf("%q is not a time above zero", text)
	}
	return duration, nil
}

func (p *Plan) add(text string) error {
	parts := strings.Split(text, ":")
	if parts[0] == "watch" {
		fault, err := parseWatchFault(parts[1:])
		p.Watches = append(p.Watches, fault)
		return err
	}
	fault, err := parseRequestFault(parts)
	p.Requests = append(p.Requests, fault)
	return err
}
