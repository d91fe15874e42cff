// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

func named(name string, change ...func(*lsv1alpha1.Installation)) *lsv1alpha1.Installation {
	inst := &lsv1alpha1.Installation{}
	inst.Name = name
	for _, c := range change {
		c(inst)
	}
	return inst
}

func TestChildrenAreSortedByWhatTheStatusRemembers(t *testing.T) {
	pair := func(name string) lsv1alpha1.NamePair { return lsv1alpha1.NamePair{SpecName: name, ObjectName: name} }
	execution := &lsv1alpha1.Execution{}
	execution.Name = "root"
	reference := &lsv1alpha1.ObjectReference{Name: "root"}
	for name, c := range map[string]struct {
		cache           *lsv1alpha1.SubInstCache
		execution       *lsv1alpha1.ObjectReference
		snapshot        installation.Snapshot
		wanted, leaving []string
	}{
		"nothing": {},
		"without a list, all are wanted": {
			snapshot: installation.Snapshot{Subinstallations: []*lsv1alpha1.Installation{named("a")}}, wanted: []string{"installation a present"}},
		"listed and not listed": {
			cache:    &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{pair("a")}},
			snapshot: installation.Snapshot{Subinstallations: []*lsv1alpha1.Installation{named("a"), named("b")}},
			wanted:   []string{"installation a present"}, leaving: []string{"installation b present"}},
		"listed and not seen": {
			cache:  &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{pair("a")}, OrphanedSubs: []string{"b"}},
			wanted: []string{"installation a unseen"}, leaving: []string{"installation b unseen"}},
		"listed and known to be gone": {
			cache:    &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{pair("a")}, OrphanedSubs: []string{"b"}},
			snapshot: installation.Snapshot{Gone: []string{"a", "b"}},
			wanted:   []string{"installation a gone"}, leaving: []string{"installation b gone"}},
		"an execution that is wanted": {
			execution: reference,
			snapshot:  installation.Snapshot{Execution: execution},
			wanted:    []string{"execution root present"},
		},
		"an execution that is not":      {snapshot: installation.Snapshot{Execution: execution}, leaving: []string{"execution root present"}},
		"an execution that is not seen": {execution: reference, wanted: []string{"execution root unseen"}},
		"an execution known to be gone": {
			execution: reference,
			snapshot:  installation.Snapshot{ExecutionGone: true},
			wanted:    []string{"execution root gone"},
		},
		"no execution and none is wanted": {snapshot: installation.Snapshot{ExecutionGone: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.snapshot.Installation = named("root", func(i *lsv1alpha1.Installation) {
				i.Status.SubInstCache, i.Status.ExecutionReference = c.cache, c.execution
			})
			wanted, leaving := installation.Children(c.snapshot)
			if got := describe(wanted); !slices.Equal(got, c.wanted) {
				t.Errorf("wanted %q, want %q", got, c.wanted)
			}
			if got := describe(leaving); !slices.Equal(got, c.leaving) {
				t.Errorf("leaving %q, want %q", got, c.leaving)
			}
		})
	}
}

func describe(children []installation.Child) (result []string) {
	for _, c := range children {
		result = append(result, fmt.Sprintf("%s %s", c, c.Presence))
	}
	return result
}

func TestADeletionIsNoChangeOfTheSpec(t *testing.T) {
	now := metav1.NewTime(noon)
	for name, c := range map[string]struct {
		generation, observed int64
		deleted, changed     bool
	}{
		"as observed":               {generation: 3, observed: 3},
		"changed":                   {generation: 4, observed: 3, changed: true},
		"deleted":                   {generation: 4, observed: 3, deleted: true},
		"deleted and observed":      {generation: 4, observed: 4, deleted: true},
		"changed and then deleted":  {generation: 5, observed: 3, deleted: true, changed: true},
		"never observed":            {generation: 1, changed: true},
		"deleted when never looked": {generation: 2, deleted: true, changed: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := installation.NewObserved(installation.Snapshot{Installation: named("i", func(i *lsv1alpha1.Installation) {
				i.Generation, i.Status.ObservedGeneration = c.generation, c.observed
				if c.deleted {
					i.DeletionTimestamp = &now
				}
			})})
			if o.Changed != c.changed {
				t.Errorf("Changed = %v, want %v", o.Changed, c.changed)
			}
		})
	}
}

