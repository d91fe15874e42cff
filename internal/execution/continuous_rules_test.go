// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit/share"
)

// class returns the class of an item of the spec.
func class(o execution.Observed, name string) execution.Class {
	for _, pair := range o.Pairs() {
		if pair.Name == name {
			return pair.Class
		}
	}
	return ""
}

func all(items []execution.Item, holds func(execution.Item) bool) bool {
	return !slices.ContainsFunc(items, func(i execution.Item) bool { return !holds(i) })
}

// updated returns the items that a decision updates to match the spec.
func updated(d execution.Decision) []execution.Item {
	return slices.Concat(
		concerned(d, func(e execution.CreateItems) []execution.Item { return e.Items }),
		concerned(d, func(e execution.UpdateItems) []execution.Item { return e.Items }),
		concerned(d, func(e execution.AskItems) []execution.Item { return e.Items }),
		concerned(d, func(e execution.NoteItems) []execution.Item { return e.Items }),
	)
}

func deletedItems(d execution.Decision) []execution.Item {
	return concerned(d, func(e execution.DeleteItems) []execution.Item { return e.Items })
}

func frozen(o execution.Observed) bool { return o.Ignored && o.Phase.IsCompleted() }

// atWork reports whether an execution is not being deleted, is in this flow, and may act.
func atWork(o execution.Observed) bool {
	return !frozen(o) && o.Finalizer && !o.Deleted && (o.Chosen == lsv1alpha1.FlowContinuous || !(o.Phase == "" || o.Phase.IsFinal()))
}

func isAsked(o execution.Observed) bool {
	return slices.Contains(operations[1:4], o.Operation)
}

type executionRule func(execution.Observed, execution.Decision) bool

