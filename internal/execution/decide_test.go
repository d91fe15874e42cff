// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit/share"
)

// This is the small world: three items, every order among them, every state of each. The tests check all of it for what must never happen.

const job = "job-2"

var (
	noon       = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	smallNames = []string{"a", "b", "c"}
	allStates  = []execution.State{
		execution.StateAbsent, execution.StateUnseen, execution.StateIdle, execution.StateBusy, execution.StateRunning,
		execution.StateSucceeded, execution.StateFailed,
	}
)

// shapes returns all ways in which three items can depend on each other, each bit being one of the six possible edges, and one in which an
// item depends on itself.
func shapes() [][][]string {
	result := [][][]string{{{"a"}, nil, nil}}
	for bits := range 1 << 6 {
		shape := make([][]string, 3)
		for edge := range 6 {
			from, step := edge/2, 1+edge%2
			if bits&(1<<edge) != 0 {
				shape[from] = append(shape[from], smallNames[(from+step)%3])
			}
		}
		result = append(result, shape)
	}
	return result
}

func acyclic(shape [][]string) bool {
	gone := map[string]bool{}
	for range smallNames {
		for i, name := range smallNames {
			if !slices.ContainsFunc(shape[i], func(d string) bool { return !gone[d] }) {
				gone[name] = true
			}
		}
	}
	return len(gone) == len(smallNames)
}

// situations returns all possible states of an item, with and without a deletion timestamp.
func situations() []execution.Item {
	var result []execution.Item
	for _, state := range allStates {
		item := execution.Item{State: state, Problem: "it rained"}
		result = append(result, item)
		if state != execution.StateAbsent && state != execution.StateUnseen {
			item.Terminating = true
			result = append(result, item)
		}
	}
	return result
}

// eachTriple calls do with all combinations of situations of three items in the given order.
func eachTriple(shape [][]string, do func([]execution.Item)) {
	all := situations()
	for _, a := range all {
		for _, b := range all {
			for _, c := range all {
				items := []execution.Item{a, b, c}
				for i := range items {
					items[i].Name, items[i].DependsOn = smallNames[i], shape[i]
					if items[i].State != execution.StateAbsent {
						items[i].Object = execution.Object{Name: "app-" + smallNames[i], UID: "u", Version: "1"}
					}
				}
				do(items)
			}
		}
	}
}

func running(phase lsv1alpha1.Phase, wanted, orphans []execution.Item) execution.Observed {
	return execution.Observed{
		Phase: phase, Job: run.Job{ID: job, FinishedID: "job-1"}, Now: noon, PhaseSince: noon.Add(-time.Minute), Finalizer: true,
		Wanted: wanted, Orphaned: orphans,
	}
}

func working(i execution.Item) bool {
	return i.State == execution.StateRunning || i.State == execution.StateBusy || i.State == execution.StateUnseen
}

func state(items []execution.Item, name string) execution.State {
	return items[slices.IndexFunc(items, func(i execution.Item) bool { return i.Name == name })].State
}

// effects returns the effects of one type in a decision.
func effects[E execution.Effect](d execution.Decision) []E {
	var found []E
	for _, effect := range d.Do {
		if typed, ok := effect.(E); ok {
			found = append(found, typed)
		}
	}
	return found
}

func namesOf(items []execution.Item) []string {
	var names []string
	for _, item := range items {
		names = append(names, item.Name)
	}
	return names
}

// sane checks what every decision must satisfy.
func sane(o execution.Observed, d execution.Decision) error {
	refused := effects[execution.Refuse](d)
	ends := d.Next.IsFinal()
	switch {
	case d.Wait && (d.Why.Code == "" || d.Why.Message == ""):
		return fmt.Errorf("it waits without a reason")
	case !d.Wait && len(d.Do) == 0 && (d.Next == "" || d.Next == o.Phase):
		return fmt.Errorf("it goes on without doing anything")
	case ends && slices.ContainsFunc(slices.Concat(o.Wanted, o.Orphaned), working) && len(effects[execution.InterruptItems](d)) == 0:
		return fmt.Errorf("it ends while an item works")
	case ends && !d.Wait:
		return fmt.Errorf("it ends and goes on")
	case len(refused) > 0 != (ends && d.Next != lsv1alpha1.PhaseSucceeded):
		return fmt.Errorf("it refuses, or fails, but not both")
	}
	return nil
}