func TestJOB15_WhenTheNextJobIsDue(t *testing.T) {
	ended := metav1.NewTime(noon)
	minute, none := lsv1alpha1.Duration("1m"), lsv1alpha1.NoDuration
	three := int32(3)
	on := func(count int32, generation int64) *lsv1alpha1.AutomaticReconcileStatus {
		return &lsv1alpha1.AutomaticReconcileStatus{Generation: generation, NumberOfReconciles: count, OnFailed: true}
	}
	for name, c := range map[string]struct {
		phase    lsv1alpha1.Phase
		settings lsv1alpha1.AutomaticReconcile
		status   *lsv1alpha1.AutomaticReconcileStatus
		nested   bool
		want     time.Time
	}{
		"after success": {
			phase:    "Succeeded",
			settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{}},
			want:     noon.Add(24 * time.Hour),
		},
		"after success, at an interval": {
			phase:    "Succeeded",
			settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{Interval: &minute}},
			want:     noon.Add(time.Minute),
		},
		"after success, never": {
			phase:    "Succeeded",
			settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{Interval: &none}},
		},
		"after success, by a clock": {
			phase:    "Succeeded",
			settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{CronSpec: "30 12 * * *"}},
			want:     noon.Add(30 * time.Minute),
		},
		"after failure": {
			phase:    "Failed",
			settings: lsv1alpha1.AutomaticReconcile{FailedReconcile: &lsv1alpha1.FailedReconcile{}},
			want:     noon.Add(5 * time.Minute),
		},
		"after failure, not often enough yet": {
			phase:    "Failed",
			settings: lsv1alpha1.AutomaticReconcile{FailedReconcile: &lsv1alpha1.FailedReconcile{NumberOfReconciles: &three}},
			status:   on(2, 7),
			want:     noon.Add(5 * time.Minute),
		},
		"after failure, often enough": {
			phase:    "Failed",
			settings: lsv1alpha1.AutomaticReconcile{FailedReconcile: &lsv1alpha1.FailedReconcile{NumberOfReconciles: &three}},
			status:   on(3, 7),
		},
		"after failure, with a new generation": {
			phase:    "Failed",
			settings: lsv1alpha1.AutomaticReconcile{FailedReconcile: &lsv1alpha1.FailedReconcile{NumberOfReconciles: &three}},
			status:   on(3, 6),
			want:     noon.Add(5 * time.Minute),
		},
		"the other way round": {
			phase:    "Failed",
			settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{}},
		},
		"a nested installation": {
			phase:    "Succeeded",
			settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{}},
			nested:   true,
		},
		"a schedule that cannot be read": {
			phase:    "Succeeded",
			settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{CronSpec: "often"}},
		},
		"one that never ran": {settings: lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := installation.NewObserved(installation.Snapshot{Now: noon, Installation: named("i", func(i *lsv1alpha1.Installation) {
				i.Generation, i.Spec.AutomaticReconcile, i.Status.AutomaticReconcileStatus = 7, &c.settings, c.status
				if c.phase != "" {
					i.Status.Phase, i.Status.JobID, i.Status.JobIDFinished = c.phase, job, job
					i.Status.TransitionTimes = &lsv1alpha1.TransitionTimes{FinishedTime: &ended}
				}
				if c.nested {
					i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"}
				}
			})})
			if !o.Automatic.Due.Equal(c.want) {
				t.Errorf("due at %v, want %v", o.Automatic.Due, c.want)
			}
		})
	}
}

func TestOnlyARootCanBeAsked(t *testing.T) {
	asked := func(i *lsv1alpha1.Installation) {
		i.Annotations = map[string]string{
			lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationReconcile),
			run.GrantAnnotation:            run.FormatGrant(job, "uid"),
		}
		i.UID = "uid"
	}
	if o := installation.NewObserved(installation.Snapshot{Installation: named("root", asked)}); o.Request != (run.Request{Asked: true, GrantedID: job}) ||
		o.StrayRequest {
		t.Errorf("request of a root: %+v", o)
	}
	nested := func(i *lsv1alpha1.Installation) { i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"} }
	if o := installation.NewObserved(installation.Snapshot{Installation: named("child", asked, nested)}); o.Request != (run.Request{}) ||
		!o.StrayRequest {
		t.Errorf("request of a nested installation: %+v", o)
	}
}