// executionRules hold for every decision, whatever the facts.
var executionRules = map[string]executionRule{
	"a wait says why": func(_ execution.Observed, d execution.Decision) bool {
		return !d.Wait || d.Why.Code != "" && d.Why.Message != ""
	},
	"what is ignored and completed is left alone": func(o execution.Observed, d execution.Decision) bool {
		return !frozen(o) || d.Wait && len(d.Do) == 0 && d.Next == ""
	},
	"the finalizer comes first": func(o execution.Observed, d execution.Decision) bool {
		return frozen(o) || o.Deleted || o.Finalizer || len(d.Do) == 1 && doesTo[execution.AddFinalizer](d) && d.Next == ""
	},
	"success needs that all items are in class 1A and no other one is left": func(o execution.Observed, d execution.Decision) bool {
		return d.Next != lsv1alpha1.PhaseSucceeded ||
			!o.Deleted && o.Invalid == nil && len(o.Orphaned) == 0 && o.Phase == lsv1alpha1.PhaseProgressing &&
				all(o.Wanted, func(i execution.Item) bool {
					recorded := lsv1alpha1.DeployItemGeneration{
						Name:                 i.Name,
						ExecutionGeneration:  o.Generation,
						DeployItemGeneration: i.Object.Generation,
					}
					return i.State == execution.StateSucceeded && slices.Contains(o.Generations, recorded) && class(o, i.Name) == execution.ClassDeployed
				})
	},
	"failure needs an item in class 1B, one that cannot be deleted, a spec that is wrong, or an abort": func(o execution.Observed, d execution.Decision) bool {
		broken := slices.ContainsFunc(o.Wanted, func(i execution.Item) bool { return class(o, i.Name) == execution.ClassBroken })
		stuck := slices.ContainsFunc(o.Orphaned, func(i execution.Item) bool { return i.Terminating && i.State == execution.StateFailed })
		return d.Next != lsv1alpha1.PhaseFailed || broken || stuck || o.Invalid != nil || o.Operation == lsv1alpha1.OperationAbort && !o.Deleted
	},
	"failure comes when no deployer works any more": func(o execution.Observed, d execution.Decision) bool {
		broken := slices.ContainsFunc(o.Wanted, func(i execution.Item) bool { return class(o, i.Name) == execution.ClassBroken })
		works := slices.ContainsFunc(o.Wanted, func(i execution.Item) bool { return class(o, i.Name) == execution.ClassInWork })
		return d.Next != lsv1alpha1.PhaseFailed || o.Deleted || o.Invalid != nil || o.Operation == lsv1alpha1.OperationAbort || !broken || !works
	},
	"an item in class 1B ends it in Failed, unless something was asked for": func(o execution.Observed, d execution.Decision) bool {
		broken := slices.ContainsFunc(o.Wanted, func(i execution.Item) bool { return class(o, i.Name) == execution.ClassBroken })
		due := atWork(o) && broken && !isAsked(o) && o.Operation == "" && o.Invalid == nil && o.Phase == lsv1alpha1.PhaseProgressing
		works := slices.ContainsFunc(o.Orphaned, func(i execution.Item) bool { return i.Terminating && i.State != execution.StateFailed }) ||
			slices.ContainsFunc(o.Wanted, func(i execution.Item) bool { return class(o, i.Name) == execution.ClassInWork })
		return !due || d.Next == lsv1alpha1.PhaseFailed || len(deletedItems(d)) > 0 || works && d.Wait && len(d.Do) == 0 ||
			doesTo[execution.ConvertItems](d)
	},
	"all of class 2A are updated, and only they": func(o execution.Observed, d execution.Decision) bool {
		if !atWork(o) || len(updated(d)) == 0 {
			return true
		}
		return all(updated(d), func(i execution.Item) bool { return class(o, i.Name) == execution.ClassDue }) &&
			all(o.Wanted, func(w execution.Item) bool {
				named := func(i execution.Item) bool { return i.Name == w.Name }
				return class(o, w.Name) != execution.ClassDue || slices.ContainsFunc(updated(d), named)
			})
	},
	"nothing is updated before what it depends on has succeeded": func(o execution.Observed, d execution.Decision) bool {
		return !atWork(o) || all(updated(d), func(i execution.Item) bool {
			return !slices.ContainsFunc(i.DependsOn, func(on string) bool { return class(o, on) != execution.ClassDeployed })
		})
	},
	"what is as the spec wants it is not written": func(o execution.Observed, d execution.Decision) bool {
		written := concerned(d, func(e execution.UpdateItems) []execution.Item { return e.Items })
		return all(written, func(i execution.Item) bool { return i.Write != nil })
	},
	"what is deleted has no place in the spec, was not asked to go, and no other one depends on it": func(o execution.Observed, d execution.Decision) bool {
		return all(deletedItems(d), func(i execution.Item) bool {
			leaves := slices.ContainsFunc(o.Orphaned, func(l execution.Item) bool { return l.Name == i.Name && !l.Terminating })
			needed := slices.ContainsFunc(o.Orphaned, func(l execution.Item) bool { return slices.Contains(l.DependsOn, i.Name) })
			return leaves && !needed
		})
	},
	"the finalizer goes when it is certain that no item is left": func(o execution.Observed, d execution.Decision) bool {
		return !doesTo[execution.RemoveFinalizer](d) || o.Deleted && o.Complete && len(o.Orphaned) == 0
	},
	"a deletion updates nothing": func(o execution.Observed, d execution.Decision) bool {
		asked := concerned(d, func(e execution.AskItems) []execution.Item { return e.Items })
		return !o.Deleted || o.Chosen == lsv1alpha1.FlowJob ||
			len(updated(d)) == len(asked) && all(asked, func(i execution.Item) bool { return i.Terminating && i.State == execution.StateFailed })
	},
	"force puts all items into class 2, a reconcile those that have failed": func(o execution.Observed, d execution.Decision) bool {
		redone := concerned(d, func(e execution.RedoItems) []execution.Item { return e.Items })
		return !doesTo[execution.RedoItems](d) || isAsked(o) && all(o.Wanted, func(w execution.Item) bool {
			named := slices.ContainsFunc(redone, func(i execution.Item) bool { return i.Name == w.Name })
			return named == (o.Operation == lsv1alpha1.OperationForceReconcile || w.State == execution.StateFailed)
		})
	},
	"a request is answered after it was stored what it has led to": func(o execution.Observed, d execution.Decision) bool {
		leaves := o.Chosen == lsv1alpha1.FlowJob && (o.Phase == "" || o.Phase.IsFinal()) // the other flow does not have this
		return !doesTo[execution.DropOperation](d) || !isAsked(o) || o.Deleted || leaves || d.SaveFirst
	},
	"an abort ends everything that is in work, and misses nothing": func(o execution.Observed, d execution.Decision) bool {
		cut := concerned(d, func(e execution.InterruptItems) []execution.Item { return e.Items })
		aborts := !frozen(o) && o.Finalizer && !o.Deleted && o.Operation == lsv1alpha1.OperationAbort && d.Next == lsv1alpha1.PhaseFailed
		if !aborts {
			return len(cut) == 0
		}
		return o.Complete && all(slices.Concat(o.Wanted, o.Orphaned), func(i execution.Item) bool {
			named := slices.ContainsFunc(cut, func(c execution.Item) bool { return c.Name == i.Name })
			return named == (i.CutShort != nil && !i.Terminating)
		})
	},
	"its own end is left on request or with a new spec": func(o execution.Observed, d execution.Decision) bool {
		rests := atWork(o) && o.Phase == lsv1alpha1.PhaseFailed && o.Own && o.UpToDate && o.Operation == ""
		return !rests || d.Wait && len(d.Do) == 0 && d.Next == ""
	},
	"a flow changes when no deployer is at work": func(o execution.Observed, d execution.Decision) bool {
		busy := slices.ContainsFunc(slices.Concat(o.Wanted, o.Orphaned), func(i execution.Item) bool {
			return i.State == execution.StateRunning || i.State == execution.StateUnseen
		})
		return !busy ||
			!doesTo[execution.LeaveFlow](d) && (o.Chosen == lsv1alpha1.FlowContinuous || !o.Phase.IsFinal() || !doesTo[execution.ConvertItems](d))
	},
}