// unexplained ignores the explanation and the recheck interval of a decision.
var unexplained = cmpopts.IgnoreFields(execution.Decision{}, "Why", "RequeueAfter")

func complain(t *testing.T, err error, o execution.Observed, d execution.Decision) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v:\nobserved %+v\ndecided %+v", err, o, d)
	}
}

func TestJOB70_JOB71_EveryStateOfThreeItems(t *testing.T) {
	cases := 0
	for _, shape := range shapes() {
		if !acyclic(shape) {
			continue
		}
		eachTriple(shape, func(items []execution.Item) {
			cases++
			o := running(lsv1alpha1.PhaseProgressing, items, nil)
			d := execution.Decide(o)
			complain(t, sane(o, d), o, d)
			complain(t, startsExactlyWhatIsReady(items, d), o, d)
			complain(t, endsAsItShould(items, d), o, d)
		})
	}
	if cases != 25*12*12*12 {
		t.Errorf("%d cases, want 25 orders of 12 situations each", cases)
	}
}

// Items in progress learn of a deletion before it is awaited. A job that has started nothing ends, once no deployer works any more.
func TestJOB46_WhatADeletionMeansForARunningJob(t *testing.T) {
	for _, shape := range shapes() {
		if !acyclic(shape) {
			continue
		}
		eachTriple(shape, func(items []execution.Item) {
			o := running(lsv1alpha1.PhaseProgressing, items, nil)
			o.DeletionAsked, o.Complete = true, true
			d := execution.Decide(o)
			complain(t, sane(o, d), o, d)
			for _, tell := range effects[execution.TellItems](d) {
				o = execution.After(o, tell, nil)
				d = execution.Decide(o)
			}
			if d.Wait &&
				slices.ContainsFunc(o.Wanted, func(i execution.Item) bool { return i.State == execution.StateRunning && !i.DeletionAsked }) {
				complain(t, fmt.Errorf("it waits for an item that does not know of the deletion"), o, d)
			}
			o = running(lsv1alpha1.PhaseInit, items[:2], items[2:])
			o.DeletionAsked, o.Complete = true, true
			d = execution.Decide(o)
			complain(t, sane(o, d), o, d)
			if ended := d.Next == lsv1alpha1.PhaseFailed; ended == slices.ContainsFunc(items, working) ||
				len(effects[execution.CreateItems](d)) > 0 {
				complain(t, fmt.Errorf("it has ended: %t", ended), o, d)
			}
			o.Complete = false
			if d = execution.Decide(o); d.Next != "" || !d.Wait || !execution.NeedsComplete(o) {
				complain(t, fmt.Errorf("it does not ask first which items exist"), o, d)
			}
		})
	}
}

// In a namespace that is being deleted, an execution only removes its finalizer once its items are gone.
func TestJOB46_AnExecutionGoesWithItsNamespace(t *testing.T) {
	for _, phase := range []lsv1alpha1.Phase{"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed} {
		for _, left := range []bool{false, true} {
			for _, deleted := range []bool{false, true} {
				o := running(phase, nil, nil)
				o.NamespaceEnds, o.Deleted, o.DeletionAsked, o.Complete, o.Continuous = true, deleted, deleted, true, left
				if left {
					o.Orphaned = []execution.Item{{Name: "a", State: execution.StateIdle}}
				}
				d := execution.Decide(o)
				want := execution.Decision{Wait: true}
				if deleted && !left {
					want.Do = []execution.Effect{execution.RemoveFinalizer{}}
				}
				if diff := cmp.Diff(want, d, unexplained); diff != "" {
					complain(t, fmt.Errorf("it differs (-want +got):\n%s", diff), o, d)
				}
			}
		}
	}
}

