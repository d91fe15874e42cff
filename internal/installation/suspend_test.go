// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

func halted(o *installation.Observed) {
	o.Root, o.Suspension = true, installation.Suspension{On: true, Why: "by jo: audit"}
}

// alike reports whether two decisions are equivalent.
func alike(a, b installation.Decision) bool {
	return a.Next == b.Next && a.Wait == b.Wait && len(a.Do) == len(b.Do) && a.Why.Code == b.Why.Code
}

// suspendedJobs is a rule of the job flow: nothing starts at a suspended root, and everything else is as usual.
func suspendedJobs(o installation.Observed, d installation.Decision) bool {
	adopts := o.Request.GrantedID != "" && o.Request.GrantedID != o.Job.RequestedID
	if !o.Root {
		return true
	}
	halted(&o)
	suspended := installation.Decide(o)
	if o.Deleting || o.Job.Running() || o.Interrupt || o.Damaged() || adopts {
		return alike(suspended, d)
	}
	return suspended.Next == "" && suspended.Wait && len(suspended.Do) == 0 && suspended.Why.Code == run.ReasonSuspended
}

// suspendedUpdates is the same rule for the continuous flow, in which an update may be in progress.
func suspendedUpdates(o installation.Observed, d installation.Decision) bool {
	halted(&o)
	suspended := installation.Decide(o)
	ends := !slices.Contains([]lsv1alpha1.Operation{"", lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile}, o.Operation)
	resting := o.Phase == "" || o.Phase.IsCompleted()
	switch {
	case o.DeletionAsked && !o.Deleting: // That is a nested installation.
		return true
	case o.Deleting || o.Ignored || !o.Finalizer && o.Phase != "", !o.Updated && (ends || o.Phase == lsv1alpha1.PhasePendingDependencies):
		return alike(suspended, d)
	case resting && !o.Updated:
		return suspended.Next == "" && suspended.Wait && len(suspended.Do) == 0 && suspended.Why.Code == run.ReasonSuspended
	case o.Phase == lsv1alpha1.PhaseProgressing && !o.Updated && o.Entered && o.Changed:
		return !beginsUpdate(suspended) && !does[installation.Export](suspended)
	default: // A request starts nothing that would not start without it.
		o.Operation = ""
		return o.Updated || !beginsUpdate(suspended) || beginsUpdate(installation.Decide(o))
	}
}

func beginsUpdate(d installation.Decision) bool {
	return does[installation.Prepare](d) || d.Next == lsv1alpha1.PhasePendingDependencies
}

