// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
)

const itemType = lsv1alpha1.DeployItemTypeMock

var role = deployitem.Role{Type: itemType, Info: lsv1alpha1.DeployerInformation{Identity: "here", Name: "mock", Version: "1"}}

// script is a deployer that gives prepared answers.
type script struct {
	answer   deployitem.Answer
	intend   error
	remember *runtime.RawExtension
	calls    []string
	saved    []lsv1alpha1.DeployItemStatus
}

// walk makes one pass over the item, as the loop does, without an API server.
func (s *script) walk(t *testing.T, item *lsv1alpha1.DeployItem, snapshot deployitem.Snapshot) deployitem.Decision {
	t.Helper()
	snapshot.Item, snapshot.Role = item, role
	if snapshot.Now.IsZero() {
		snapshot.Now = noon
	}
	o := deployitem.NewObserved(snapshot)
	for range 32 {
		d := deployitem.Decide(o)
		if d.SaveFirst {
			s.saved = append(s.saved, *item.Status.DeepCopy())
		}
		var err error
		for _, effect := range d.Do {
			s.calls = append(s.calls, effect.String())
			if o, err = s.act(o, effect); err != nil {
				err = fmt.Errorf("%s: %w", effect, err)
				break
			}
		}
		if o = deployitem.Settle(item, o, d, err); err != nil || d.Wait {
			return d
		}
	}
	t.Fatalf("no end: %+v", o)
	return deployitem.Decision{}
}

func (s *script) act(o deployitem.Observed, effect deployitem.Effect) (deployitem.Observed, error) {
	switch e := effect.(type) {
	case deployitem.AddFinalizer:
		o.Finalizer = true
	case deployitem.Intend:
		o.Remember = s.remember
		return o, o.Overtaken(s.intend, true)
	case deployitem.Deploy, deployitem.Delete:
		answer := s.answer
		o.Answer = &answer
	case deployitem.Repair:
		o.RepairAt = noon.Add(time.Hour)
	case deployitem.StoreExports:
		o.ExportsStored = true
	case deployitem.DropExports:
		o.ExportsDropped = true
	case deployitem.RemoveFinalizer:
		o.Finalizer = false
	case deployitem.Fail:
		return o, e.Err
	}
	return o, nil
}

func item(phase lsv1alpha1.Phase, job, finished string) *lsv1alpha1.DeployItem {
	return &lsv1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db", Generation: 3, Finalizers: []string{lsv1alpha1.Finalizer}},
		Spec:       lsv1alpha1.DeployItemSpec{Type: itemType},
		Status:     lsv1alpha1.DeployItemStatus{RunStatus: lsv1alpha1.RunStatus{Phase: phase, JobID: job, JobIDFinished: finished}},
	}
}

func deleted(i *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	at := metav1.NewTime(noon)
	i.DeletionTimestamp = &at
	return i
}

// unsaid ignores the parts of a status that other tests cover, and untimed ignores all times.
var (
	unsaid  = cmpopts.IgnoreFields(lsv1alpha1.RunStatus{}, "PhaseTransitionTime", "Conditions", "TransitionTimes")
	untimed = cmpopts.IgnoreTypes(metav1.Time{})
)

var script4 = []deployitem.Answer{
	{Done: true}, {Done: true, Exports: []byte("{}")}, {}, {Err: errors.New("no answer")},
	{Err: failure.Terminalf(failure.Details{Reason: "Bad"}, "wrong")},
}

// Whatever an item looks like and whatever the deployer answers: a final phase and the end of the job come together, and a finished item
// stays as it is.
func TestJOB03_EndAndFinalPhaseComeTogether(t *testing.T) {
	for _, phase := range phases {
		for _, finished := range []string{"a", "b"} {
			for n, answer := range script4 {
				for _, deleting := range []bool{false, true} {
					i := item(phase, "b", finished)
					if deleting {
						deleted(i)
					}
					before := i.DeepCopy()
					s := &script{answer: answer}
					s.walk(t, i, deployitem.Snapshot{})
					name := fmt.Sprintf("phase %q, finished %s, answer %d, deleting %v", phase, finished, n, deleting)
					if finished == "b" {
						if diff := cmp.Diff(before.Status, i.Status); diff != "" || len(s.calls) > 0 {
							t.Errorf("%s: a finished item was touched by %v: %s", name, s.calls, diff)
						}
						continue
					}
					if i.Status.Phase.IsFinal() != i.Status.IsFinished() {
						t.Errorf("%s: ends in phase %s with job %s and finished %s", name, i.Status.Phase, i.Status.JobID, i.Status.JobIDFinished)
					}
				}
			}
		}
	}
}

