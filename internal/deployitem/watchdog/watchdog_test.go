// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watchdog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem/watchdog"
	"espalier.dev/internal/run"
)

var (
	noon   = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	phases = []lsv1alpha1.Phase{
		"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed,
		lsv1alpha1.PhaseInitDelete, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed,
	}
	jobs     = []run.Job{{}, {ID: "b", FinishedID: "b"}, {ID: "b", FinishedID: "b", RequestedID: "b"}, {ID: "b", FinishedID: "a"}, {ID: "b"}}
	requests = []run.Request{{}, {Asked: true}, {GrantedID: "b"}, {GrantedID: "c"}, {Asked: true, GrantedID: "b"}}
	moments  = []time.Time{{}, noon.Add(-time.Minute), noon, noon.Add(time.Minute)}
)

func does[E watchdog.Effect](d watchdog.Decision) bool {
	return slices.ContainsFunc(d.Do, func(e watchdog.Effect) bool { _, ok := e.(E); return ok })
}

var rules = map[string]func(watchdog.Observed, watchdog.Decision) bool{
	"time runs out only for running jobs": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !does[watchdog.TimeOut](d) || (o.Job.Running() || o.Continuous && o.PickedUp) && !o.Deadline.IsZero() && !o.Now.Before(o.Deadline)
	},
	"a finalizer goes only from what is deleted without uninstall, or with its namespace": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !does[watchdog.RemoveFinalizer](d) || o.Deleting && (o.WithoutUninstall || o.NamespaceEnds) && o.Finalizer
	},
	"JOB-46 an item goes with its namespace, and that is told": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !o.Deleting || !o.NamespaceEnds ||
			does[watchdog.RemoveFinalizer](d) == o.Finalizer && does[watchdog.TellNamespace](d) == o.Finalizer
	},
	"JOB-60 without uninstall an item goes, whatever its phase": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !o.Deleting || !o.WithoutUninstall || !o.Finalizer || o.Idle != "" || does[watchdog.RemoveFinalizer](d)
	},
	"a finalizer that somebody has removed comes back": func(o watchdog.Observed, d watchdog.Decision) bool {
		return does[watchdog.AddFinalizer](d) == (o.Damaged && !o.Finalizer && !(o.Deleting && o.NamespaceEnds))
	},
	"a job begins only when the last one has finished": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !does[watchdog.Grant](d) && !does[watchdog.Adopt](d) || !o.Job.Running()
	},
	"a request goes only once the status no longer shows the job before": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !does[watchdog.Grant](d) || o.Announced && d.SaveFirst
	},
	"a grant is adopted once": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !does[watchdog.Adopt](d) || o.Request.GrantedID != "" && o.Request.GrantedID != o.Job.RequestedID
	},
	"a request is kept while a job runs": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !does[watchdog.RemoveOperation](d) || o.Idle != ""
	},
	"items of the continuous flow have no jobs": func(o watchdog.Observed, d watchdog.Decision) bool {
		return !o.Continuous || !does[watchdog.Grant](d) && !does[watchdog.Adopt](d) && !does[watchdog.NoteJob](d)
	},
	"a wait says why": func(_ watchdog.Observed, d watchdog.Decision) bool {
		return !d.Wait || d.Why.Code != "" && d.Why.Message != ""
	},
	"a running job with a deadline is looked at again": func(o watchdog.Observed, d watchdog.Decision) bool {
		waits := d.Wait && len(d.Do) == 0 && o.Job.Running() && !o.Continuous && !o.Deadline.IsZero() && !(o.Deleting && o.NamespaceEnds)
		return !waits || d.RequeueAfter > 0
	},
	"phases are the deployer's": func(_ watchdog.Observed, d watchdog.Decision) bool { return d.Next == "" },
}

func TestRulesHoldForAllFacts(t *testing.T) {
	seen := 0
	for _, phase := range phases {
		for _, job := range jobs {
			for _, request := range requests {
				for _, since := range moments {
					for _, deadline := range moments {
						for bits := range 1 << 10 {
							o := watchdog.Observed{Phase: phase, Job: job, Request: request, Since: since, Deadline: deadline, Now: noon}
							on := func(bit int) bool { return bits&(1<<bit) != 0 }
							o.Continuous, o.Deleting, o.WithoutUninstall, o.Finalizer, o.Exported = on(0), on(1), on(2), on(3), on(4)
							if on(5) {
								o.Idle = lsv1alpha1.OperationInterrupt
							}
							o.PickedUp, o.NamespaceEnds, o.Damaged, o.Announced = on(6), on(7), on(8), on(9)
							seen++
							d := watchdog.Decide(o)
							for name, holds := range rules {
								if !holds(o, d) {
									t.Fatalf("%s: %+v decides %+v", name, o, d)
								}
							}
						}
					}
				}
			}
		}
	}
	if seen < 200_000 {
		t.Errorf("only %d combinations were tried", seen)
	}
}