func TestCON10_CON13_ASuspendedTree(t *testing.T) {
	imported := func(o *installation.Observed) { o.ImportsChanged = []string{"a"} }
	gone := below(installation.Child{Kind: installation.ChildExecution, Name: "e", Presence: installation.Gone})
	play(t, map[string]scene{
		"a new spec":   {settled(lsv1alpha1.PhaseSucceeded, changed, halted), nil, lsv1alpha1.PhaseSucceeded, "suspended by jo: audit; "},
		"after an end": {settled(lsv1alpha1.PhaseFailed, changed, halted), nil, lsv1alpha1.PhaseFailed, "suspended"},
		"another import": {
			settled(lsv1alpha1.PhaseSucceeded, halted, imported),
			nil, lsv1alpha1.PhaseSucceeded, "suspended",
		},
		"what is below is gone": {
			settled(lsv1alpha1.PhaseSucceeded, halted, below(installation.Child{Name: "x", Presence: installation.Gone})),
			nil, lsv1alpha1.PhaseSucceeded, "suspended",
		},
		"exports are gone": {
			settled(lsv1alpha1.PhaseSucceeded, halted, func(o *installation.Observed) { o.ExportsGone = []string{"DataObject a"} }),
			nil, lsv1alpha1.PhaseSucceeded, "suspended",
		},
		"another flow": {
			settled(lsv1alpha1.PhaseSucceeded, halted, func(o *installation.Observed) { o.Chosen = lsv1alpha1.FlowJob }),
			nil, lsv1alpha1.PhaseSucceeded, "suspended",
		},
		"it never ran": {
			settled("", changed, halted, below(), func(o *installation.Observed) { o.Finalizer = false }), nil, "", "suspended",
		},
		"a reconcile stays asked for": {
			settled(lsv1alpha1.PhaseFailed, halted, asks(lsv1alpha1.OperationReconcile)), nil, lsv1alpha1.PhaseFailed, "suspended",
		},
		"force stays asked for": {
			settled(lsv1alpha1.PhaseSucceeded, halted, asks(lsv1alpha1.OperationForceReconcile)), nil, lsv1alpha1.PhaseSucceeded, "suspended",
		},
		"an abort does not wait": {
			settled(lsv1alpha1.PhaseSucceeded, halted, asks(lsv1alpha1.OperationAbort)),
			[]string{"remove the operation annotation"}, lsv1alpha1.PhaseAborted, "aborted",
		},
		"an update under way ends, and a new spec waits": {
			settled(lsv1alpha1.PhaseProgressing, changed, halted, below(child(lsv1alpha1.PhaseSucceeded))),
			nil, lsv1alpha1.PhaseProgressing, "the update waits before its exports: the spec has changed; suspended by jo: audit; ",
		},
		"a new spec waits as long as the update": {
			settled(lsv1alpha1.PhaseProgressing, changed, halted),
			nil, lsv1alpha1.PhaseProgressing, "waiting for execution e; the spec has changed, which takes effect on resume",
		},
		"an update under way ends, and a new import waits": {
			settled(lsv1alpha1.PhaseProgressing, imported, halted, below(child(lsv1alpha1.PhaseSucceeded))),
			nil, lsv1alpha1.PhaseProgressing, "imports have changed: a; suspended",
		},
		"an update under way ends, and an import has gone": {
			settled(lsv1alpha1.PhaseProgressing, halted, below(child(lsv1alpha1.PhaseSucceeded)), func(o *installation.Observed) {
				o.ImportsMissing = failure.NewRetryable(failure.Details{}, errors.New("no data object a"))
			}),
			nil, lsv1alpha1.PhaseProgressing, "imports are missing: no data object a; suspended",
		},
		"an update under way loses what is below, and a new spec waits": {
			settled(lsv1alpha1.PhaseProgressing, changed, halted, gone),
			nil, lsv1alpha1.PhaseProgressing, "the spec has changed, and execution e is gone; suspended",
		},
		"an update under way loses what is below": {
			settled(lsv1alpha1.PhaseProgressing, halted, gone),
			[]string{"prepare"}, lsv1alpha1.PhaseProgressing, "waiting for execution e",
		},
		"an update under way fails, and a new spec waits": {
			settled(lsv1alpha1.PhaseProgressing, changed, halted, below(child(lsv1alpha1.PhaseFailed))),
			nil, lsv1alpha1.PhaseFailed, "execution e is in phase Failed",
		},
		"an update under way is aborted, and a new spec waits": {
			settled(lsv1alpha1.PhaseProgressing, changed, halted, asks(lsv1alpha1.OperationAbort), below(child(lsv1alpha1.PhaseSucceeded))),
			[]string{"remove the operation annotation"}, lsv1alpha1.PhaseAborted, "aborted",
		},
		"an update under way ends, and force waits": {
			settled(lsv1alpha1.PhaseProgressing, halted, below(child(lsv1alpha1.PhaseSucceeded)), asks(lsv1alpha1.OperationForceReconcile)),
			[]string{"export"}, lsv1alpha1.PhaseSucceeded, "suspended",
		},
		"a reconcile of what is under way is done": {
			settled(lsv1alpha1.PhaseProgressing, halted, below(child(lsv1alpha1.PhaseSucceeded)), asks(lsv1alpha1.OperationReconcile)),
			[]string{"export", "remove the operation annotation"}, lsv1alpha1.PhaseSucceeded, "",
		},
		"an update under way that fails is not tried again": {
			settled(lsv1alpha1.PhaseProgressing, halted, below(child(lsv1alpha1.PhaseFailed)), asks(lsv1alpha1.OperationReconcile)),
			nil, lsv1alpha1.PhaseFailed, "suspended",
		},
		"an update that has begun to wait goes on": {
			settled(lsv1alpha1.PhasePendingDependencies, changed, halted, below(child(lsv1alpha1.PhaseSucceeded))),
			[]string{"prepare", "export"}, lsv1alpha1.PhaseSucceeded, "installed",
		},
		"the finalizer comes back": {
			settled(lsv1alpha1.PhaseSucceeded, halted, func(o *installation.Observed) { o.Finalizer = false }),
			[]string{"add the finalizer"}, lsv1alpha1.PhaseSucceeded, "finalizer",
		},
	})
}