func TestJOB73_PickUpIsStoredBeforeTheDeployerIsCalled(t *testing.T) {
	i := item(lsv1alpha1.PhaseSucceeded, "b", "a")
	intended := &runtime.RawExtension{Raw: []byte(`{"objects":["x"]}`)}
	s := &script{answer: deployitem.Answer{Done: true}, remember: intended}
	s.walk(t, i, deployitem.Snapshot{})
	if diff := cmp.Diff([]string{"prepare", "deploy"}, s.calls); diff != "" {
		t.Errorf("calls: %s", diff)
	}
	if len(s.saved) != 1 {
		t.Fatalf("%d writes before the end, want one", len(s.saved))
	}
	at := metav1.NewTime(noon)
	got := s.saved[0]
	want := lsv1alpha1.DeployItemStatus{
		RunStatus: lsv1alpha1.RunStatus{
			Phase:              lsv1alpha1.PhaseProgressing,
			ObservedGeneration: 3,
			JobID:              "b",
			JobIDFinished:      "a",
		},
		LastReconcileTime: &at,
		Deployer:          role.Info,
		ProviderStatus:    intended,
	}
	if diff := cmp.Diff(want, got, unsaid); diff != "" {
		t.Errorf("the pick-up and the intention were not recorded (-want +got):\n%s", diff)
	}
	if i.Status.Phase != lsv1alpha1.PhaseSucceeded || i.Status.JobIDFinished != "b" {
		t.Errorf("ended as %+v", i.Status)
	}
}

func TestJOB75_UnchangedItemIsLeftOut(t *testing.T) {
	tests := map[string]struct {
		change func(*lsv1alpha1.DeployItem)
		called bool
	}{
		"unchanged":       {func(*lsv1alpha1.DeployItem) {}, false},
		"new spec":        {func(i *lsv1alpha1.DeployItem) { i.Generation++ }, true},
		"failed before":   {func(i *lsv1alpha1.DeployItem) { i.Status.Phase = lsv1alpha1.PhaseFailed }, true},
		"not asked to":    {func(i *lsv1alpha1.DeployItem) { i.Spec.UpdateOnChangeOnly = false }, true},
		"never deployed":  {func(i *lsv1alpha1.DeployItem) { i.Status.Phase = "" }, true},
		"cut off in Init": {func(i *lsv1alpha1.DeployItem) { i.Status.Phase = lsv1alpha1.PhaseInit }, true},
	}
	for name, test := range tests {
		i := item(lsv1alpha1.PhaseSucceeded, "b", "a")
		i.Spec.UpdateOnChangeOnly, i.Status.ObservedGeneration = true, 3
		test.change(i)
		s := &script{answer: deployitem.Answer{Done: true}}
		s.walk(t, i, deployitem.Snapshot{})
		if called := len(s.calls) > 0; called != test.called {
			t.Errorf("%s: the deployer was called: %v", name, s.calls)
		}
		if i.Status.Phase != lsv1alpha1.PhaseSucceeded || !i.Status.IsFinished() || i.Status.LastReconcileTime == nil {
			t.Errorf("%s: ended as %+v", name, i.Status)
		}
	}
}