func TestJOB26_AJobIsHeardOfOnce(t *testing.T) {
	heard, news := installation.Hear("", "b", "1")
	if heard != "b=1" || !news {
		t.Errorf("first: %q, %v", heard, news)
	}
	heard, news = installation.Hear(heard, "a", "1")
	if heard != "a=1,b=1" || !news {
		t.Errorf("another predecessor: %q, %v", heard, news)
	}
	if again, news := installation.Hear(heard, "b", "1"); again != heard || news {
		t.Errorf("a repetition: %q, %v", again, news)
	}
	if next, news := installation.Hear(heard, "b", "2"); next != "a=1,b=2" || !news {
		t.Errorf("the next job: %q, %v", next, news)
	}
}

func TestJOB26_SuccessorsThatAnEarlierControllerHasNotToldAreTold(t *testing.T) {
	left := func(phase lsv1alpha1.Phase, change ...func(*lsv1alpha1.Installation)) *lsv1alpha1.Installation {
		return named("first", append(change, func(i *lsv1alpha1.Installation) {
			i.Status.JobID, i.Status.JobIDFinished, i.Status.Phase = "old", "old", phase
			i.Status.DependentsToTrigger = []lsv1alpha1.DependentToTrigger{{Name: "second"}}
			i.Finalizers = []string{lsv1alpha1.Finalizer}
		})...)
	}
	nested := func(i *lsv1alpha1.Installation) { i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"} }
	deleted := func(i *lsv1alpha1.Installation) {
		i.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	for name, c := range map[string]struct {
		inst *lsv1alpha1.Installation
		told bool
	}{
		"after success":          {left(lsv1alpha1.PhaseSucceeded), true},
		"after a failure":        {left(lsv1alpha1.PhaseFailed), false},
		"of a nested one":        {left(lsv1alpha1.PhaseSucceeded, nested), false},
		"of one that is deleted": {left(lsv1alpha1.PhaseSucceeded, deleted), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := installation.NewObserved(installation.Snapshot{Installation: c.inst, Now: time.Unix(2, 0), NewJobID: "new"})
			d := installation.Decide(o)
			told := slices.ContainsFunc(d.Do, func(e installation.Effect) bool { return e.String() == "request a job of second" })
			if told != c.told {
				t.Fatalf("decided %+v", d)
			}
			o = installation.Settle(c.inst, o, d, nil)
			if c.told && (len(c.inst.Status.DependentsToTrigger) > 0 || len(o.UntoldSuccessors) > 0 || !installation.Decide(o).Wait) {
				t.Errorf("after they were told: %+v", c.inst.Status)
			}
		})
	}
}

// If somebody removes the label or the finalizer, it is restored, and meanwhile a nested installation does not count as a root. A request,
// such as an interrupt, does not wait for objects that may not be restored at once.
func TestWhatIsLostIsRestoredWhenNothingIsAskedFor(t *testing.T) {
	in := func(phase lsv1alpha1.Phase, finished string) func(*lsv1alpha1.Installation) {
		return func(i *lsv1alpha1.Installation) {
			i.UID, i.Status.Phase, i.Status.JobID, i.Status.JobIDRequested, i.Status.JobIDFinished = "uid", phase, "1", "1", finished
		}
	}
	annotated := func(name, value string) func(*lsv1alpha1.Installation) {
		return func(i *lsv1alpha1.Installation) { i.Annotations = map[string]string{name: value} }
	}
	continuous := func(i *lsv1alpha1.Installation) { i.Spec.Flow = lsv1alpha1.FlowContinuous }
	atRest, atWork, inUpdate := in(lsv1alpha1.PhaseSucceeded, "1"), in(lsv1alpha1.PhaseProgressing, ""), in(lsv1alpha1.PhaseProgressing, "1")
	suspended := annotated(lsv1alpha1.SuspendAnnotation, "true")
	for name, c := range map[string]struct {
		changes []func(*lsv1alpha1.Installation)
		want    bool
	}{
		"at rest":                  {[]func(*lsv1alpha1.Installation){atRest}, true},
		"while a job goes on":      {[]func(*lsv1alpha1.Installation){atWork}, true},
		"of a grant that was used": {[]func(*lsv1alpha1.Installation){atRest, annotated(run.GrantAnnotation, run.FormatGrant("1", "uid"))}, true},
		"of a new grant":           {[]func(*lsv1alpha1.Installation){atRest, annotated(run.GrantAnnotation, run.FormatGrant("2", "uid"))}, false},
		"interrupted":              {[]func(*lsv1alpha1.Installation){atWork, annotated(lsv1alpha1.OperationAnnotation, "interrupt")}, false},
		"requested":                {[]func(*lsv1alpha1.Installation){atRest, annotated(lsv1alpha1.OperationAnnotation, "reconcile")}, false},
		"about to begin a job":     {[]func(*lsv1alpha1.Installation){in(lsv1alpha1.PhaseSucceeded, "0")}, false},
		"before it has written":    {[]func(*lsv1alpha1.Installation){in(lsv1alpha1.PhaseInit, "")}, false},
		"before an update":         {[]func(*lsv1alpha1.Installation){in(lsv1alpha1.PhasePendingDependencies, "")}, false},
		"never begun":              {nil, false},
		"frozen":                   {[]func(*lsv1alpha1.Installation){atRest, continuous, annotated(lsv1alpha1.IgnoreAnnotation, "true")}, false},
		"suspended":                {[]func(*lsv1alpha1.Installation){atRest, continuous, suspended}, false},
		"suspended in an update":   {[]func(*lsv1alpha1.Installation){inUpdate, continuous, suspended}, true},
		"suspended between jobs":   {[]func(*lsv1alpha1.Installation){atRest, suspended}, true},
		"deleted":                  {[]func(*lsv1alpha1.Installation){atRest, func(i *lsv1alpha1.Installation) { i.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }}, false},
	} {
		if got := installation.MayRestore(named("a", c.changes...)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDamageIsSeenAndMended(t *testing.T) {
	yes := true
	parent := func(i *lsv1alpha1.Installation) {
		i.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: lsv1alpha1.SchemeGroupVersion.String(),
			Kind:       "Installation",
			Name:       "root",
			UID:        "r",
			Controller: &yes,
		}}
	}
	labelled := func(i *lsv1alpha1.Installation) { i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"} }
	held := func(i *lsv1alpha1.Installation) { i.Finalizers = []string{lsv1alpha1.Finalizer} }
	ran := func(i *lsv1alpha1.Installation) {
		i.Status.JobID, i.Status.JobIDFinished, i.Status.Phase = "old", "old", lsv1alpha1.PhaseSucceeded
	}
	deleted := func(i *lsv1alpha1.Installation) { i.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	stranger := func(i *lsv1alpha1.Installation) {
		i.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "example.com/v1",
			Kind:       "Installation",
			Name:       "root",
			UID:        "r",
			Controller: &yes,
		}}
	}
	for name, c := range map[string]struct {
		change []func(*lsv1alpha1.Installation)
		parent string
		mended string
	}{
		"a root":                                {[]func(*lsv1alpha1.Installation){held, ran}, "", ""},
		"a root that never ran":                 {nil, "", ""},
		"a root without its finalizer":          {[]func(*lsv1alpha1.Installation){ran}, "", "add the finalizer"},
		"a nested one":                          {[]func(*lsv1alpha1.Installation){held, ran, parent, labelled}, "root", ""},
		"a nested one without its owner":        {[]func(*lsv1alpha1.Installation){held, ran, labelled}, "root", ""},
		"a nested one without its label":        {[]func(*lsv1alpha1.Installation){held, ran, parent}, "root", "restore the label"},
		"one that goes without its label":       {[]func(*lsv1alpha1.Installation){held, ran, parent, deleted}, "root", ""},
		"one that belongs to something foreign": {[]func(*lsv1alpha1.Installation){held, ran, stranger}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inst := named("i", c.change...)
			if got := installation.ParentOf(inst); got != c.parent || installation.IsRoot(inst) != (c.parent == "") {
				t.Errorf("the parent is %q", got)
			}
			o := installation.NewObserved(installation.Snapshot{Installation: inst, Now: noon, NewJobID: "new"})
			if mended := strings.Join(words(installation.Decide(o)), ", "); c.mended != mended && !o.Deleting {
				t.Errorf("mended by %q", mended)
			}
		})
	}
}

func words(d installation.Decision) (all []string) {
	for _, effect := range d.Do {
		all = append(all, effect.String())
	}
	return all
}
