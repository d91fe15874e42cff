// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
)

// A deletion that waits for the Git server reports that, rather than that somebody must merge.
func TestPIP29_ADeletionSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	builder, _ := h.pipeline()
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	h.fail("close", http.StatusServiceUnavailable)
	if err := w.Client().Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p = w.until("p", "an attempt that failed", func(p *pipelines.Pipeline) bool {
		return len(p.Status.Holds) > 0 && p.Status.Holds[0].Until != nil
	})
	reconciling := meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionReconciling)
	if reconciling == nil || reconciling.Reason != pipeline.ReasonDeleting {
		t.Fatalf("the condition is %+v", reconciling)
	}
	ready := meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != pipeline.ReasonDeleting {
		t.Fatalf("the condition is %+v", ready)
	}
	why := pipeline.Why(pipeline.Recall(p, p.DeletionTimestamp.Time))
	for place, text := range map[string]string{
		"the hold":        p.Status.Holds[0].Message,
		"the condition":   reconciling.Message,
		"condition Ready": ready.Message,
		"why":             why[0].Message,
	} {
		for _, part := range []string{"pull-requests/1", "is being closed", "503"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not tell of %q: %s", place, part, text)
			}
		}
	}
	if why[0].Until.IsZero() || !strings.Contains(why[0].Remedy, pipeline.KeepPullRequestsAnnotation) {
		t.Errorf("why says %+v", why[0])
	}
	h.fail("close", 0)
	testkit.EventuallyGone(t, w.APIServer, p)
	h.expect(t, "closed")
}

// Without credentials, the pull request cannot be closed: the pipeline is removed at once, and an Event names what stays. Six attempts
// would take longer than the timeout of this test.
func TestPIP29_WithoutCredentialsADeletionDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	builder, _ := h.pipeline()
	p := builder.Build()
	p.Finalizers = []string{"example.com/last"} // so that its status can be read afterwards
	w.Create(p)
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	if err := w.Client().Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "git"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Client().Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p = w.until("p", "released", func(p *pipelines.Pipeline) bool { return !slices.Contains(p.Finalizers, pipeline.Finalizer) })
	if len(p.Status.Holds) != 1 || p.Status.Holds[0].Reason != pipelines.HoldLeftOpen ||
		!strings.Contains(p.Status.Holds[0].Message, "pull-requests/1") {
		t.Errorf("holds %+v", p.Status.Holds)
	}
	event := w.untilEvent("p", pipeline.ReasonLeftOpen)
	if event.Type != corev1.EventTypeWarning || !strings.Contains(event.Message, "pull-requests/1") ||
		!strings.Contains(event.Message, "Secret") {
		t.Errorf("the event is %+v", event)
	}
	h.expect(t, "open")
	before := p.DeepCopy()
	p.Finalizers = nil
	if err := w.Client().Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyGone(t, w.APIServer, p)
}

// A Secret that may not be read any more, for example because the RoleBinding has gone first, is as good as none.
func TestPIP29_ADeletionDoesNotWaitForASecretThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	w, s := idleWorld(t), &spy{}
	w.runSpied(s)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	builder, _ := h.pipeline()
	p := builder.Build()
	w.Create(p)
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	s.deny("/namespaces/" + w.Namespace + "/secrets/git")
	w.Delete(p)
	testkit.EventuallyGone(t, w.APIServer, p)
	if event := w.untilEvent("p", pipeline.ReasonLeftOpen); !strings.Contains(event.Message, "pull-requests/1") ||
		!strings.Contains(event.Message, "not you") {
		t.Errorf("the event is %+v", event)
	}
	h.expect(t, "open")
}

// Without its finalizer, a pipeline would leave its pull request open.
func TestPIP29_AFinalizerThatSomebodyRemovesComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	builder, _ := h.pipeline()
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	w.Patch(p, `{"metadata":{"finalizers":null}}`)
	p = w.until("p", "whole", func(p *pipelines.Pipeline) bool { return slices.Contains(p.Finalizers, pipeline.Finalizer) })
	w.Delete(p)
	testkit.EventuallyGone(t, w.APIServer, p)
	h.expect(t, "closed")
}

// A namespace that is being deleted rejects Events, and takes those in it with it: which pull request stays is told in another one.
func TestPIP29_JOB46_APullRequestThatOutlivesItsNamespaceIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	builder, _ := h.pipeline()
	p := builder.Build()
	w.Create(p)
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "git"}}, p,
	} {
		if err := w.Client().Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	testkit.EventuallyGone(t, w.APIServer, p)
	event := w.untilEventIn(metav1.NamespaceDefault, w.Namespace, pipeline.ReasonLeftOpen)
	for _, part := range []string{"pipeline p is deleted with its namespace", "pull-requests/1", "close it yourself"} {
		if event.Type != corev1.EventTypeWarning || event.InvolvedObject.Kind != "Namespace" || !strings.Contains(event.Message, part) {
			t.Errorf("the event does not tell of %q: %+v", part, event)
		}
	}
	h.expect(t, "open")
}

// Without the right to read namespaces, nobody is told which pull request stays; the deletion does not wait for it.
func TestPIP29_ADeletionDoesNotWaitForARight(t *testing.T) {
	t.Parallel()
	w, s := idleWorld(t), &spy{}
	s.refuse = "/api/v1/namespaces/" + w.Namespace
	w.runSpied(s)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	builder, _ := h.pipeline()
	p := builder.Build()
	w.Create(p)
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	w.Delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "git"}})
	w.Delete(p)
	testkit.EventuallyGone(t, w.APIServer, p)
	w.untilEvent("p", pipeline.ReasonLeftOpen)
	h.expect(t, "open")
}

// A user who filters events finds those of pipelines where the API's former controller put them.
func TestPIP21_EventsComeFromPipelineController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, _ := w.twoEnvironments()
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	w.untilEvent("p", "PromotionSucceeded")
	for _, selector := range []string{"source", "reportingComponent"} {
		var list corev1.EventList
		if err := w.Client().List(t.Context(), &list, client.InNamespace(w.Namespace), client.MatchingFields{selector: "pipeline-controller"}); err != nil {
			t.Fatal(err)
		}
		var reasons []string
		for _, event := range list.Items {
			reasons = append(reasons, event.Reason)
		}
		for _, reason := range []string{"Promote", "PromotionSucceeded", "RunStarted"} {
			if !slices.Contains(reasons, reason) {
				t.Errorf("%s=pipeline-controller selects %v, and not %s", selector, reasons, reason)
			}
		}
	}
}
