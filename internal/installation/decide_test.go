// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit/share"
)

func does[E installation.Effect](d installation.Decision) bool {
	return slices.ContainsFunc(d.Do, func(e installation.Effect) bool { _, ok := e.(E); return ok })
}

// unfinished reports whether a child works on the job.
func unfinished(o installation.Observed, c installation.Child) bool {
	return c.Presence == installation.Present && c.Job.ID == o.Job.ID && c.Job.Running()
}

func all(o installation.Observed) []installation.Child { return slices.Concat(o.Children, o.Orphaned) }

// rules hold for every observation.
var rules = map[string]func(o installation.Observed, d installation.Decision) bool{
	"waiting is explained": func(_ installation.Observed, d installation.Decision) bool {
		return !d.Wait || d.Next == lsv1alpha1.PhaseSucceeded || d.Why.Code != "" && d.Why.Message != ""
	},
	"something happens or it waits": func(_ installation.Observed, d installation.Decision) bool {
		return d.Wait || d.Next != "" || len(d.Do) > 0
	},
	"a suspended root begins no job": suspendedJobs,
	"JOB-05 a job begins only when none runs": func(o installation.Observed, d installation.Decision) bool {
		return !o.Job.Running() || !does[installation.Grant](d)
	},
	"JOB-11 a request is taken away only after the end of the job before is no longer told": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.Grant](d) || o.Announced && d.SaveFirst
	},
	"JOB-52 an interrupt stays until the job begins that was granted": func(o installation.Observed, d installation.Decision) bool {
		granted := o.Root && !o.Deleting && !o.Job.Running() && o.Request.GrantedID != "" && o.Request.GrantedID != o.Job.RequestedID
		return !o.Interrupt || !granted || o.StrayRequest || !does[installation.DropOperation](d)
	},
	"JOB-10 without a trigger nothing begins": func(o installation.Observed, d installation.Decision) bool {
		triggered := o.Request.Asked || o.Request.GrantedID != "" || o.Deleting || o.IfChanged && o.Changed || !o.Automatic.Due.IsZero() ||
			o.Job.Running()
		return triggered || d.Next == "" && (len(d.Do) == 0 || does[installation.DropOperation](d) || o.Damaged())
	},
	"JOB-02 a nested installation begins only what was passed on": func(o installation.Observed, d installation.Decision) bool {
		return o.Root || o.Job.Running() || d.Next == ""
	},
	"JOB-04 nothing finishes before its children": func(o installation.Observed, d installation.Decision) bool {
		return !d.Next.IsFinal() || !slices.ContainsFunc(all(o), func(c installation.Child) bool { return unfinished(o, c) })
	},
	"JOB-01 the job is stored before it is passed on": func(_ installation.Observed, d installation.Decision) bool {
		return !does[installation.PropagateJob](d) || d.SaveFirst
	},
	"only the wait of a nested installation may be told late": func(o installation.Observed, d installation.Decision) bool {
		return !d.DeferStatusWrite || !o.Root && d.Wait && d.Next == "" && len(d.Do) == 0
	},
	"JOB-21 nothing is prepared before the predecessors have succeeded": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.Prepare](d) ||
			o.DependencyError == nil && !slices.ContainsFunc(o.Predecessors, func(p installation.Sibling) bool {
				return p.Deleting || p.Job.Running() || p.Phase != lsv1alpha1.PhaseSucceeded
			})
	},
	"JOB-23 success needs all children to succeed": func(o installation.Observed, d installation.Decision) bool {
		return d.Next != lsv1alpha1.PhaseCompleting || !slices.ContainsFunc(o.Children, func(c installation.Child) bool {
			return c.Presence != installation.Present || c.Job.ID != o.Job.ID || c.Phase != lsv1alpha1.PhaseSucceeded
		})
	},
	"JOB-25 a changed spec exports nothing": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.Export](d) || !o.Changed
	},
	"JOB-42 children stay while a successor is there": func(o installation.Observed, d installation.Decision) bool {
		return o.Phase != lsv1alpha1.PhaseInitDelete || !does[installation.DeleteChildren](d) || o.IgnoreSuccessors || len(o.Successors) == 0
	},
	"JOB-44 the finalizer goes last": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.RemoveFinalizer](d) ||
			o.Phase.IsDeletion() && !slices.ContainsFunc(all(o), func(c installation.Child) bool { return c.Presence != installation.Gone })
	},
	"JOB-46 in a namespace that is being deleted nothing is begun": func(o installation.Observed, _ installation.Decision) bool {
		o.NamespaceEnds = true
		d := installation.Decide(o)
		released := len(d.Do) == 1 && does[installation.RemoveFinalizer](d)
		left := slices.ContainsFunc(all(o), func(c installation.Child) bool { return c.Presence != installation.Gone })
		return d.Wait && d.Next == "" && (len(d.Do) == 0 || released && !left) && (!o.Deleting || !o.Finalizer || left || released)
	},
	"JOB-46 a job that only waits ends when the deletion is asked for": func(o installation.Observed, d installation.Decision) bool {
		waits := o.Job.Running() && (o.Phase == lsv1alpha1.PhaseInit || o.Phase == lsv1alpha1.PhaseObjectsCreated) &&
			!slices.ContainsFunc(all(o), func(c installation.Child) bool { return unfinished(o, c) })
		return !o.DeletionAsked || o.StrayRequest || o.Damaged() || !waits ||
			d.Next == lsv1alpha1.PhaseFailed && d.Why.Code == lsv1alpha1.ReasonInterrupted
	},
	"JOB-46 everybody at work learns of a deletion and of its manner": func(o installation.Observed, d installation.Decision) bool {
		unaware := slices.ContainsFunc(all(o), func(c installation.Child) bool {
			return unfinished(o, c) && (!c.Deleting && !c.DeletionAsked || o.WithoutUninstall && !c.WithoutUninstall)
		})
		waitsForSuccessors := o.Phase == lsv1alpha1.PhaseInitDelete
		return !o.DeletionAsked || !o.Job.Running() || !unaware || !d.Wait || waitsForSuccessors
	},
	"JOB-44 a deletion fails only when all that is left has finished": func(o installation.Observed, d installation.Decision) bool {
		return d.Next != lsv1alpha1.PhaseDeleteFailed || o.Phase != lsv1alpha1.PhaseDeleting ||
			!slices.ContainsFunc(all(o), func(c installation.Child) bool {
				return c.Presence == installation.Unseen || c.Presence == installation.Present && c.Job.ID != o.Job.ID
			})
	},
}