// startsExactlyWhatIsReady checks that a decision starts the items that are idle, are not being deleted, and depend only on succeeded
// ones.
func startsExactlyWhatIsReady(items []execution.Item, d execution.Decision) error {
	var want, got []string
	for _, item := range items {
		waits := slices.ContainsFunc(item.DependsOn, func(name string) bool { return state(items, name) != execution.StateSucceeded })
		if item.State == execution.StateIdle && !item.Terminating && !waits {
			want = append(want, item.Name)
		}
	}
	for _, trigger := range effects[execution.TriggerItems](d) {
		if trigger.JobID != job {
			return fmt.Errorf("job %q is passed on", trigger.JobID)
		}
		got = append(got, namesOf(trigger.Items)...)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("it starts %q, want %q", got, want)
	}
	return nil
}

// endsAsItShould checks that a job succeeds if all items have, fails if none is in progress and none can be started, and otherwise waits
// or continues.
func endsAsItShould(items []execution.Item, d execution.Decision) error {
	starts := len(effects[execution.TriggerItems](d)) > 0
	works := slices.ContainsFunc(items, working)
	succeeded := !slices.ContainsFunc(items, func(i execution.Item) bool { return i.State != execution.StateSucceeded })
	switch {
	case (d.Next == lsv1alpha1.PhaseCompleting) != succeeded:
		return fmt.Errorf("next phase %s", d.Next)
	case (d.Next == lsv1alpha1.PhaseFailed) != (!succeeded && !works && !starts):
		return fmt.Errorf("next phase %s", d.Next)
	case d.Next == "" && !starts && (!d.Wait || d.RequeueAfter <= 0):
		return fmt.Errorf("it neither waits nor has a safety net")
	}
	if d.Next != lsv1alpha1.PhaseFailed {
		return nil
	}
	for _, item := range items {
		if item.State == execution.StateFailed && !strings.Contains(d.Why.Message, fmt.Sprintf("%q (app-%s): it rained", item.Name, item.Name)) {
			return fmt.Errorf("the message does not say why %s failed: %s", item.Name, d.Why.Message)
		}
		if item.State != execution.StateSucceeded && !strings.Contains(d.Why.Message, item.Name) {
			return fmt.Errorf("the message does not name %s: %s", item.Name, d.Why.Message)
		}
	}
	return nil
}

// This covers all orders, including cyclic ones: a deletion must cope with what it finds.
func TestJOB72_JOB44_EveryStateOfThreeItemsThatAreDeleted(t *testing.T) {
	cases := share.Of()
	for _, shape := range shapes() {
		eachTriple(shape, func(items []execution.Item) {
			for _, complete := range []bool{false, true} {
				if !cases.Try() {
					continue
				}
				o := running(lsv1alpha1.PhaseDeleting, nil, slices.DeleteFunc(items, func(i execution.Item) bool { return i.Object.Name == "" }))
				o.Deleted, o.Complete = true, complete
				d := execution.Decide(o)
				complain(t, sane(o, d), o, d)
				complain(t, tellsLater(o, d), o, d)
				complain(t, removesInOrder(o.Orphaned, d, acyclic(shape)), o, d)
				complain(t, letsGoOnlyForCertain(o, d), o, d)
			}
		})
	}
}

// tellsLater checks that a deletion that can be continued from the items alone may be reported later, and differs in nothing else.
func tellsLater(o execution.Observed, d execution.Decision) error {
	o.Remembered = true
	later := execution.Decide(o)
	goesOn := slices.ContainsFunc(o.Orphaned, working) ||
		len(effects[execution.DeleteItems](later))+len(effects[execution.TriggerItems](later)) > 0
	switch {
	case later.Next != d.Next || later.Wait != d.Wait || len(later.Do) != len(d.Do):
		return fmt.Errorf("if it remembers all items, it decides %+v", later)
	case d.DeferStatusWrite:
		return fmt.Errorf("nobody is told of a deletion whose items have to be asked for each time")
	case later.DeferStatusWrite != goesOn:
		return fmt.Errorf("it is told later: %t", later.DeferStatusWrite)
	}
	return nil
}

func removesInOrder(items []execution.Item, d execution.Decision, ordered bool) error {
	needed := func(name string) bool {
		return ordered && slices.ContainsFunc(items, func(i execution.Item) bool { return slices.Contains(i.DependsOn, name) })
	}
	for _, e := range effects[execution.DeleteItems](d) {
		for _, item := range e.Items {
			if needed(item.Name) || item.Terminating {
				return fmt.Errorf("%s is deleted", item.Name)
			}
		}
	}
	for _, e := range effects[execution.TriggerItems](d) {
		for _, item := range e.Items {
			if needed(item.Name) || !item.Terminating || item.State != execution.StateIdle {
				return fmt.Errorf("%s is started", item.Name)
			}
		}
	}
	return nil
}