// The exports of a suspended installation are unchanged: others need not wait until it is resumed.
func TestJOB21_CON22_ASuspendedPredecessorThatHasSucceededIsNotAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lsv1alpha1.Installation)
		waits  bool
	}{
		"a requested job":         {noted(lsv1alpha1.OperationAnnotation, "reconcile"), false},
		"a new spec":              {func(i *lsv1alpha1.Installation) { i.Generation++ }, false},
		"it has failed":           {func(i *lsv1alpha1.Installation) { i.Status.Phase = lsv1alpha1.PhaseFailed }, true},
		"it never ran":            {func(i *lsv1alpha1.Installation) { i.Status = lsv1alpha1.InstallationStatus{} }, true},
		"a granted job has begun": {noted(run.GrantAnnotation, run.FormatGrant("next", "p")), true},
	} {
		for _, continuous := range []bool{false, true} {
			p := ran(lsv1alpha1.PhaseSucceeded, noted(lsv1alpha1.SuspendAnnotation, "true"))
			if continuous {
				p.Spec.Flow, p.Status.JobID, p.Status.JobIDFinished, p.Status.ConfigGeneration = lsv1alpha1.FlowContinuous, "", "", "v1"
			}
			if c.change(p); continuous && name == "a granted job has begun" {
				continue // None exist.
			}
			siblings := installation.Siblings([]*lsv1alpha1.Installation{p})
			o := installation.Observed{Name: "i", Root: true, Phase: lsv1alpha1.PhaseInit, Job: jobs[2], Finalizer: true, Now: noon}
			o.Predecessors = siblings
			if continuous {
				o = settled(lsv1alpha1.PhasePendingDependencies, func(o *installation.Observed) { o.Predecessors, o.Children = siblings, nil })
			}
			d := installation.Decide(o)
			goes := does[installation.Prepare](d)
			if goes == c.waits {
				t.Errorf("%s, continuous %t: %+v", name, continuous, d.Why)
			}
		}
	}
}