func TestCON52_CON53_CON55_RulesHoldForAllFactsOfExecutions(t *testing.T) {
	seen, cases := 0, share.Of()
	everyExecution(func(o execution.Observed) {
		if !cases.Try() {
			return
		}
		seen++
		d := execution.Decide(o)
		for name, holds := range executionRules {
			if !holds(o, d) {
				t.Fatalf("%s: %+v decides %+v", name, o, d)
			}
		}
	})
	if cases.Whole(seen) < 300_000 {
		t.Errorf("only %d combinations", seen)
	}
}

// A pass always ends, and a second one directly after it finds nothing to do: there are no endless loops.
func TestCON51_CON54_PassesOfExecutionsEndAndAnUnchangedWorldIsLeftAlone(t *testing.T) {
	n, cases := 0, share.Of()
	everyExecution(func(o execution.Observed) {
		if n++; n%7 != 0 || !cases.Try() {
			return
		}
		after, _, err := passOfExecution(o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if !after.Finalizer || after.Chosen == lsv1alpha1.FlowJob && (after.Phase == "" || after.Phase.IsFinal()) {
			return // gone, or in the other flow
		}
		again, decisions, err := passOfExecution(after)
		if err != nil {
			t.Fatalf("again, %+v: %v", after, err)
		}
		for _, d := range decisions {
			if len(d.Do) > 0 && !doesTo[execution.Refuse](d) || again.Phase != after.Phase {
				t.Fatalf("%+v\n ends as %+v\n and then decides %+v, phase %s", o, after, d, again.Phase)
			}
		}
	})
}

// An execution notifies its deploy items of a deletion before it waits for them, and that changes nothing else.
func TestJOB46_CON44_ItemsKnowOfADeletionBeforeTheyAreAwaited(t *testing.T) {
	told, cases := 0, share.Of()
	everyExecution(func(o execution.Observed) {
		if !cases.Try() {
			return
		}
		before := execution.Decide(o)
		if o.DeletionAsked = true; o.Deleted {
			return
		}
		d := execution.Decide(o)
		if doesTo[execution.TellItems](d) {
			told++
			for _, effect := range d.Do {
				o = execution.After(o, effect, nil)
			}
			d = execution.Decide(o)
		}
		if diff := cmp.Diff(before.Why, d.Why); diff != "" || before.Next != d.Next || before.Wait != d.Wait || len(before.Do) != len(d.Do) {
			t.Fatalf("%+v decides %+v instead of %+v", o, d, before)
		}
		awaits := atWork(o) && d.Why.Code == lsv1alpha1.ReasonWaitingForSubObjects && o.Phase == lsv1alpha1.PhaseProgressing
		if awaits && !all(o.Wanted, func(i execution.Item) bool { return i.State != execution.StateRunning || i.DeletionAsked }) {
			t.Fatalf("%+v awaits an item that does not know of the deletion: %+v", o, d)
		}
	})
	if told == 0 {
		t.Error("nothing was ever told")
	}
}
