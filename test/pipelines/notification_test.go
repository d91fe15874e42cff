// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
)

// fluxEvent is what notification-controller reads.
type fluxEvent struct {
	InvolvedObject struct{ APIVersion, Kind, Namespace, Name, UID string }
	Severity       string
	Message        string
	Reason         string
	Metadata       map[string]string
}

// receiver takes events as notification-controller does, with the answers of the test; the last one is repeated.
type receiver struct {
	mutex   sync.Mutex
	answers []int
	events  []fluxEvent
	strange []string
}

func (r *receiver) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var event fluxEvent
	err := json.NewDecoder(request.Body).Decode(&event)
	if err != nil || request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/json" {
		r.strange = append(r.strange, request.Method+" "+request.URL.Path)
	}
	r.events = append(r.events, event)
	answer.WriteHeader(r.answers[0])
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
}

func (r *receiver) received() ([]fluxEvent, []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.events), slices.Clone(r.strange)
}

// newReceiver runs a receiver and a world that sends events to it.
func newReceiver(t *testing.T, answers ...int) (*receiver, *world) {
	t.Helper()
	r := &receiver{answers: answers}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, newWorld(t, func(o *manager.Options) { o.Pipelines.EventsAddress = server.URL + "/" })
}

// passedOn is what notification-controller leaves of the metadata of an event: keys with the group of the object before them, without it,
// and not the token.
func passedOn(event fluxEvent) map[string]string {
	group, _, _ := strings.Cut(event.InvolvedObject.APIVersion, "/")
	left := map[string]string{}
	for key, value := range event.Metadata {
		if name, ours := strings.CutPrefix(key, group+"/"); ours && name != "token" {
			left[name] = value
		}
	}
	return left
}

func TestPIP21_AnEventTellsWhatIsPromoted(t *testing.T) {
	t.Parallel()
	r, w := newReceiver(t, http.StatusAccepted)
	builder, _, prod := w.pair("app")
	w.create(builder.Notification().Build())
	promotion := w.untilState("app", "prod", "1.1.0", pipelines.PromotionSucceeded)
	events, strange := r.received()
	if len(events) != 1 || len(strange) > 0 {
		t.Fatalf("received %+v and %q, want one event", events, strange)
	}
	event := events[0]
	if event.Message != "Promote pipeline "+w.namespace+"/app to prod with version 1.1.0" || event.Reason != "Promote" || event.Severity != "info" {
		t.Errorf("the event is %+v", event)
	}
	if about := event.InvolvedObject; about.Kind != "Pipeline" || about.Namespace != w.namespace || about.Name != "app" || about.UID == "" {
		t.Errorf("the event is about %+v", about)
	}
	want := map[string]string{"environment": "prod", "version": "1.1.0", "revision": "1.1.0", "promotion-id": promotion.Key}
	if diff := cmp.Diff(want, passedOn(event)); diff != "" {
		t.Errorf("passed on is (-want +got):\n%s", diff)
	}
	if event.Metadata["pipelines.weave.works/token"] == "" {
		t.Errorf("without a token a later run would look like a repetition: %v", event.Metadata)
	}
	w.runs(prod, "1.1.0")
	w.untilComplete("app", "1.1.0")
	w.expectEvents("app", event.Message)
}

// expectEvents compares the messages of the Events by which a pipeline has promoted.
func (w *world) expectEvents(name string, want ...string) {
	w.Helper()
	var list corev1.EventList
	if err := w.cluster.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	var got []string
	for _, event := range list.Items {
		if event.InvolvedObject.Name == name && event.Reason == "Promote" {
			got = append(got, event.Message)
		}
	}
	if !slices.Equal(got, want) {
		w.Errorf("the Events are %q, want %q", got, want)
	}
}

// notification-controller answers like that to an event which it has had before.
func TestPIP21_AnEventThatIsThereAlreadyIsDelivered(t *testing.T) {
	t.Parallel()
	r, w := newReceiver(t, http.StatusTooManyRequests)
	builder, _, _ := w.pair("app")
	w.create(builder.Notification().Build())
	promotion := w.untilState("app", "prod", "1.1.0", pipelines.PromotionSucceeded)
	if events, _ := r.received(); len(events) != 1 || promotion.Attempts != 1 {
		t.Errorf("%d events in %d attempts", len(events), promotion.Attempts)
	}
}

func TestPIP21_AnEventThatIsRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	r, w := newReceiver(t, http.StatusServiceUnavailable, http.StatusAccepted)
	builder, _, _ := w.pair("app")
	w.create(builder.Notification().Build())
	failed := w.untilState("app", "prod", "1.1.0", pipelines.PromotionFailed)
	if failed.Error == nil || failed.Error.Permanent || !strings.Contains(failed.Error.Message, "503") || failed.NextAttemptTime == nil {
		t.Errorf("after the refusal the promotion is %+v", failed)
	}
	// Nobody has to wait for the next attempt who can ask for it.
	w.ask("app", map[string]string{"id": "again", "action": "retry", "environment": "prod", "revision": "1.1.0", "by": "ann"})
	w.untilState("app", "prod", "1.1.0", pipelines.PromotionSucceeded)
	events, _ := r.received()
	if len(events) != 2 || events[0].Metadata["pipelines.weave.works/token"] != events[1].Metadata["pipelines.weave.works/token"] {
		t.Errorf("received %+v, want the same event twice", events)
	}
	w.expectEvents("app", events[0].Message)
}