// What a predecessor of the continuous flow is about to do is awaited, unless a user keeps it from that.
func TestJOB21_APredecessorThatIsAboutToUpdateIsAwaited(t *testing.T) {
	type changes []func(*lsv1alpha1.Installation)
	ahead := func(i *lsv1alpha1.Installation) { i.Generation++ }
	forced := noted(lsv1alpha1.OperationAnnotation, "force-reconcile")
	off, frozen := noted(lsv1alpha1.SuspendAnnotation, "true"), noted(lsv1alpha1.IgnoreAnnotation, "true")
	for name, c := range map[string]struct {
		phase   lsv1alpha1.Phase
		changes changes
		next    lsv1alpha1.Phase
	}{
		"up to date":                  {lsv1alpha1.PhaseSucceeded, nil, lsv1alpha1.PhaseCleanupOrphaned},
		"a new spec":                  {lsv1alpha1.PhaseSucceeded, changes{ahead}, ""},
		"a new spec after a failure":  {lsv1alpha1.PhaseFailed, changes{ahead}, ""},
		"force":                       {lsv1alpha1.PhaseSucceeded, changes{forced}, ""},
		"a failure":                   {lsv1alpha1.PhaseFailed, nil, lsv1alpha1.PhaseFailed},
		"a new spec, suspended":       {lsv1alpha1.PhaseSucceeded, changes{ahead, off}, lsv1alpha1.PhaseCleanupOrphaned},
		"a new spec, frozen":          {lsv1alpha1.PhaseSucceeded, changes{ahead, frozen}, lsv1alpha1.PhaseCleanupOrphaned},
		"a new spec, frozen too late": {lsv1alpha1.PhaseProgressing, changes{ahead, frozen}, ""},
	} {
		p := ran(c.phase, c.changes...)
		p.Spec.Flow, p.Status.JobID, p.Status.JobIDFinished, p.Status.ConfigGeneration = lsv1alpha1.FlowContinuous, "", "", "v1"
		o := installation.Observed{Name: "i", Root: true, Phase: lsv1alpha1.PhaseInit, Job: jobs[2], Finalizer: true, Now: noon}
		o.Predecessors = installation.Siblings([]*lsv1alpha1.Installation{p})
		if d := installation.Decide(o); d.Next != c.next {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// updating is an installation in the continuous flow after its first update, with a child and what that imports. The marks are what the
// update of these has left.
func updating(mark, version string) installation.Snapshot {
	inst := ran(lsv1alpha1.PhaseSucceeded, noted(lsv1alpha1.SuspendAnnotation, "true"))
	inst.Spec.Flow, inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.ConfigGeneration = lsv1alpha1.FlowContinuous, "", "", "v1"
	inst.Status.ExecutionReference = &lsv1alpha1.ObjectReference{Name: inst.Name}
	e := &lsv1alpha1.Execution{}
	e.Name, e.Annotations = inst.Name, map[string]string{installation.UpdateAnnotation: mark}
	e.Spec.Flow, e.Status.Phase = lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseSucceeded
	installation.TakeBack(inst, e)
	given := &lsv1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{lsv1alpha1.DataObjectJobIDLabel: version}}}
	return installation.Snapshot{
		Installation: inst, Execution: e, Context: dataflow.Objects{DataObjects: []*lsv1alpha1.DataObject{given}}, Now: noon,
		Imports: &installation.ImportsRead{},
	}
}

func TestCON10_AnUpdateThatTheStatusDoesNotRecord(t *testing.T) {
	required := installation.NewObserved(updating("", "v1")).UpdateVersion()
	none := func(*lsv1alpha1.Installation) {}
	first := func(i *lsv1alpha1.Installation) {
		i.Status = lsv1alpha1.InstallationStatus{ExecutionReference: i.Status.ExecutionReference}
	}
	for name, c := range map[string]struct {
		mark, version string
		change        func(*lsv1alpha1.Installation)
		unrecorded    string
		traces        bool
	}{
		"recorded":                 {"v1/v0", "v1", none, "", false},
		"not marked":               {"", "v1", none, "", false},
		"marked by somebody":       {"v2", "v1", none, "", false},
		"repeated":                 {"v1/v1", "v1", none, "", false},
		"an earlier one":           {"v0/v00", "v1", none, "", false},
		"the next one":             {"v2/v1", "v1", none, "v2", true},
		"the required one":         {required + "/v1", "v1", none, required, true},
		"what children import":     {"v1/v0", required, none, required, true},
		"leftovers":                {"v1/v0", "v0", none, "", true},
		"the first one":            {"v1/p", "", first, "v1", true},
		"of a copy before that":    {"v1/q", "", first, "", false},
		"an aborted one":           {"v2/v1", required, func(i *lsv1alpha1.Installation) { i.Status.Phase = lsv1alpha1.PhaseAborted }, "", false},
		"before the flow changed":  {"v2/v1.left", "v1", func(i *lsv1alpha1.Installation) { i.Status.ConfigGeneration = "v1.left" }, "", false},
		"of one that goes anyway":  {"v2/v1", required, func(i *lsv1alpha1.Installation) { i.DeletionTimestamp = &metav1.Time{Time: noon} }, "", false},
		"after a failed first one": {"v2/v1", "v1", func(i *lsv1alpha1.Installation) { i.Status.Phase = lsv1alpha1.PhaseFailed }, "v2", true},
	} {
		s := updating(c.mark, c.version)
		c.change(s.Installation)
		o := installation.NewObserved(s)
		if o.Unrecorded != c.unrecorded || installation.HasTraces(s) != c.traces || o.HeldBack() == (c.unrecorded != "" || o.Deleting) {
			t.Errorf("%s: unrecorded %q, traces %t, held back %t", name, o.Unrecorded, installation.HasTraces(s), o.HeldBack())
		}
	}
	// The required update is repeated, and so recorded; another one does not start.
	for version, begins := range map[string]bool{required: true, "v2": false} {
		s := updating(version+"/v1", "v1")
		s.Installation.Generation++
		s.Installation.Spec.Context = "another"
		s.Installation.Status.Phase = lsv1alpha1.PhaseProgressing
		again := installation.NewObserved(s).UpdateVersion()
		if begins {
			s.Execution.Annotations[installation.UpdateAnnotation] = again + "/v1"
		}
		if d := installation.Decide(installation.NewObserved(s)); beginsUpdate(d) != begins {
			t.Errorf("%s: %+v", version, d)
		}
	}
}

// A suspended successor of the continuous flow that is forced to update on resume needs no notice. In the job flow, that operation has no
// effect: the notice waits for its end, and is not lost.
func TestNoticesToASuspendedSuccessor(t *testing.T) {
	for _, continuous := range []bool{false, true} {
		o := installation.Observed{Name: "i", Successors: []installation.Sibling{{
			Name: "s", Root: true, Suspended: true, Continuous: continuous, Operation: lsv1alpha1.OperationForceReconcile,
		}}}
		notices, err := o.Notices(dataflow.Run{Flow: lsv1alpha1.FlowJob, Version: "1"}, []string{"s"})
		if _, waits := failure.AsWait(err); waits == continuous || len(notices) > 0 || err != nil && !waits {
			t.Errorf("continuous %t: %v, %v", continuous, notices, err)
		}
	}
}

// ran is a root after its first job.
func ran(phase lsv1alpha1.Phase, changes ...func(*lsv1alpha1.Installation)) *lsv1alpha1.Installation {
	inst := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
		Name: "p", UID: "p", Generation: 3, Finalizers: []string{lsv1alpha1.Finalizer}, Annotations: map[string]string{},
	}}
	run.Begin(&inst.Status.RunStatus, older, lsv1alpha1.PhaseInit, noon.Add(-time.Hour))
	installation.ObserveSpec(inst)
	run.Settle(&inst.Status.RunStatus, run.Outcome{Next: phase, Now: noon.Add(-time.Minute)})
	for _, change := range changes {
		change(inst)
	}
	return inst
}