// walk makes one pass over the item, as the loop does, without an API server.
func walk(t *testing.T, item *lsv1alpha1.DeployItem, now time.Time) ([]string, watchdog.Decision) {
	t.Helper()
	o := watchdog.NewObserved(watchdog.Snapshot{Item: item, PickupTimeout: 5 * time.Minute, NewJobID: "new", Now: now})
	var done []string
	for range 32 {
		d := watchdog.Decide(o)
		var err error
		for _, effect := range d.Do {
			done = append(done, effect.String())
			switch e := effect.(type) {
			case watchdog.RemoveOperation:
				delete(item.Annotations, lsv1alpha1.OperationAnnotation)
				o.Idle = ""
			case watchdog.Grant:
				delete(item.Annotations, lsv1alpha1.OperationAnnotation)
				o.Request = run.Request{GrantedID: o.NewJobID}
			case watchdog.TimeOut:
				err = e.Err
			}
		}
		if o = watchdog.Settle(item, o, d, err); d.Wait {
			return done, d
		}
	}
	t.Fatalf("no end: %+v", o)
	return nil, watchdog.Decision{}
}

func item(phase lsv1alpha1.Phase, job, finished string, handed time.Duration) *lsv1alpha1.DeployItem {
	at := metav1.NewTime(noon.Add(-handed))
	return &lsv1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db", UID: "uid", Annotations: map[string]string{}},
		Spec:       lsv1alpha1.DeployItemSpec{Type: lsv1alpha1.DeployItemTypeMock},
		Status: lsv1alpha1.DeployItemStatus{
			RunStatus:           lsv1alpha1.RunStatus{Phase: phase, JobID: job, JobIDFinished: finished},
			JobIDGenerationTime: &at,
		},
	}
}

