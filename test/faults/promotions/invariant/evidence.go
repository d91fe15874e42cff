// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// Evidence is what a run has left of one pipeline.
type Evidence struct {
	// History contains every state of the pipeline, and possibly other objects.
	History testkit.History
	// Ledger lists what has happened outside, in order.
	Ledger []Entry
	// Approved are the revisions that users have approved, by environment and revision; see Approval.
	Approved map[Approval]bool
}

// Approval is what a user may have approved.
type Approval struct{ Environment, Revision string }

// Event is the kind of an entry in the ledger.
type Event string

const (
	// Opened, Closed, Reopened and Merged are about pull requests.
	Opened   Event = "opened"
	Closed   Event = "closed"
	Reopened Event = "reopened"
	Merged   Event = "merged"
	// Accepted is about events that the receiver had not seen before.
	Accepted Event = "accepted"
)

// Entry is an entry of the ledger.
type Entry struct {
	Event  Event
	Number int64 // of the pull request
	// Environment, Key and Revision are those of the promotion.
	Environment, Key, Revision string
}

func (e Entry) String() string {
	return fmt.Sprintf("%s %s of %s for %s (number %d)", e.Event, e.Key, e.Revision, e.Environment, e.Number)
}

// Violation is a state or event that must not occur.
type Violation struct {
	Rule string
	// Version is the revision of the pipeline that is wrong; zero for external events.
	Version uint64
	What    string
}

func (v Violation) String() string {
	if v.Version == 0 {
		return v.Rule + ": " + v.What
	}
	return fmt.Sprintf("%s: revision %d: %s", v.Rule, v.Version, v.What)
}

// Rule is a rule over evidence.
type Rule struct {
	ID    string
	Says  string
	Check func(Evidence) []Violation
}

// Rules returns all rules that need no other run for comparison.
func Rules() []Rule {
	return []Rule{
		{"I9", "a promotion succeeds at most once", promotedOnce},
		{"I10", "at most one pull request is open per environment", oneOpen},
		{"I11", "nothing manual begins without an approval", approvedFirst},
		{"I12", "nothing begins on bad or missing data", onGoodData},
		{"I13", "generations and conditions tell the truth", statusIsHonest},
	}
}

// Check applies all rules.
func Check(evidence Evidence) []Violation {
	var violations []Violation
	for _, rule := range Rules() {
		violations = append(violations, rule.Check(evidence)...)
	}
	return violations
}

// findings collects the violations of one rule.
type findings struct {
	rule  string
	found []Violation
}

func (f *findings) add(version uint64, format string, args ...any) {
	f.found = append(f.found, Violation{Rule: f.rule, Version: version, What: fmt.Sprintf(format, args...)})
}

// step is one write of a pipeline. before is nil for the first one; a wiped status starts over.
type step struct {
	version       uint64
	before, after *pipelines.Pipeline
}

// steps returns the writes of the pipeline, in order.
func steps(history testkit.History) []step {
	var all []step
	var before *pipelines.Pipeline
	for _, revision := range history {
		if revision.ID().Kind != "Pipeline" || revision.Change == testkit.Deleted {
			continue
		}
		after := &pipelines.Pipeline{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(revision.Object.Object, after); err != nil {
			panic(fmt.Sprintf("a recorded pipeline cannot be read: %v", err))
		}
		all = append(all, step{version: revision.Version(), before: before, after: after})
		before = after
	}
	return all
}

// wiped reports whether the whole status was emptied.
func (s step) wiped() bool {
	return s.before != nil && s.before.Status.Run != nil && s.after.Status.Run == nil
}

// promotionBefore returns the current promotion of an environment before the write.
func (s step) promotionBefore(environment string) *pipelines.PromotionStatus {
	if s.before == nil {
		return nil
	}
	return s.before.Status.Environments[environment].Promotion
}

// identity identifies a promotion.
type identity struct {
	environment, revision string
	run                   int64
	retries               int32
}

func identify(environment string, p *pipelines.PromotionStatus) identity {
	return identity{environment, p.Revision, p.Run, p.Retries}
}

func (i identity) String() string {
	return fmt.Sprintf("the promotion of %s to %s in run %d, retry %d", i.revision, i.environment, i.run, i.retries)
}

func isOneOf(state pipelines.PromotionState, states ...pipelines.PromotionState) bool {
	return slices.Contains(states, state)
}
