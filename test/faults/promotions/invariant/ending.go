// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Ending is the result of a run, line by line, in a form that depends neither on names nor on times, nor on the number of attempts.
type Ending []string

// EndingOf returns the state of the pipeline and the ledger at the end of the evidence. More are lines about other parts of the world.
func EndingOf(evidence Evidence, more ...string) Ending {
	var lines Ending
	if all := steps(evidence.History); len(all) > 0 && !gone(evidence) {
		lines = describe(all[len(all)-1].after)
	}
	for _, entry := range StillOpen(evidence.Ledger) {
		lines = append(lines, fmt.Sprintf("open: a pull request of %s for %s", entry.Revision, entry.Environment))
	}
	for _, entry := range evidence.Ledger {
		if entry.Event == Merged || entry.Event == Accepted {
			lines = append(lines, fmt.Sprintf("outside: %s %s for %s", entry.Event, entry.Revision, entry.Environment))
		}
	}
	return append(lines, more...)
}

func describe(p *pipelines.Pipeline) Ending {
	s := p.Status
	lines := Ending{
		fmt.Sprintf("up to date: %t", s.ObservedGeneration == p.Generation),
		fmt.Sprintf("finalizers: %s", strings.Join(p.Finalizers, " ")),
		fmt.Sprintf("annotations: %s", strings.Join(slices.Sorted(maps.Keys(p.Annotations)), " ")),
		fmt.Sprintf("latest revision: %s", s.LatestRevision),
	}
	if s.Run != nil {
		lines = append(lines, fmt.Sprintf("run %d of %s, complete: %t", s.Run.Number, s.Run.Revision, s.Run.CompletionTime != nil))
	}
	for _, condition := range s.Conditions {
		lines = append(lines, fmt.Sprintf("condition %s is %s: %s", condition.Type, condition.Status, condition.Reason))
	}
	for _, hold := range s.Holds {
		lines = append(lines, fmt.Sprintf("hold in %q: %s of %s", hold.Environment, hold.Reason, hold.Revision))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environments)) {
		lines = append(lines, describeEnvironment(name, s.Environments[name])...)
	}
	return lines
}

func describeEnvironment(name string, e pipelines.EnvironmentStatus) Ending {
	var lines Ending
	for _, t := range e.Targets {
		lines = append(lines, fmt.Sprintf("%s: a target at %q, ready: %t, readable: %t", name, t.Revision, t.Ready, t.UnreadableSince == nil))
	}
	if e.Settled != nil {
		lines = append(lines, fmt.Sprintf("%s: settled on %s", name, e.Settled.Revision))
	}
	if e.Withdrawal != nil {
		lines = append(lines, fmt.Sprintf("%s: withdraws %s", name, e.Withdrawal.Revision))
	}
	if p := e.Promotion; p != nil {
		line := fmt.Sprintf("%s: promotion of %s, run %d, retry %d: %s", name, p.Revision, p.Run, p.Retries, p.State)
		if p.Approval != nil {
			line += fmt.Sprintf(", %s", p.Approval.Decision)
		}
		if p.PullRequest != nil {
			line += fmt.Sprintf(", pull request %s", p.PullRequest.State)
		}
		lines = append(lines, line)
	}
	return append(lines, fmt.Sprintf("%s: waits for approval of %q", name, e.WaitingApproval.Revision))
}

// Compare returns the differences from an undisturbed run. Lines that match an exception are ignored.
func Compare(want, got Ending, exceptions ...string) []Violation {
	f := &findings{rule: "I14"}
	excepted := func(line string) bool {
		return slices.ContainsFunc(exceptions, func(e string) bool { return strings.Contains(line, e) })
	}
	counts := map[string]int{}
	for _, line := range want {
		counts[line]++
	}
	for _, line := range got {
		counts[line]--
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		switch {
		case counts[line] > 0 && !excepted(line):
			f.add(0, "missing at the end: %s", line)
		case counts[line] < 0 && !excepted(line):
			f.add(0, "not so in an undisturbed run: %s", line)
		}
	}
	return f.found
}