func letsGoOnlyForCertain(o execution.Observed, d execution.Decision) error {
	released := len(effects[execution.RemoveFinalizer](d)) > 0
	if released != (o.Complete && len(o.Orphaned) == 0) {
		return fmt.Errorf("the finalizer goes: %t", released)
	}
	if d.Next == lsv1alpha1.PhaseDeleteFailed && (!o.Complete || len(o.Orphaned) == 0) {
		return fmt.Errorf("it fails without certainty, or without anything left")
	}
	if d.Next == lsv1alpha1.PhaseDeleteFailed && !slices.ContainsFunc(o.Orphaned, stuck) {
		return fmt.Errorf("it fails although no item has")
	}
	moves := len(d.Do) > 0 || d.Next != "" || slices.ContainsFunc(o.Orphaned, working)
	if !moves && o.Complete {
		return fmt.Errorf("it waits for nothing")
	}
	if !moves && !execution.NeedsComplete(o) {
		return fmt.Errorf("it waits for certainty that nobody is asked for")
	}
	return nil
}

// stuck reports whether an item has finished the job and still exists.
func stuck(i execution.Item) bool {
	return i.Terminating && (i.State == execution.StateFailed || i.State == execution.StateSucceeded)
}

func TestJOB20_OrphansGoBeforeAnythingStarts(t *testing.T) {
	shape := [][]string{nil, {"a"}, {"a"}}
	eachTriple(shape, func(items []execution.Item) {
		for _, phase := range []lsv1alpha1.Phase{lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing} {
			orphans := slices.DeleteFunc(slices.Clone(items), func(i execution.Item) bool { return i.Object.Name == "" })
			wanted := []execution.Item{{Name: "new", State: execution.StateIdle, Object: execution.Object{Name: "app-new"}}}
			o := running(phase, wanted, orphans)
			d := execution.Decide(o)
			complain(t, sane(o, d), o, d)
			if len(orphans) == 0 {
				continue
			}
			complain(t, removesInOrder(orphans, d, true), o, d)
			if d.Next == lsv1alpha1.PhaseProgressing || startsAny(d, "new") {
				complain(t, fmt.Errorf("the new item does not wait"), o, d)
			}
			if idle := len(d.Do) == 0 && !slices.ContainsFunc(orphans, working); idle {
				complain(t, fmt.Errorf("it waits for nothing"), o, d)
			}
			if d.Next == lsv1alpha1.PhaseFailed && !slices.ContainsFunc(orphans, stuck) {
				complain(t, fmt.Errorf("it fails although no item has"), o, d)
			}
		}
	})
}

func startsAny(d execution.Decision, names ...string) bool {
	for _, e := range effects[execution.TriggerItems](d) {
		if slices.ContainsFunc(e.Items, func(i execution.Item) bool { return slices.Contains(names, i.Name) }) {
			return true
		}
	}
	return false
}

func TestJOB50_JOB52_AnInterruptStartsNothingAndEndsAtOnce(t *testing.T) {
	phases := []lsv1alpha1.Phase{
		"",
		lsv1alpha1.PhaseInit,
		lsv1alpha1.PhaseProgressing,
		lsv1alpha1.PhaseCompleting,
		lsv1alpha1.PhaseInitDelete,
		lsv1alpha1.PhaseDeleting,
	}
	eachTriple([][]string{nil, {"a"}, nil}, func(items []execution.Item) {
		for i := range items {
			if items[i].State != execution.StateSucceeded && items[i].State != execution.StateFailed && items[i].Object.Name != "" {
				items[i].CutShort = &lsv1alpha1.DeployItemStatus{}
			}
			items[i].Write = &lsv1alpha1.DeployItem{}
		}
		for _, phase := range phases {
			o := running(phase, items, nil)
			if phase.IsDeletion() {
				o.Wanted, o.Orphaned, o.Deleted = nil, items, true
			}
			o.InterruptAsked, o.Complete = true, true
			complain(t, isCutShort(o), o, execution.Decide(o))
		}
	})
}