func TestErrorsOfAJob(t *testing.T) {
	i := item("", "b", "")
	for n := range 7 {
		reason := fmt.Sprintf("Reason%d", n)
		for range 2 {
			s := &script{answer: deployitem.Answer{Err: failure.NewRetryable(failure.Details{
				Operation: "Apply",
				Reason:    reason,
			}, errors.New(reason))}}
			s.walk(t, i, deployitem.Snapshot{Intended: n > 0})
		}
	}
	var reasons []string
	for _, e := range i.Status.LastErrors {
		reasons = append(reasons, e.Reason)
	}
	if diff := cmp.Diff([]string{"Reason2", "Reason3", "Reason4", "Reason5", "Reason6"}, reasons); diff != "" {
		t.Errorf("last errors: %s", diff)
	}
	if i.Status.FirstError.Reason != "Reason0" || i.Status.LastError.Reason != "Reason6" {
		t.Errorf("first %+v, last %+v", i.Status.FirstError, i.Status.LastError)
	}
	i.Status.Phase, i.Status.JobIDFinished, i.Status.JobID = lsv1alpha1.PhaseFailed, "b", "c"
	(&script{answer: deployitem.Answer{}}).walk(t, i, deployitem.Snapshot{})
	if i.Status.FirstError != nil || i.Status.LastErrors != nil || i.Status.LastError != nil {
		t.Errorf("the next job still shows %+v %+v %+v", i.Status.FirstError, i.Status.LastError, i.Status.LastErrors)
	}
}

func TestWaitingStandsInTheConditions(t *testing.T) {
	i := item("", "b", "")
	i.Spec.Target = &lsv1alpha1.ObjectReference{Name: "cluster", Namespace: "ns"}
	s := &script{}
	d := s.walk(t, i, deployitem.Snapshot{})
	if d.Why.Code != lsv1alpha1.ReasonNoTargetFound || len(s.calls) > 0 {
		t.Errorf("without a Target: decided %+v after %v", d, s.calls)
	}
	if i.Status.Phase != lsv1alpha1.PhaseProgressing || i.Status.LastError != nil {
		t.Errorf("without a Target: phase %s, error %+v", i.Status.Phase, i.Status.LastError)
	}
	for _, c := range i.Status.Conditions {
		if c.Reason != lsv1alpha1.ReasonNoTargetFound || c.Message != d.Why.Message {
			t.Errorf("condition %+v", c)
		}
	}
	if i.Status.ObservedGeneration != 0 {
		t.Error("the spec counts as observed before it was")
	}
}

// However often a waiting deployer is called, the status does not change while it waits for the same thing.
func TestWaitingOnWritesNothing(t *testing.T) {
	i := item("", "b", "")
	s := &script{answer: deployitem.Answer{Waiting: decision.Reason{Code: "WaitingForRain", Message: "cloud north"}}}
	s.walk(t, i, deployitem.Snapshot{})
	before := i.DeepCopy()
	for _, intended := range []bool{true, false} {
		s.walk(t, i, deployitem.Snapshot{Intended: intended, Now: noon.Add(time.Minute)})
		if diff := cmp.Diff(before, i); diff != "" {
			t.Errorf("asked again, intended before %v: %s", intended, diff)
		}
	}
	if len(s.calls) != 5 {
		t.Errorf("calls: %v", s.calls)
	}
}

func TestWhatNeverTouchedATargetGoesWithoutIt(t *testing.T) {
	skip := &lsv1alpha1.OnDeleteConfig{SkipUninstallIfClusterRemoved: true}
	tests := map[string]struct {
		observed int64
		onDelete *lsv1alpha1.OnDeleteConfig
		goes     bool
	}{
		"never deployed":                  {0, nil, true},
		"deployed":                        {2, nil, false},
		"deployed, and the cluster is go": {2, skip, true},
	}
	for name, test := range tests {
		i := deleted(item(lsv1alpha1.PhaseFailed, "b", "a"))
		i.Spec.Target, i.Spec.OnDelete = &lsv1alpha1.ObjectReference{Name: "cluster", Namespace: "ns"}, test.onDelete
		i.Status.ObservedGeneration = test.observed
		s := &script{}
		s.walk(t, i, deployitem.Snapshot{})
		if goes := cmp.Equal([]string{"remove the finalizer"}, s.calls); goes != test.goes {
			t.Errorf("%s: %v", name, s.calls)
		}
	}
}

func TestReferencesStayInTheNamespace(t *testing.T) {
	i := item("", "b", "")
	i.Spec.Target = &lsv1alpha1.ObjectReference{Name: "cluster", Namespace: "elsewhere"}
	(&script{}).walk(t, i, deployitem.Snapshot{})
	if i.Status.Phase != lsv1alpha1.PhaseFailed || i.Status.LastError.Codes[0] != lsv1alpha1.ErrorConfigurationProblem {
		t.Errorf("ended as %s: %+v", i.Status.Phase, i.Status.LastError)
	}
}