func TestJOB74_TimeRunsOut(t *testing.T) {
	none, short, broken := lsv1alpha1.NoDuration, lsv1alpha1.Duration("1m"), lsv1alpha1.Duration("soon")
	deleting := func(i *lsv1alpha1.DeployItem) { at := metav1.NewTime(noon); i.DeletionTimestamp = &at }
	took := func(ago time.Duration, timeout *lsv1alpha1.Duration) func(*lsv1alpha1.DeployItem) {
		return func(i *lsv1alpha1.DeployItem) {
			at := metav1.NewTime(noon.Add(-ago))
			i.Status.LastReconcileTime, i.Spec.Timeout = &at, timeout
		}
	}
	tests := map[string]struct {
		phase  lsv1alpha1.Phase
		handed time.Duration
		change func(*lsv1alpha1.DeployItem)
		want   lsv1alpha1.Phase
		reason string
		again  time.Duration
	}{
		"nobody is told yet":   {phase: "", handed: 29 * time.Second, want: "", again: time.Second},
		"waits for a deployer": {phase: "", handed: time.Minute, want: "", again: 4 * time.Minute},
		"no deployer": {
			phase:  "",
			handed: 5 * time.Minute,
			want:   lsv1alpha1.PhaseFailed,
			reason: lsv1alpha1.ReasonPickupTimeout,
		},
		"no deployer for the next job": {
			phase:  lsv1alpha1.PhaseSucceeded,
			handed: 6 * time.Minute,
			want:   lsv1alpha1.PhaseFailed,
			reason: lsv1alpha1.ReasonPickupTimeout,
		},
		"no deployer for the deletion": {
			phase:  lsv1alpha1.PhaseSucceeded,
			handed: 6 * time.Minute,
			change: deleting,
			want:   lsv1alpha1.PhaseDeleteFailed,
			reason: lsv1alpha1.ReasonPickupTimeout,
		},
		"works": {
			phase:  lsv1alpha1.PhaseProgressing,
			handed: time.Hour,
			change: took(9*time.Minute, nil),
			want:   lsv1alpha1.PhaseProgressing,
			again:  time.Minute,
		},
		"works too long": {
			phase:  lsv1alpha1.PhaseProgressing,
			handed: time.Hour,
			change: took(10*time.Minute, nil),
			want:   lsv1alpha1.PhaseFailed,
			reason: lsv1alpha1.ReasonProgressingTimeout,
		},
		"longer than its own timeout": {
			phase:  lsv1alpha1.PhaseProgressing,
			handed: time.Hour,
			change: took(time.Minute, &short),
			want:   lsv1alpha1.PhaseFailed,
			reason: lsv1alpha1.ReasonProgressingTimeout,
		},
		"no limit": {
			phase:  lsv1alpha1.PhaseProgressing,
			handed: time.Hour,
			change: took(time.Hour, &none),
			want:   lsv1alpha1.PhaseProgressing,
		},
		"a limit that cannot be read": {
			phase:  lsv1alpha1.PhaseProgressing,
			handed: time.Hour,
			change: took(10*time.Minute, &broken),
			want:   lsv1alpha1.PhaseFailed,
			reason: lsv1alpha1.ReasonProgressingTimeout,
		},
		"deletes too long": {
			phase:  lsv1alpha1.PhaseDeleting,
			handed: time.Hour,
			change: func(i *lsv1alpha1.DeployItem) { deleting(i); took(11*time.Minute, nil)(i) },
			want:   lsv1alpha1.PhaseDeleteFailed,
			reason: lsv1alpha1.ReasonProgressingTimeout,
		},
		"deploys too long and is deleted": {
			phase:  lsv1alpha1.PhaseProgressing,
			handed: time.Hour,
			change: func(i *lsv1alpha1.DeployItem) { deleting(i); took(11*time.Minute, nil)(i) },
			want:   lsv1alpha1.PhaseFailed,
			reason: lsv1alpha1.ReasonProgressingTimeout,
		},
		"picked up, and nobody noted it": {
			phase:  lsv1alpha1.PhaseProgressing,
			handed: 4 * time.Minute,
			want:   lsv1alpha1.PhaseProgressing,
			again:  6 * time.Minute,
		},
	}
	for name, test := range tests {
		i := item(test.phase, "b", "a", test.handed)
		if test.change != nil {
			test.change(i)
		}
		_, d := walk(t, i, noon)
		if i.Status.Phase != test.want || d.RequeueAfter != test.again {
			t.Errorf("%s: phase %q, again in %s", name, i.Status.Phase, d.RequeueAfter)
		}
		if test.reason == "" {
			if i.Status.IsFinished() || i.Status.LastError != nil {
				t.Errorf("%s: it has ended: %+v", name, i.Status)
			}
			continue
		}
		if !i.Status.IsFinished() {
			t.Errorf("%s: job %s, finished %s", name, i.Status.JobID, i.Status.JobIDFinished)
		}
		unsaid := cmpopts.IgnoreFields(lsv1alpha1.Error{}, "Operation", "Message", "LastTransitionTime", "LastUpdateTime")
		want := &lsv1alpha1.Error{Reason: test.reason, Codes: []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorTimeout}}
		if diff := cmp.Diff(want, i.Status.LastError, unsaid); diff != "" {
			t.Errorf("%s: the error (-want +got):\n%s", name, diff)
		}
		if first := i.Status.FirstError; first == nil || first.Reason != test.reason || len(i.Status.LastErrors) != 1 {
			t.Errorf("%s: first error %+v, last errors %+v", name, first, i.Status.LastErrors)
		}
	}
}

