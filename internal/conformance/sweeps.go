// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// Sweep is a fault sweep as the proof of a requirement: stories that run once for each crash, lost answer, error and lagging cache at
// each write.
type Sweep struct {
	// ID is the ID of the requirement.
	ID string
	// Folder contains the sweep.
	Folder string
	// Rules check every state of every story, see the package invariant below the folder.
	Rules []string
	// Workloads are stories that check the requirement themselves, or by a comparison with the undisturbed story.
	Workloads []string
}

const (
	flowSweep      = "test/faults"
	promotionSweep = "test/faults/promotions"
)

// Sweeps lists the requirements for which a fault sweep is the best proof: what they forbid shows only when something goes wrong.
var Sweeps = []Sweep{
	{ID: "JOB-02", Folder: flowSweep, Rules: []string{"I2"}},
	{ID: "JOB-03", Folder: flowSweep, Rules: []string{"I3"}},
	{ID: "JOB-04", Folder: flowSweep, Rules: []string{"I1"}, Workloads: []string{"life", "repair"}},
	{ID: "JOB-05", Folder: flowSweep, Rules: []string{"I2"}, Workloads: []string{"tended"}},
	{ID: "JOB-11", Folder: flowSweep, Rules: []string{"I4", "I27"}, Workloads: []string{"life", "alter", "suspend"}},
	{ID: "JOB-20", Folder: flowSweep, Rules: []string{"I26"}, Workloads: []string{"revise"}},
	{ID: "JOB-25", Folder: flowSweep, Workloads: []string{"alter"}},
	{ID: "JOB-26", Folder: flowSweep, Workloads: []string{"successor"}},
	{ID: "JOB-42", Folder: flowSweep, Workloads: []string{"dependents", "force"}},
	{ID: "JOB-45", Folder: flowSweep, Rules: []string{"I8", "I24"}, Workloads: []string{"life", "release"}},
	{ID: "JOB-46", Folder: flowSweep, Rules: []string{"I23", "I25"}, Workloads: []string{"forsake", "strand", "evict", "raze"}},
	{ID: "JOB-50", Folder: flowSweep, Rules: []string{"I6"}, Workloads: []string{"interrupt"}},
	{ID: "JOB-60", Folder: flowSweep, Workloads: []string{"abandon", "strand"}},
	{ID: "JOB-70", Folder: flowSweep, Rules: []string{"I5"}, Workloads: []string{"life"}},
	{ID: "JOB-71", Folder: flowSweep, Rules: []string{"I5"}, Workloads: []string{"repair"}},
	{ID: "JOB-72", Folder: flowSweep, Rules: []string{"I5"}, Workloads: []string{"life"}},
	{ID: "JOB-73", Folder: flowSweep, Rules: []string{"I6", "I7"}},
	{ID: "CON-04", Folder: flowSweep, Rules: []string{"C2"}},
	{ID: "CON-06", Folder: flowSweep, Workloads: []string{"blocked"}},
	{ID: "CON-10", Folder: flowSweep, Rules: []string{"I27"}, Workloads: []string{"suspend", "force"}},
	{ID: "CON-16", Folder: flowSweep, Workloads: []string{"seasons"}},
	{ID: "CON-41", Folder: flowSweep, Rules: []string{"C3"}, Workloads: []string{"stream", "force"}},
	{ID: "CON-44", Folder: flowSweep, Rules: []string{"I23"}, Workloads: []string{"blocked", "drift", "evict", "raze"}},
	{ID: "CON-53", Folder: flowSweep, Rules: []string{"C1", "C5"}, Workloads: []string{"blight"}},
	{ID: "CON-54", Folder: flowSweep, Workloads: []string{"weeds"}},
	{ID: "PIP-06", Folder: promotionSweep, Rules: []string{"I12"}, Workloads: []string{"doubt"}},
	{ID: "PIP-08", Folder: promotionSweep, Workloads: []string{"install"}},
	{ID: "PIP-12", Folder: promotionSweep, Rules: []string{"I10"}, Workloads: []string{"supersede", "overtake"}},
	{ID: "PIP-20", Folder: promotionSweep, Rules: []string{"I9", "I10"}, Workloads: []string{"merge", "supersede", "overtake", "notify"}},
	{ID: "PIP-25", Folder: promotionSweep, Rules: []string{"I11"}, Workloads: []string{"approve"}},
	{ID: "PIP-26", Folder: promotionSweep, Rules: []string{"I11"}, Workloads: []string{"approve"}},
	{ID: "PIP-29", Folder: promotionSweep, Rules: []string{"I10"}, Workloads: []string{"remove"}},
}

// CheckSweep returns what is wrong with the entries for a sweep: they name rules or workloads that it does not have. The tests of the sweep
// call it.
func CheckSweep(folder string, rules, workloads []string) []string {
	var problems []string
	found := false
	for _, s := range Sweeps {
		if s.Folder != folder {
			continue
		}
		found = true
		for _, rule := range s.Rules {
			if !slices.Contains(rules, rule) {
				problems = append(problems, fmt.Sprintf("%s is said to be proven by rule %s of %s, which does not exist", s.ID, rule, folder))
			}
		}
		for _, name := range s.Workloads {
			if !slices.Contains(workloads, name) {
				problems = append(problems, fmt.Sprintf("%s is said to be proven by workload %s of %s, which does not exist", s.ID, name, folder))
			}
		}
	}
	if !found {
		problems = append(problems, "no requirement is said to be proven by "+folder)
	}
	return problems
}

// checkEntries returns what is wrong with the entries that no sweep checks: IDs and folders.
func checkEntries(known []string, sweeps []Sweep) []string {
	var problems []string
	for _, s := range sweeps {
		if !slices.Contains(known, s.ID) {
			problems = append(problems, fmt.Sprintf("a sweep is said to prove %s, which no page in %s defines", s.ID, specFolder))
		}
		if s.Folder != flowSweep && s.Folder != promotionSweep || len(s.Rules)+len(s.Workloads) == 0 {
			problems = append(problems, fmt.Sprintf("%s is said to be proven by a sweep of %q without a name", s.ID, s.Folder))
		}
	}
	return problems
}

// sweepEntry begins the entry of a sweep in the list of tests.
const sweepEntry = "fault sweep "

// String names the sweep with its rules and workloads.
func (s Sweep) String() string {
	var parts []string
	if len(s.Rules) > 0 {
		parts = append(parts, "rules "+strings.Join(s.Rules, ", "))
	}
	if len(s.Workloads) > 0 {
		parts = append(parts, "workloads "+strings.Join(s.Workloads, ", "))
	}
	return fmt.Sprintf("%s`%s`: %s", sweepEntry, s.Folder, strings.Join(parts, "; "))
}