func TestJOB01_JOB44_RulesHoldForEveryObservation(t *testing.T) {
	seen, broken := 0, map[string]int{}
	everything(func(o installation.Observed) {
		seen++
		d := installation.Decide(o)
		for name, holds := range rules {
			if !holds(o, d) {
				if broken[name]++; broken[name] <= 3 {
					t.Errorf("%s: broken by %+v\nfor %+v", name, d, o)
				}
			}
		}
	})
	if seen < 450_000 {
		t.Errorf("only %d observations were made", seen)
	}
}

// perform does to the facts what a correct shell does for an effect.
func perform(o installation.Observed, effect installation.Effect) (installation.Observed, error) {
	switch e := effect.(type) {
	case installation.Grant:
		o.Request.Asked, o.Request.GrantedID, o.Finalizer = false, o.NewJobID, true
	case installation.AddFinalizer:
		o.Finalizer = true
	case installation.DropOperation:
		o.Interrupt, o.StrayRequest = false, false
	case installation.Fail:
		return o, e.Err
	case installation.Prepare:
		o.Prepared, o.Orphaned = &installation.Prepared{}, nil
		for _, c := range o.Children {
			o = o.With(c, func(c *installation.Child) { c.Presence = installation.Present })
		}
	case installation.PropagateJob:
		for _, c := range e.Children {
			o = o.With(c, func(c *installation.Child) { c.Job.ID = o.Job.ID })
		}
	case installation.DeleteChildren:
		for _, c := range e.Children {
			o = o.With(c, func(c *installation.Child) {
				c.WithoutUninstall = o.WithoutUninstall
				if !c.Deleting {
					c.Deleting, c.DeletionAsked, c.Presence = true, true, installation.Unseen
				}
			})
		}
	case installation.Tell:
		for _, c := range e.Children {
			o = o.With(c, func(c *installation.Child) { c.DeletionAsked, c.WithoutUninstall = true, o.WithoutUninstall })
		}
	case installation.Relabel:
		o.LabelLost = false
	case installation.RemoveFinalizer:
		o.Finalizer = false
	}
	return o, nil
}