// An error that only reports a timeout hides the cause, which the status had a moment before.
func TestJOB74_ATimeoutKeepsWhatTheTimeWasSpentOn(t *testing.T) {
	since := metav1.NewTime(noon.Add(-7 * time.Minute))
	waiting := func(reason, message string) func(*lsv1alpha1.DeployItem) {
		return func(i *lsv1alpha1.DeployItem) {
			i.Status.Conditions = []lsv1alpha1.Condition{
				{Type: lsv1alpha1.ConditionReady, Status: lsv1alpha1.ConditionFalse, Reason: reason, Message: message, LastUpdateTime: since},
				{Type: lsv1alpha1.ConditionReconciling, Status: lsv1alpha1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: since},
			}
		}
	}
	tests := map[string]struct {
		phase  lsv1alpha1.Phase
		change func(*lsv1alpha1.DeployItem)
		want   string
	}{
		"a wait": {
			lsv1alpha1.PhaseProgressing, waiting(lsv1alpha1.ReasonWaitingForReadiness, "Deployment a/b: 0 of 1; it fails at 2026-05-04T12:00:00Z"),
			"has been waiting since 2026-05-04T11:53:00Z: Deployment a/b: 0 of 1. To",
		},
		"an error": {
			lsv1alpha1.PhaseDeleting, func(i *lsv1alpha1.DeployItem) {
				waiting("TargetUnreachable", "no route")(i)
				i.Status.LastError = &lsv1alpha1.Error{
					Reason:             "TargetUnreachable",
					Message:            "no route to example.org",
					LastTransitionTime: since,
					LastUpdateTime:     metav1.NewTime(noon),
				}
			},
			"has been failing since 2026-05-04T11:53:00Z: no route to example.org. To",
		},
		"an error with the time of the next attempt": {
			lsv1alpha1.PhaseProgressing, func(i *lsv1alpha1.DeployItem) {
				i.Status.LastError = &lsv1alpha1.Error{
					Reason: "TargetUnreachable", LastTransitionTime: since,
					Message: "the target cluster c has been unreachable since 2026-05-04T11:53:00Z, next attempt at 2026-05-04T12:00:30Z: no route",
				}
			},
			": the target cluster c has been unreachable since 2026-05-04T11:53:00Z: no route. To",
		},
		"a wait for the next attempt": {
			lsv1alpha1.PhaseProgressing,
			waiting("TargetUnreachable", "c is unreachable, next attempt at 2026-05-04T12:00:30Z: no route; it fails at 2026-05-04T12:00:00Z"),
			"has been waiting since 2026-05-04T11:53:00Z: c is unreachable: no route. To",
		},
		"silence": {
			lsv1alpha1.PhaseProgressing,
			waiting("PickedUp", "deployer x is working on it"),
			"did not report what it was waiting for",
		},
		"no condition": {lsv1alpha1.PhaseProgressing, func(*lsv1alpha1.DeployItem) {}, "did not report what it was waiting for"},
		"an item nobody takes": {
			"",
			func(i *lsv1alpha1.DeployItem) { i.Spec.Target = &lsv1alpha1.ObjectReference{Name: "far"} },
			"Target ns/far exists",
		},
		"of the job before":       {"", waiting(lsv1alpha1.ReasonWaitingForReadiness, "of the job before"), "check that one is running"},
		"without a Target to see": {"", func(*lsv1alpha1.DeployItem) {}, "check that one is running"},
	}
	for name, test := range tests {
		i := item(test.phase, "b", "a", time.Hour)
		test.change(i)
		walk(t, i, noon)
		e := i.Status.LastError
		if e == nil || !slices.Equal(e.Codes, []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorTimeout}) {
			t.Fatalf("%s: the error is %+v, want a timeout", name, e)
		}
		if !strings.Contains(e.Message, test.want) {
			t.Errorf("%s: the message lacks %q: %s", name, test.want, e.Message)
		}
		if strings.Contains(e.Message, "it fails at") || strings.Contains(e.Message, "of the job before") {
			t.Errorf("%s: the message tells of what is over: %s", name, e.Message)
		}
	}
}

// The conditions show users that no deployer has come, instead of nothing or the end of the previous job.
func TestAnItemThatIsNotPickedUpSaysSo(t *testing.T) {
	for _, phase := range []lsv1alpha1.Phase{"", lsv1alpha1.PhaseSucceeded} {
		i := item(phase, "b", "a", 30*time.Second)
		i.Status.Conditions = []lsv1alpha1.Condition{{Type: lsv1alpha1.ConditionReady, Status: lsv1alpha1.ConditionTrue, Reason: "Succeeded"}}
		asked := i.Status.DeepCopy()
		if done, d := walk(t, i, noon); !slices.Equal(done, []string{"report the wait"}) || d.RequeueAfter != 4*time.Minute+30*time.Second {
			t.Errorf("did %v, again in %s", done, d.RequeueAfter)
		}
		if diff := cmp.Diff(asked, &i.Status, cmpopts.IgnoreFields(lsv1alpha1.DeployItemStatus{}, "Conditions")); diff != "" {
			t.Errorf("more than the conditions has changed (-before +after):\n%s", diff)
		}
		for _, c := range i.Status.Conditions {
			if c.Type == lsv1alpha1.ConditionReady && c.Status == lsv1alpha1.ConditionTrue || c.Reason != lsv1alpha1.ReasonWaitingForDeployer ||
				!strings.Contains(c.Message, "no deployer for type") {
				t.Errorf("condition %+v", c)
			}
		}
		before := i.Status.DeepCopy()
		if done, _ := walk(t, i, noon.Add(time.Minute)); len(done) > 0 || cmp.Diff(before, &i.Status) != "" {
			t.Errorf("it is told again: %v", done)
		}
	}
}