func noted(name, value string) func(*lsv1alpha1.Installation) {
	return func(i *lsv1alpha1.Installation) { i.Annotations[name] = value }
}

// decideOnce makes a pass over an installation that decides once.
func decideOnce(inst *lsv1alpha1.Installation) installation.Decision {
	o := installation.NewObserved(installation.Snapshot{Installation: inst, NewJobID: job, Now: noon})
	d := installation.Decide(o)
	installation.Settle(inst, o, d, nil)
	return d
}

// told returns what a condition says.
func told(inst *lsv1alpha1.Installation, kind lsv1alpha1.ConditionType) string {
	for _, c := range inst.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

func announced(inst *lsv1alpha1.Installation) {
	noted(lsv1alpha1.OperationAnnotation, "reconcile")(inst)
	run.Announce(&inst.Status.RunStatus, noon)
}

func TestTheStatusShowsASuspension(t *testing.T) {
	on := noted(lsv1alpha1.SuspendAnnotation, "true")
	because := noted(lsv1alpha1.SuspendReasonAnnotation, "by jo: audit")
	never := func(i *lsv1alpha1.Installation) { i.Status = lsv1alpha1.InstallationStatus{} }
	flow := func(i *lsv1alpha1.Installation) { i.Spec.Flow = lsv1alpha1.FlowContinuous }
	const advice = "; new runs start after espalier resume p"
	for name, c := range map[string]struct {
		inst             *lsv1alpha1.Installation
		suspended, ready string
		starts           bool
	}{
		"not at all":      {ran(lsv1alpha1.PhaseSucceeded), "", "True Succeeded: ", false},
		"after success":   {ran(lsv1alpha1.PhaseSucceeded, on, because), "True Suspended: suspended by jo: audit" + advice, "True Succeeded: ", false},
		"after a failure": {ran(lsv1alpha1.PhaseFailed, on), "True Suspended: suspended" + advice, "False Failed: ", false},
		"by hand": {
			ran(lsv1alpha1.PhaseSucceeded, on, noted(lsv1alpha1.SuspendReasonAnnotation, "audit\nuntil Friday")),
			"True Suspended: suspended: audit until Friday" + advice, "True Succeeded: ", false,
		},
		"with a novel": {
			ran(lsv1alpha1.PhaseSucceeded, on, noted(lsv1alpha1.SuspendReasonAnnotation, strings.Repeat("ä", 1000))),
			"True Suspended: suspended: " + strings.Repeat("ä", 200) + "..." + advice, "True Succeeded: ", false,
		},
		"before the first job": {
			ran("", on, never, noted(lsv1alpha1.OperationAnnotation, "reconcile")),
			"True Suspended: suspended" + advice, "False Suspended: suspended" + advice, false,
		},
		"before the first update": {
			ran("", on, never, flow), "True Suspended: suspended" + advice, "False Suspended: suspended" + advice, false,
		},
		"a job was announced": {
			ran(lsv1alpha1.PhaseSucceeded, announced, on),
			"True Suspended: suspended" + advice, "True Succeeded: the last job has finished; the next one starts when the installation is resumed", false,
		},
		"the first job was announced": {
			ran("", never, announced, on), "True Suspended: suspended" + advice, "False Suspended: suspended" + advice, false,
		},
		"a job was granted": {
			ran(lsv1alpha1.PhaseSucceeded, on, noted(run.GrantAnnotation, run.FormatGrant(job, "p"))),
			"True Suspended: suspended" + advice, "False Init: a job was requested", true,
		},
		"a word that means nothing": {
			ran(lsv1alpha1.PhaseSucceeded, announced, noted(lsv1alpha1.SuspendAnnotation, "True ")),
			`False SuspendInvalid: annotation espalier.dev/suspend=True has no effect: set it to "true" or "false"`, "Unknown Requested: a job was requested", true,
		},
		"an empty word": {
			ran(lsv1alpha1.PhaseSucceeded, announced, noted(lsv1alpha1.SuspendAnnotation, "")),
			`False SuspendInvalid: annotation espalier.dev/suspend="" has no effect: set it to "true" or "false"`, "Unknown Requested: a job was requested", true,
		},
		"false": {ran(lsv1alpha1.PhaseSucceeded, noted(lsv1alpha1.SuspendAnnotation, "false"), because), "", "True Succeeded: ", false},
		"nested": {
			ran(lsv1alpha1.PhaseSucceeded, on, func(i *lsv1alpha1.Installation) {
				i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "parent"}
			}),
			"False SuspendInvalid: annotation espalier.dev/suspend has no effect on a nested installation: suspend the root of the tree",
			"True Succeeded: ", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decideOnce(c.inst)
			if got := told(c.inst, lsv1alpha1.ConditionSuspended); got != c.suspended {
				t.Errorf("the condition Suspended is %q", got)
			}
			if got := told(c.inst, lsv1alpha1.ConditionReady); got != c.ready {
				t.Errorf("the condition Ready is %q", got)
			}
			starts := d.Next != "" || len(d.Do) > 0
			if reconciling := told(c.inst, lsv1alpha1.ConditionReconciling) != ""; starts != c.starts || reconciling && !starts {
				t.Errorf("decided %+v, reconciling %t", d, reconciling)
			}
			// Another pass writes nothing, and resuming leaves no trace.
			before := slices.Clone(c.inst.Status.Conditions)
			if decideOnce(c.inst); !starts && !reflect.DeepEqual(before, c.inst.Status.Conditions) {
				t.Errorf("the second look has changed %v to %v", before, c.inst.Status.Conditions)
			}
			delete(c.inst.Annotations, lsv1alpha1.SuspendAnnotation)
			delete(c.inst.Annotations, lsv1alpha1.SuspendReasonAnnotation)
			d = decideOnce(c.inst)
			if got := told(c.inst, lsv1alpha1.ConditionSuspended); got != "" || d.Why.Code == run.ReasonSuspended {
				t.Errorf("after the end: %q, %+v", got, d.Why)
			}
		})
	}
}