// walk makes one pass, as the loop does, and returns the phases that it goes through.
func walk(t *testing.T, inst *lsv1alpha1.Installation, o installation.Observed) (installation.Observed, []lsv1alpha1.Phase) {
	t.Helper()
	way := []lsv1alpha1.Phase{o.Phase}
	for range 32 {
		d := installation.Decide(o)
		var err error
		for _, effect := range d.Do {
			if o, err = perform(o, effect); err != nil {
				break
			}
		}
		o = installation.Settle(inst, o, d, err)
		if o.Phase != way[len(way)-1] {
			way = append(way, o.Phase)
		}
		if d.Wait || err != nil {
			return o, way
		}
	}
	t.Fatalf("no end: %v for %+v", way, o)
	return o, nil
}

// objectOf is an installation with the status that an observation describes.
func objectOf(o installation.Observed) *lsv1alpha1.Installation {
	inst := &lsv1alpha1.Installation{}
	inst.Name = o.Name
	inst.Generation = 7
	inst.Status.Phase, inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.JobIDRequested = o.Phase, o.Job.ID, o.Job.FinishedID, o.Job.RequestedID
	if !o.Changed {
		inst.Status.ObservedGeneration = 7
	}
	return inst
}

// Every pass ends, and its result obeys the rules about identity.
func TestJOB03_JOB28_EveryPassEndsConsistently(t *testing.T) {
	cases := share.Of()
	everything(func(o installation.Observed) {
		if !cases.Try() {
			return
		}
		inst := objectOf(o)
		after, _ := walk(t, inst, o)
		status := &inst.Status
		if status.Phase.IsFinal() && o.Job.Running() && !status.IsFinished() {
			t.Fatalf("final phase %s without the job finished: %+v", status.Phase, o)
		}
		if !status.Phase.IsFinal() && status.Phase != "" && status.IsFinished() && o.Phase != status.Phase {
			t.Fatalf("phase %s was entered without a job: %+v", status.Phase, o)
		}
		if after.Phase != status.Phase || after.Job.ID != status.JobID {
			t.Fatalf("facts %+v do not follow the status %+v", after, status)
		}
		if since := status.PhaseTransitionTime; status.Phase != o.Phase && (since == nil || !since.Time.Equal(o.Now)) {
			t.Fatalf("phase %s was entered at %v, and the status says %v: %+v", status.Phase, o.Now, since, o)
		}
	})
}

// A failed deletion restarts by itself once, if what was installed must stay and the objects below have not been told.
func TestJOB46_JOB60_AFailedDeletionIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		without, told, root bool
		begins              bool
	}{
		"nothing is said":          {root: true},
		"what is installed stays":  {root: true, without: true, begins: true},
		"and those below know":     {root: true, without: true, told: true},
		"below a root":             {without: true},
		"they know without a word": {root: true, told: true},
	} {
		left := installation.Child{
			Kind:             installation.ChildExecution,
			Name:             "x",
			Presence:         installation.Present,
			Deleting:         true,
			DeletionAsked:    true,
			WithoutUninstall: c.told,
			Phase:            lsv1alpha1.PhaseDeleteFailed,
		}
		d := installation.Decide(installation.Observed{
			Name: "i", Root: c.root, Phase: lsv1alpha1.PhaseDeleteFailed, Job: jobs[1], Deleting: true, DeletionAsked: true, Finalizer: true,
			WithoutUninstall: c.without, Children: []installation.Child{left}, NewJobID: "job-4", Now: noon,
		})
		if begins := d.Next == lsv1alpha1.PhaseInitDelete; begins != c.begins {
			t.Errorf("%s: decided %+v", name, d)
		}
	}
}