// A request that is withdrawn after it was announced leaves the result of the last job.
func TestAWithdrawnRequestForAnItemLeavesItsResult(t *testing.T) {
	i := item(lsv1alpha1.PhaseSucceeded, "b", "b", time.Hour)
	run.Announce(&i.Status.RunStatus, noon)
	if !watchdog.Concerns(i) {
		t.Error("the watchdog overlooks it")
	}
	walk(t, i, noon)
	if ready := i.Status.Conditions[0]; ready.Type != lsv1alpha1.ConditionReady || ready.Status != lsv1alpha1.ConditionTrue {
		t.Errorf("the conditions are %+v", i.Status.Conditions)
	}
	if watchdog.Concerns(i) {
		t.Error("the watchdog has still something to do")
	}
}

// In the continuous flow, the status does not report it, because no request sets the start of the wait. The decision says it, for those
// who ask why nothing happens.
func TestAContinuousItemThatIsNotPickedUpWaitsForItsDeployer(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*lsv1alpha1.DeployItem)
		code   string
	}{
		"new":      {func(i *lsv1alpha1.DeployItem) { i.Status = lsv1alpha1.DeployItemStatus{} }, lsv1alpha1.ReasonWaitingForDeployer},
		"changed":  {func(i *lsv1alpha1.DeployItem) { i.Generation = 2 }, lsv1alpha1.ReasonWaitingForDeployer},
		"finished": {func(*lsv1alpha1.DeployItem) {}, watchdog.CodeIdle},
	} {
		i := item(lsv1alpha1.PhaseSucceeded, "", "", time.Hour)
		i.Spec.Flow, i.Generation, i.Status.ObservedGeneration = lsv1alpha1.FlowContinuous, 1, 1
		test.change(i)
		before := i.DeepCopy()
		_, d := walk(t, i, noon)
		if diff := cmp.Diff(before, i); diff != "" || d.Why.Code != test.code {
			t.Errorf("%s: decided %q, changed (-before +after):\n%s", name, d.Why, diff)
		}
	}
}

// If an item of the continuous flow is deleted and no deployer picks that up, its status names the command that ends the deletion.
func TestCON44_ADeletionWithoutADeployerNamesTheWayOut(t *testing.T) {
	for name, status := range map[string]lsv1alpha1.DeployItemStatus{
		"never deployed": {},
		"deployed":       {RunStatus: lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseSucceeded, ObservedGeneration: 1}},
		"failed":         {RunStatus: lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseFailed, ObservedGeneration: 1}},
	} {
		i := item("", "", "", time.Hour)
		deleted := metav1.NewTime(noon)
		i.Spec.Flow, i.Spec.Target, i.Status = lsv1alpha1.FlowContinuous, &lsv1alpha1.ObjectReference{Name: "east"}, status
		i.DeletionTimestamp, i.Generation, i.Finalizers = &deleted, 2, []string{lsv1alpha1.Finalizer}
		if done, d := walk(t, i, noon.Add(time.Second)); len(done) > 0 || d.RequeueAfter != 29*time.Second {
			t.Errorf("%s: at once, it did %q, and looks again in %s", name, done, d.RequeueAfter)
		}
		for at, want := range []([]string){{"report the wait"}, nil} {
			done, d := walk(t, i, noon.Add(time.Duration(at+1)*time.Minute))
			if !slices.Equal(done, want) || d.RequeueAfter != 0 {
				t.Errorf("%s: it did %q, want %q, and looks again in %s", name, done, want, d.RequeueAfter)
			}
		}
		c := i.Status.Conditions[slices.IndexFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return c.Type == lsv1alpha1.ConditionReconciling
		})]
		for _, word := range []string{"no deployer for type", "ns/east", "--without-uninstall", lsv1alpha1.DeleteWithoutUninstallAnnotation} {
			if !strings.Contains(c.Message, word) {
				t.Errorf("%s: the condition lacks %q: %s", name, word, c.Message)
			}
		}
		if i.Status.Phase != status.Phase || i.Status.ObservedGeneration != status.ObservedGeneration {
			t.Errorf("%s: changed to %+v", name, i.Status.RunStatus)
		}
	}
}

