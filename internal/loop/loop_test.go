// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/testkit"
)

var twoParts = SampleSpec{Parts: []string{"rose", "vine"}}

func TestARequestBecomesOneJob(t *testing.T) {
	g := newFixture(t)
	g.start(t, g.Config(), nil)
	p := g.eventually(t, g.create(t, "a", twoParts), lsv1alpha1.PhaseSucceeded)
	if err := g.completed(t, p); err != nil {
		t.Error(err)
	}
	if !slices.Contains(p.Finalizers, finalizer) || p.Status.ObservedGeneration != p.Generation {
		t.Errorf("finalizers %v, observedGeneration %d of %d", p.Finalizers, p.Status.ObservedGeneration, p.Generation)
	}
}

func TestWithoutARequestNothingHappens(t *testing.T) {
	g := newFixture(t)
	g.start(t, g.Config(), nil)
	idle := &Sample{ObjectMeta: metav1.ObjectMeta{Namespace: g.ns, Name: "idle"}, Spec: SampleSpec{Parts: []string{"fern"}}}
	if err := g.client.Create(t.Context(), idle); err != nil {
		t.Fatal(err)
	}
	g.eventually(t, g.create(t, "busy", twoParts), lsv1alpha1.PhaseSucceeded)
	var now Sample
	if err := g.client.Get(t.Context(), client.ObjectKeyFromObject(idle), &now); err != nil {
		t.Fatal(err)
	}
	if now.ResourceVersion != idle.ResourceVersion {
		t.Errorf("the idle sample was written to: %+v", now)
	}
}

func TestASecondRequestIsASecondJob(t *testing.T) {
	g := newFixture(t)
	g.start(t, g.Config(), nil)
	first := g.eventually(t, g.create(t, "a", SampleSpec{}), lsv1alpha1.PhaseSucceeded)
	request := []byte(`{"metadata":{"annotations":{"` + operation + `":"reconcile"}}}`)
	if err := g.client.Patch(t.Context(), first.DeepCopyObject().(*Sample), client.RawPatch("application/merge-patch+json", request)); err != nil {
		t.Fatal(err)
	}
	second := testkit.Eventually(t, g.APIServer, first, testkit.Is("finished with another job", func(p *Sample) bool {
		return p.Status.IsFinished() && p.Status.JobID != first.Status.JobID
	}))
	if second.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("phase = %s", second.Status.Phase)
	}
}

func TestDeletionClearsAndLetsGo(t *testing.T) {
	g := newFixture(t)
	g.start(t, g.Config(), nil)
	p := g.eventually(t, g.create(t, "a", twoParts), lsv1alpha1.PhaseSucceeded)
	if err := g.client.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyGone(t, g.APIServer, p)
	for _, name := range p.Spec.Parts {
		err := g.client.Get(t.Context(), client.ObjectKey{Namespace: g.ns, Name: name}, &corev1.ConfigMap{})
		if client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("part %s after the deletion: %v, want not found", name, err)
		}
	}
}

func TestATerminalErrorEndsTheJob(t *testing.T) {
	g := newFixture(t)
	g.start(t, g.Config(), nil)
	p := g.eventually(t, g.create(t, "a", SampleSpec{Parts: []string{"rose"}, Fail: failForGood}), lsv1alpha1.PhaseFailed)
	want := &lsv1alpha1.Error{
		Operation: "Sample",
		Reason:    "BadSoil",
		Message:   "sample the parts: spec.fail: the soil is bad",
		Codes:     []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorConfigurationProblem},
	}
	if diff := cmp.Diff(want, p.Status.LastError, cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
		t.Errorf("lastError (-want +got):\n%s", diff)
	}
}

// An error reads the same wherever it is reported, and shows no secret.
func TestErrorsAreReportedWithoutSecrets(t *testing.T) {
	g := newFixture(t)
	told := make(chan loop.News[*Sample, lsv1alpha1.Phase], 100)
	g.start(t, g.Config(), func(_ context.Context, news loop.News[*Sample, lsv1alpha1.Phase]) { told <- news })
	p := &Sample{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.ns, Name: "a", Annotations: map[string]string{
			operation: string(lsv1alpha1.OperationReconcile), secret: "the soil",
		}},
		Spec: SampleSpec{Parts: []string{"rose"}, Fail: failForGood},
	}
	if err := g.client.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p = g.eventually(t, p, lsv1alpha1.PhaseFailed)
	const want = "sample the parts: spec.fail: <masked> is bad"
	if got := p.Status.LastError.Message; got != want {
		t.Errorf("lastError says %q, want %q", got, want)
	}
	for _, condition := range p.Status.Conditions {
		if condition.Message != want {
			t.Errorf("condition %s says %q", condition.Type, condition.Message)
		}
	}
	for news := range told {
		if news.Err == nil {
			continue
		}
		if got := news.Err.Error(); got != want || failure.KindOf(news.Err) != failure.Terminal {
			t.Errorf("announced is %q", got)
		}
		return
	}
}

func TestARetryableErrorRepeatsThePhaseUntilItGoesWell(t *testing.T) {
	g := newFixture(t)
	g.start(t, g.Config(), nil)
	p := testkit.Eventually(t, g.APIServer, g.create(t, "a", SampleSpec{Parts: []string{"rose"}, Fail: failForNow}),
		testkit.Is("retried at least once", func(p *Sample) bool {
			e := p.Status.LastError
			return e != nil && e.Reason == "Drought" && !e.LastUpdateTime.Equal(&e.LastTransitionTime)
		}))
	if p.Status.Phase != lsv1alpha1.PhaseInit {
		t.Errorf("phase = %s, want Init: a retried phase stays", p.Status.Phase)
	}
	if err := g.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.ns, Name: rain}}); err != nil {
		t.Fatal(err)
	}
	p = g.eventually(t, p, lsv1alpha1.PhaseSucceeded)
	if p.Status.LastError != nil {
		t.Errorf("lastError = %+v after success", p.Status.LastError)
	}
}

// What is announced was written, in order, and nothing is announced twice.
func TestAnnouncesEachTransitionOnce(t *testing.T) {
	g := newFixture(t)
	var mu sync.Mutex
	var told []lsv1alpha1.Phase
	announced := make(chan struct{}, 100)
	g.start(t, g.Config(), func(_ context.Context, news loop.News[*Sample, lsv1alpha1.Phase]) {
		mu.Lock()
		defer mu.Unlock()
		for _, tr := range news.Transitions {
			told = append(told, tr.To)
		}
		announced <- struct{}{}
	})
	g.eventually(t, g.create(t, "a", twoParts), lsv1alpha1.PhaseSucceeded)
	want := []lsv1alpha1.Phase{"Init", "ObjectsCreated", "Progressing", "Completing", "Succeeded"}
	for range announced {
		mu.Lock()
		got := slices.Clone(told)
		mu.Unlock()
		if len(got) >= len(want) {
			if !slices.Equal(got, want) {
				t.Errorf("announced %v, want %v", got, want)
			}
			return
		}
	}
}
