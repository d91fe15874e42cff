// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
	"espalier.dev/test/faults/invariant"
)

// eachWorkload calls a function for all workloads, several concurrently, with their numbers. A sample omits those for users who interfere.
func eachWorkload(t *testing.T, do func(t *testing.T, w workload, number int)) {
	t.Helper()
	t.Parallel()
	for number, w := range workloads {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		if !*full && (w.name == "tended" || w.name == "minded" || w.name == "raze") {
			continue // similar to the main ones, as long as nobody interferes
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			do(t, w, number)
		})
	}
}

// sweep runs a workload once per disturbance, many concurrently, and prints for each failure how to repeat it.
func sweep(t *testing.T, w workload, disturbances []disturbance) {
	t.Helper()
	want := reference(t, w)
	report := faults.NewTally(t, w.name, *budget)
	for _, d := range faults.Share(disturbances, *share, time.Now()) {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			if report.IsLate() {
				return
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log("to repeat it: " + replayCommand(w.name, d.String()))
				}
			})
			got := perform(t, w, d)
			report.Add(got.met)
			check(t, want, got)
		})
	}
}

// namedWrite is a plan's way to name one write of a reference run.
type namedWrite struct{ plan faults.Plan }

func (n namedWrite) with(action faults.Action) faults.Plan {
	fault := n.plan.Requests[0]
	fault.Do = action
	return faults.Plan{Requests: []faults.RequestFault{fault}}
}

// named is faults.EachNamedWrite, except for objects whose names differ in each run: for those, the writes of the kind are counted.
func named(log faults.Log, actions ...faults.Action) []faults.Plan {
	plans, counts := faults.EachNamedWrite(log, actions...), map[string]int{}
	for i, entry := range log.Writes() {
		kind := kindOf(entry)
		counts[kind]++
		if !invariant.IsNamedAfterUID(entry.Name) {
			continue
		}
		for j := range actions {
			fault := &plans[i*len(actions)+j].Requests[0]
			fault.What.Name, fault.Which.Number = "", counts[kind]
		}
	}
	return plans
}

func kindOf(entry faults.Entry) string {
	return fmt.Sprintf("%s %s/%s", entry.Verb, entry.Resource, entry.Subresource)
}

// kindsOf chooses one of each kind of write in a log: with 0 the first, which is the cheapest, otherwise some later ones, so that all acts
// of a workload are covered.
func kindsOf(log faults.Log, spread int) []namedWrite {
	byKind := map[string][]namedWrite{}
	var order []string
	plans := named(log, faults.CrashBefore)
	for i, entry := range log.Writes() {
		kind := kindOf(entry)
		if byKind[kind] == nil {
			order = append(order, kind)
		}
		byKind[kind] = append(byKind[kind], namedWrite{plans[i]})
	}
	var chosen []namedWrite
	for i, kind := range order {
		all := byKind[kind]
		chosen = append(chosen, all[(i+1)*spread*stride%len(all)])
	}
	return chosen
}

// stride is prime, so that the chosen writes are spread over many.
const stride = 7

// watchedIn returns the resources whose caches the controllers use for decisions, if the log contains them.
func watchedIn(log faults.Log) []string {
	watched := []string{"installations", "executions", "deployitems", "dataobjects", "targets"}
	for _, resource := range []string{"pods", "targetsyncs"} {
		if slices.ContainsFunc(log.Writes(), func(e faults.Entry) bool { return e.Resource == resource }) {
			watched = append(watched, resource)
		}
	}
	return watched
}

// lagging holds the watch of each resource at each write until the next but one, and also such that the cache never sees what it missed.
func lagging(log faults.Log) []disturbance {
	var all []disturbance
	watched := watchedIn(log)
	for _, entry := range log.Writes() {
		for _, resource := range watched {
			all = append(all, hold(resource, "hold", entry.Write), hold(resource, "relist", entry.Write))
		}
	}
	return all
}

// statesOf chooses the writes of the state in which passwords are kept.
func statesOf(log faults.Log) []namedWrite {
	var chosen []namedWrite
	plans := faults.EachNamedWrite(log, faults.CrashBefore)
	for i, entry := range log.Writes() {
		if entry.Name == passwords {
			chosen = append(chosen, namedWrite{plans[i]})
		}
	}
	return chosen
}

// recordsOf chooses the writes of the records of releases: Helm may have done half of its work between any two of them.
func recordsOf(log faults.Log) []namedWrite {
	var chosen []namedWrite
	plans := faults.EachNamedWrite(log, faults.CrashBefore)
	for i, entry := range log.Writes() {
		if strings.HasPrefix(entry.Name, "sh.helm.release.v1.") {
			chosen = append(chosen, namedWrite{plans[i]})
		}
	}
	return chosen
}

// forgetful holds the watch of Secrets during the whole of a story that generates passwords: no job sees in its cache that they already
// exist.
func forgetful(log faults.Log) []disturbance {
	if len(statesOf(log)) == 0 {
		return nil
	}
	last := len(log.Writes())
	return []disturbance{
		{
			plan: faults.MustParse(fmt.Sprintf("watch:secrets:hold:1..%d", last)),
		}, {plan: faults.MustParse(fmt.Sprintf("watch:secrets:relist:1..%d", last))},
	}
}

// lagAll holds the watches of all resources one after the other, in each of several runs at different writes.
func lagAll(log faults.Log, run, runs int) disturbance {
	writes, watched := len(log.Writes()), watchedIn(log)
	var d disturbance
	for i, resource := range watched {
		how := []string{"hold", "relist"}[(i+run)%2]
		d.plan = d.plan.And(hold(resource, how, 1+writes*(i*runs+run)/(runs*len(watched))).plan)
	}
	return d
}

func hold(resource, how string, write int) disturbance {
	plan := faults.MustParse(fmt.Sprintf("watch:%s:%s:%d..%d", resource, how, write, write+2))
	return disturbance{plan: plan}
}
