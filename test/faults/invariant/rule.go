// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"strings"

	"espalier.dev/internal/testkit"
)

// Violation is a state, or a change of state, that must not occur.
type Violation struct {
	Rule    string // its number
	Object  testkit.ObjectID
	Version uint64 // the revision that is wrong
	What    string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s, revision %d: %s", v.Rule, v.Object, v.Version, v.What)
}

// Rule is a rule over the history of one namespace.
type Rule struct {
	ID    string
	Says  string
	Check func(testkit.History) []Violation
}

// Rules returns all rules that need only a history.
func Rules() []Rule {
	return []Rule{
		{"I1", "an object finishes a job after everything below it", finishedFromBelow},
		{"I2", "an object has one job at a time, its parent's, and never an old one again", oneJobAtATime},
		{"I3", "the final phase and the finished job are written together", oneEnd},
		{"I4", "a request starts exactly one job", oneJobPerRequest},
		{"I5", "nothing begins before what it depends on has succeeded, and deletion runs backwards", inOrder},
		{"I6", "nobody writes the outcome of a deploy item whose job is finished", finishedItemsRest},
		{"I7", "every deployed object is known to an inventory, and pruned last", inventoriesAreComplete},
		{"I8", "a finalizer goes after everything that it protects", finalizersGoLast},
		{"I13", "generations and conditions tell the truth", statusIsHonest},
		{"I16", "what is generated is generated once", generatedOnce},
		{"I17", "a release has at most one revision that is deployed", oneRevisionIsDeployed},
		{"I18", "an image runs once for a job, and in one pod at a time", imagesRunOnce},
		{"I19", "what a pod needs to begin stays until it has begun", inputStays},
		{"I20", "what a TargetSync makes it makes once", syncedOnce},
		{"I21", "a token is replaced only if it is due or asked for", tokensAreReplacedOnRequest},
		{"I23", "a deletion ends, or names the command that ends it", deletionsEnd},
		{"I24", "nothing is left of what is gone", nothingIsLeft},
		{"I25", "nothing exists twice, and nothing comes back while its root is being deleted", nothingIsDoubled},
		{"I26", "a root keeps the specs that its jobs have used, with their results", specsAreKept},
		{"I27", "a suspended root starts nothing", suspendedRootsRest},
		{"C1", "success means that the present spec is deployed", successIsDeployed},
		{"C2", "what is busy gets another spec only by force", busyIsLeftAlone},
		{"C3", "an installation is not uninstalled while another one imports from it", importersKeep},
		{"C4", "what is finished and unchanged is not written", restIsRespected},
		{"C5", "nothing is deployed before what it depends on", inContinuousOrder},
	}
}

// RulesOfTwo returns the rules for two processes that work at once.
func RulesOfTwo() []Rule {
	rules := Rules()
	for i := range rules {
		if rules[i].ID == "C1" {
			rules[i].Check = successWasDeployed
		}
	}
	return rules
}

// Check applies rules.
func Check(history testkit.History, rules []Rule) []Violation {
	var violations []Violation
	for _, rule := range rules {
		violations = append(violations, rule.Check(history)...)
	}
	return violations
}

// Describe lists violations, one per line; empty if there are none.
func Describe(violations []Violation) string {
	var lines []string
	for _, violation := range violations {
		lines = append(lines, violation.String())
	}
	return strings.Join(lines, "\n")
}

// findings collects the violations of one rule.
type findings struct {
	rule  string
	found []Violation
}

// add adds a violation by the object of a step.
func (f *findings) add(s step, format string, args ...any) {
	f.found = append(f.found, Violation{Rule: f.rule, Object: s.id, Version: s.version, What: fmt.Sprintf(format, args...)})
}