// isCutShort follows the decisions of a pass to its end.
func isCutShort(o execution.Observed) error {
	cut := map[string]bool{}
	for range 5 {
		d := execution.Decide(o)
		for _, effect := range d.Do {
			switch e := effect.(type) {
			case execution.InterruptItems:
				for _, item := range e.Items {
					cut[item.Name] = true
				}
			case execution.AcceptInterrupt, execution.Refuse:
			default:
				return fmt.Errorf("it does %s", e)
			}
			o = execution.After(o, effect, nil)
		}
		if d.Next != "" {
			o.Phase = d.Next
		}
		if d.Wait {
			break
		}
	}
	if want := map[bool]lsv1alpha1.Phase{true: lsv1alpha1.PhaseDeleteFailed, false: lsv1alpha1.PhaseFailed}[o.Deleted]; o.Phase != want {
		return fmt.Errorf("it ends in phase %s, want %s", o.Phase, want)
	}
	for _, item := range slices.Concat(o.Wanted, o.Orphaned) {
		if item.CutShort != nil && !cut[item.Name] {
			return fmt.Errorf("%s is not cut short", item.Name)
		}
	}
	return nil
}

// Without a job, an execution does nothing, whatever its items are like.
func TestJOB02_NothingHappensWithoutAJob(t *testing.T) {
	for _, phase := range []lsv1alpha1.Phase{"", lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseDeleteFailed} {
		for _, deleted := range []bool{false, true} {
			o := execution.Observed{Phase: phase, Job: run.Job{ID: job, FinishedID: job}, Deleted: deleted, Now: noon, Finalizer: true}
			if phase == "" {
				o.Job = run.Job{}
			}
			d := execution.Decide(o)
			complain(t, sane(o, d), o, d)
			if !d.Wait || len(d.Do) > 0 || d.Next != "" {
				complain(t, fmt.Errorf("it does something"), o, d)
			}
			o.InterruptAsked = true
			if d := execution.Decide(o); len(d.Do) != 1 || len(effects[execution.DropInterrupt](d)) != 1 {
				complain(t, fmt.Errorf("an interrupt of nothing is not just dropped"), o, d)
			}
			o.InterruptAsked, o.Finalizer = false, false
			held := len(effects[execution.AddFinalizer](execution.Decide(o))) == 1
			if wanted := o.Job.ID != "" && !deleted; held != wanted {
				complain(t, fmt.Errorf("a finalizer that somebody has removed comes back: %t", held), o, d)
			}
		}
	}
}

// An execution that waits for deploy items is rechecked at growing intervals, in case no event arrives: in jobs, in the continuous flow,
// and in a namespace that is being deleted.
func TestJOB24_RechecksOfExecutionsGrow(t *testing.T) {
	items := []execution.Item{{Name: "a", Object: execution.Object{Name: "a-1"}, State: execution.StateRunning}}
	deploys := running(lsv1alpha1.PhaseProgressing, items, nil)
	deletes := running(lsv1alpha1.PhaseDeleting, nil, items)
	deletes.Deleted, deletes.Complete = true, true
	ends := deletes
	ends.NamespaceEnds = true
	terminating := slices.Clone(items)
	terminating[0].Terminating = true
	continuous := deletes
	continuous.Continuous, continuous.Chosen, continuous.Orphaned = true, lsv1alpha1.FlowContinuous, terminating
	for name, o := range map[string]execution.Observed{
		"deploys": deploys, "deletes": deletes, "in a namespace that ends": ends, "deletes in the continuous flow": continuous,
	} {
		for since, want := range map[time.Duration]time.Duration{
			0: run.MinRecheck, 5 * time.Minute: 5 * time.Minute, 24 * time.Hour: run.MaxRecheck,
		} {
			o.PhaseSince = noon.Add(-since)
			if d := execution.Decide(o); !d.Wait || len(d.Do) > 0 || d.RequeueAfter != want {
				t.Errorf("%s: after %s it is rechecked after %s, want %s: %+v", name, since, d.RequeueAfter, want, d)
			}
		}
	}
}