func TestNothingIsWrittenToWhatIsLeftAlone(t *testing.T) {
	other := item(lsv1alpha1.PhaseSucceeded, "b", "a")
	other.Spec.Type = "example.org/other"
	forgotten := deleted(item(lsv1alpha1.PhaseSucceeded, "b", "a"))
	forgotten.Annotations = map[string]string{lsv1alpha1.DeleteWithoutUninstallAnnotation: "true"}
	for _, i := range []*lsv1alpha1.DeployItem{other, forgotten} {
		before := i.DeepCopy()
		s := &script{answer: deployitem.Answer{Done: true}}
		s.walk(t, i, deployitem.Snapshot{})
		if diff := cmp.Diff(before, i); diff != "" || len(s.calls) > 0 {
			t.Errorf("calls %v: %s", s.calls, diff)
		}
	}
}

func TestTheTriggerTimeOfAJobIsKept(t *testing.T) {
	i := item(lsv1alpha1.PhaseSucceeded, "b", "a")
	earlier := metav1.NewTime(noon.Add(-time.Minute))
	i.Status.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: &earlier}
	(&script{answer: deployitem.Answer{Done: true}}).walk(t, i, deployitem.Snapshot{})
	if got := i.Status.TransitionTimes.TriggerTime; !got.Equal(&earlier) {
		t.Errorf("trigger time is %v", got)
	}
}

func TestRepairOfWhatHasFinished(t *testing.T) {
	i := item(lsv1alpha1.PhaseSucceeded, "b", "b")
	i.Status.ObservedGeneration = 3
	if !deployitem.Repairable(i) {
		t.Fatal("not repairable")
	}
	before := i.DeepCopy()
	s := &script{}
	d := s.walk(t, i, deployitem.Snapshot{RepairAt: noon})
	if !cmp.Equal([]string{"repair"}, s.calls) || d.RequeueAfter != time.Hour {
		t.Errorf("calls %v, then %+v", s.calls, d)
	}
	if diff := cmp.Diff(before, i); diff != "" {
		t.Errorf("a repair that found nothing changed the item: %s", diff)
	}
	for name, change := range map[string]func(*lsv1alpha1.DeployItem){
		"spec changed": func(i *lsv1alpha1.DeployItem) { i.Generation++ },
		"failed":       func(i *lsv1alpha1.DeployItem) { i.Status.Phase = lsv1alpha1.PhaseFailed },
		"running":      func(i *lsv1alpha1.DeployItem) { i.Status.JobID = "c" },
		"deleted":      func(i *lsv1alpha1.DeployItem) { deleted(i) },
	} {
		other := before.DeepCopy()
		if change(other); deployitem.Repairable(other) {
			t.Errorf("%s: repairable", name)
		}
	}
}

// What an item waited for stays in its status when it times out: the watchdog copies it into the error.
func TestJOB74_WhatWasWaitedForIsStillToldWhenTheTimeIsUp(t *testing.T) {
	for _, phase := range []lsv1alpha1.Phase{lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseDeleting} {
		for name, answer := range map[string]deployitem.Answer{
			"a wait":   {Waiting: decision.Reason{Code: lsv1alpha1.ReasonWaitingForReadiness, Message: "Deployment a/b"}},
			"an error": {Err: errors.New("no answer")},
		} {
			i := item(phase, "b", "a")
			if phase.IsDeletion() {
				i = deleted(i)
			}
			began := metav1.NewTime(noon)
			i.Status.LastReconcileTime = &began
			(&script{answer: answer}).walk(t, i, deployitem.Snapshot{Intended: true})
			before := i.Status.DeepCopy()
			(&script{answer: answer}).walk(t, i, deployitem.Snapshot{Intended: true, Now: noon.Add(deployitem.DefaultProgressTimeout)})
			if diff := cmp.Diff(before, &i.Status); diff != "" {
				t.Errorf("%s in %s: %s", name, phase, diff)
			}
		}
	}
}