// An orphan is deleted, receives the job, and is gone before the job continues, even if it is the last child.
func TestJOB20_TheLastOrphanIsGoneBeforeTheJobGoesOn(t *testing.T) {
	orphan := installation.Child{Kind: installation.ChildInstallation, Name: "goes", Presence: installation.Present, Deleting: true}
	o := installation.Observed{
		Name: "i", Root: true, Phase: lsv1alpha1.PhaseCleanupOrphaned, Job: jobs[2], Finalizer: true, NewJobID: "job-4", Now: noon,
	}
	told := orphan
	told.Job = jobs[2]
	undeleted := orphan
	undeleted.Deleting = false
	gone := told
	gone.Presence = installation.Gone
	for name, c := range map[string]struct {
		orphan installation.Child
		holds  func(installation.Decision) bool
	}{
		"not yet deleted":     {undeleted, does[installation.DeleteChildren]},
		"not told of the job": {orphan, does[installation.PropagateJob]},
		"at work":             {told, func(d installation.Decision) bool { return d.Wait && d.Next == "" }},
		"gone":                {gone, func(d installation.Decision) bool { return d.Next == lsv1alpha1.PhaseObjectsCreated }},
	} {
		o.Orphaned = []installation.Child{c.orphan}
		if d := installation.Decide(o); !c.holds(d) {
			t.Errorf("an orphan that is %s: %+v", name, d)
		}
	}
}

// A failed deletion waits for a request, which is granted a separate job.
func TestJOB41_AFailedDeletionIsRepeatedOnRequest(t *testing.T) {
	o := installation.Observed{
		Name: "i", Root: true, Phase: lsv1alpha1.PhaseDeleteFailed, Job: jobs[1], Deleting: true, DeletionAsked: true, Finalizer: true,
		Announced: true, NewJobID: "job-4", Now: noon,
	}
	if d := installation.Decide(o); !d.Wait || d.Next != "" || len(d.Do) > 0 {
		t.Errorf("without a request: %+v", d)
	}
	o.Request = run.Request{Asked: true}
	if d := installation.Decide(o); !does[installation.Grant](d) {
		t.Errorf("with a request: %+v", d)
	}
	o.Request = run.Request{GrantedID: "job-4"}
	inst, d := objectOf(o), installation.Decide(o)
	if installation.Settle(inst, o, d, nil); inst.Status.Phase != lsv1alpha1.PhaseInitDelete || inst.Status.JobID != "job-4" {
		t.Errorf("with a granted request: %+v leads to phase %s of job %s", d, inst.Status.Phase, inst.Status.JobID)
	}
}

// A nested installation that its parent has created reports that it has no job only after a while: usually one arrives soon, and the
// report costs a write.
func TestJOB10_ANestedInstallationWithoutAJobSaysSoAfterAWhile(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		age    time.Duration
		byHand bool
		told   bool
	}{
		"just created": {0, false, false}, "a while ago": {time.Minute, false, true}, "by hand": {0, true, true},
	} {
		o := installation.Observed{Parent: "root", Created: now.Add(-c.age), ByHand: c.byHand, Finalizer: true, Now: now}
		if d := installation.Decide(o); !d.Wait || (d.Why.Code == run.ReasonNotRequested) != c.told || (d.RequeueAfter > 0) == c.told {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// What another client has removed is restored in the same pass, so it is not what an installation waits for.
func TestWhatIsRestoredHoldsNothingUp(t *testing.T) {
	running := run.Job{ID: "b", FinishedID: "a"}
	whole := installation.Observed{
		Name: "i", Parent: "root", Phase: lsv1alpha1.PhaseProgressing, Job: running, Finalizer: true, Now: noon,
		Children: []installation.Child{{Kind: installation.ChildExecution, Name: "i", Presence: installation.Present, Job: running}},
	}
	marred := whole
	marred.Finalizer, marred.LabelLost = false, true
	if now := installation.Decide(marred); len(now.Do) != 1 || now.Do[0].String() != "restore the label" {
		t.Errorf("it is not restored first: %+v", now)
	}
	if diff := cmp.Diff(installation.Decide(whole).Why, installation.DecideRestored(marred).Why); diff != "" {
		t.Errorf("then it waits for something else (-want +got):\n%s", diff)
	}
}
