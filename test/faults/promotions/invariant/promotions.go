// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// promotedOnce holds for the records and outside.
func promotedOnce(evidence Evidence) []Violation {
	f := &findings{rule: "I9"}
	succeeded := map[identity]bool{}
	for _, s := range steps(evidence.History) {
		if s.wiped() {
			clear(succeeded)
		}
		for name, e := range s.after.Status.Environments {
			if e.Promotion != nil {
				checkSuccess(f, s, succeeded, name)
			}
		}
	}
	checkLedger(f, evidence.Ledger)
	return f.found
}

func checkSuccess(f *findings, s step, succeeded map[identity]bool, name string) {
	p := s.after.Status.Environments[name].Promotion
	id, before := identify(name, p), s.promotionBefore(name)
	same := before != nil && identify(name, before) == id
	if same && before.State == p.State {
		return
	}
	switch {
	case isOneOf(
		p.State,
		pipelines.PromotionUnapproved,
		pipelines.PromotionUnattempted,
		pipelines.PromotionAttempting,
		pipelines.PromotionFailed,
		pipelines.PromotionCreated,
	):
		if succeeded[id] {
			f.add(s.version, "%s is %s although it had succeeded", id, p.State)
		}
	case p.State == pipelines.PromotionSucceeded:
		if succeeded[id] {
			f.add(s.version, "%s succeeds a second time", id)
		}
		succeeded[id] = true
	case p.State == pipelines.PromotionComplete:
		succeeded[id] = true
	}
}

// checkLedger finds promotions that were carried out twice.
func checkLedger(f *findings, ledger []Entry) {
	opened, accepted, merged := map[string]int{}, map[string]int{}, map[Approval]int{}
	for _, entry := range ledger {
		switch entry.Event {
		case Opened:
			if opened[entry.Key]++; opened[entry.Key] > 1 {
				f.add(0, "there is a second pull request for one promotion: %s", entry)
			}
		case Accepted:
			if accepted[entry.Key]++; accepted[entry.Key] > 1 {
				f.add(0, "an event was sent twice: %s", entry)
			}
		case Merged:
			what := Approval{entry.Environment, entry.Revision}
			if merged[what]++; merged[what] > 1 {
				f.add(0, "a revision was merged twice: %s", entry)
			}
		}
	}
}

// oneOpen counts the open pull requests after each entry of the ledger.
func oneOpen(evidence Evidence) []Violation {
	f := &findings{rule: "I10"}
	open := map[string]map[int64]bool{}
	for _, entry := range evidence.Ledger {
		if open[entry.Environment] == nil {
			open[entry.Environment] = map[int64]bool{}
		}
		switch entry.Event {
		case Opened, Reopened:
			open[entry.Environment][entry.Number] = true
			if len(open[entry.Environment]) > 1 {
				f.add(0, "%d pull requests are open for one environment after %s", len(open[entry.Environment]), entry)
			}
		case Closed, Merged:
			delete(open[entry.Environment], entry.Number)
		}
	}
	return f.found
}

// StillOpen returns the pull requests of a ledger that are open at its end.
func StillOpen(ledger []Entry) []Entry {
	open := map[int64]Entry{}
	var order []int64
	for _, entry := range ledger {
		switch entry.Event {
		case Opened, Reopened:
			if open[entry.Number] = entry; !slices.Contains(order, entry.Number) {
				order = append(order, entry.Number)
			}
		case Closed, Merged:
			delete(open, entry.Number)
		}
	}
	var still []Entry
	for _, number := range order {
		if entry, found := open[number]; found {
			still = append(still, entry)
		}
	}
	return still
}

// AtRest holds when nothing is left to do: no pull request is open for a revision that is not the current one, or for a pipeline
// that is gone.
func AtRest(evidence Evidence) []Violation {
	f := &findings{rule: "I10"}
	current := ""
	if all := steps(evidence.History); len(all) > 0 && !gone(evidence) {
		if run := all[len(all)-1].after.Status.Run; run != nil {
			current = run.Revision
		}
	}
	for _, entry := range StillOpen(evidence.Ledger) {
		if entry.Revision != current {
			f.add(0, "at rest a pull request is open that nobody wants, since the revision is %q: %s", current, entry)
		}
	}
	return f.found
}

func gone(evidence Evidence) bool {
	for id, own := range evidence.History.Objects() {
		if id.Kind == "Pipeline" {
			return own.Last().Change == "deleted"
		}
	}
	return true
}