// A user who starts an item by hand writes status.jobID and nothing else.
func TestJOB74_TimeOfAJobStartedByHandBeginsWhenItIsSeen(t *testing.T) {
	fresh := item("", "b", "", 0)
	fresh.Status.JobIDGenerationTime = nil
	again := item(lsv1alpha1.PhaseSucceeded, "b", "a", time.Hour)
	ended := metav1.NewTime(noon.Add(-50 * time.Minute))
	again.Status.TransitionTimes = &lsv1alpha1.TransitionTimes{FinishedTime: &ended}
	for name, i := range map[string]*lsv1alpha1.DeployItem{"first job": fresh, "second job": again} {
		done, d := walk(t, i, noon)
		if !slices.Equal(done, []string{"record the job"}) || d.RequeueAfter != 30*time.Second {
			t.Errorf("%s: did %v, again in %s", name, done, d.RequeueAfter)
		}
		done, d = walk(t, i, noon.Add(time.Minute))
		if !slices.Equal(done, []string{"report the wait"}) || d.RequeueAfter != 4*time.Minute {
			t.Errorf("%s, later: did %v, again in %s", name, done, d.RequeueAfter)
		}
		since := "ns/db since 2026-05-04T12:00:00Z; it fails at 2026-05-04T12:05:00Z"
		if d.Why.Code != lsv1alpha1.ReasonWaitingForDeployer || !strings.Contains(d.Why.Message, since) {
			t.Errorf("%s, later: the reason is %+v", name, d.Why)
		}
	}
}

func TestAskingForAJobOfOneItem(t *testing.T) {
	i := item(lsv1alpha1.PhaseFailed, "b", "b", time.Hour)
	i.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationTestReconcile)
	done, _ := walk(t, i, noon)
	if diff := cmp.Diff([]string{"grant the request", "adopt the job"}, done); diff != "" {
		t.Errorf("what was done (-want +got):\n%s", diff)
	}
	if i.Status.JobID != "new" || i.Status.JobIDRequested != "new" || i.Status.IsFinished() {
		t.Errorf("job %s, requested %s, finished %s", i.Status.JobID, i.Status.JobIDRequested, i.Status.JobIDFinished)
	}
	i.Annotations[run.GrantAnnotation] = run.FormatGrant("new", "uid")
	i.Status.JobIDFinished = "new"
	if done, _ = walk(t, i, noon); len(done) > 0 {
		t.Errorf("the same request again led to %v", done)
	}

	running := item(lsv1alpha1.PhaseProgressing, "b", "a", 0)
	running.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationTestReconcile)
	if done, _ = walk(t, running, noon); len(done) > 0 || len(running.Annotations) == 0 {
		t.Errorf("while a job runs: %v, annotations %v", done, running.Annotations)
	}
}

func TestJOB50_OperationsWithoutEffectOnItems(t *testing.T) {
	for _, operation := range []lsv1alpha1.Operation{lsv1alpha1.OperationInterrupt, lsv1alpha1.OperationReconcile} {
		i := item(lsv1alpha1.PhaseProgressing, "b", "a", 0)
		i.Annotations[lsv1alpha1.OperationAnnotation] = string(operation)
		before := i.Status.DeepCopy()
		done, _ := walk(t, i, noon)
		if !slices.Equal(done, []string{"remove the operation"}) {
			t.Errorf("%s: did %v", operation, done)
		}
		if diff := cmp.Diff(*before, i.Status); diff != "" {
			t.Errorf("%s changed the status: %s", operation, diff)
		}
	}
}

func TestJOB60_ItemGoesWithoutUninstall(t *testing.T) {
	at := metav1.NewTime(noon)
	for _, finished := range []string{"a", "b"} {
		i := item(lsv1alpha1.PhaseSucceeded, "b", finished, 0)
		i.Finalizers, i.DeletionTimestamp = []string{lsv1alpha1.Finalizer}, &at
		if done, _ := walk(t, i, noon); len(done) > 0 {
			t.Errorf("without the annotation: %v", done)
		}
		i.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] = "true"
		i.Status.ExportReference = &lsv1alpha1.ObjectReference{Name: "db-export"}
		if done, _ := walk(t, i, noon); !slices.Equal(done, []string{"drop the exports", "remove the finalizer"}) {
			t.Errorf("finished %s: did %v", finished, done)
		}
	}
}

func TestFinishedItemsAreOfNoConcern(t *testing.T) {
	i := item(lsv1alpha1.PhaseSucceeded, "b", "b", time.Hour)
	if watchdog.Concerns(i) {
		t.Error("a finished item concerns the watchdog")
	}
	i.Status.JobID = "c"
	if !watchdog.Concerns(i) {
		t.Error("a running one does not")
	}
}
