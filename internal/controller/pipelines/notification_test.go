// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
)

// receiver receives events like notification-controller, with answers that a test chooses.
type receiver struct {
	*httptest.Server
	mutex   sync.Mutex
	answers []int
	events  []event
}

type event struct {
	InvolvedObject struct{ Kind, Namespace, Name string }
	Severity       string
	Message        string
	Reason         string
	Metadata       map[string]string
}

// newReceiver answers with the given status codes, in order, and repeats the last one.
func newReceiver(t *testing.T, answers ...int) *receiver {
	r := &receiver{answers: answers}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		var e event
		if err := json.NewDecoder(request.Body).Decode(&e); err != nil || request.Method != http.MethodPost {
			t.Errorf("%s with a body that cannot be read: %v", request.Method, err)
		}
		r.events = append(r.events, e)
		w.WriteHeader(r.answers[min(len(r.events), len(r.answers))-1])
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) received() []event {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]event(nil), r.events...)
}

func TestPIP21_NotificationsReachFluxAndAreRetried(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusInternalServerError, http.StatusAccepted)
	w := newWorld(t, func(o *manager.Options) { o.Pipelines.EventsAddress = r.URL })
	builder, _ := w.twoEnvironments()
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionFailed)
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	promotion := p.Status.Environments["prod"].Promotion
	got := r.received()
	if len(got) != 2 || promotion.Attempts != 2 {
		t.Fatalf("%d events, %d attempts", len(got), promotion.Attempts)
	}
	last := got[1]
	about := last.InvolvedObject
	facts := []string{last.Severity, last.Reason, last.Message, about.Kind, about.Namespace, about.Name}
	want := []string{"info", "Promote", "Promote pipeline " + w.Namespace + "/p to prod with version 1.1.0", "Pipeline", w.Namespace, "p"}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Errorf("the event (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"environment":  "prod",
		"version":      "1.1.0",
		"revision":     "1.1.0",
		"promotion-id": promotion.Key,
		"token":        promotion.Key,
	} {
		if got := last.Metadata["pipelines.weave.works/"+key]; got != want {
			t.Errorf("metadata %s is %q, want %q", key, got, want)
		}
	}
	if messages := w.promoteEvents("p"); len(messages) != 1 || messages[0] != last.Message {
		t.Errorf("Kubernetes Events: %v", messages)
	}
}

func TestPIP21_WhatFluxHasTakenAlreadyIsDelivered(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusTooManyRequests)
	w := newWorld(t, func(o *manager.Options) { o.Pipelines.EventsAddress = r.URL })
	builder, at := w.twoEnvironments()
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	w.deploy(w.Client(), at[0], "1.2.0", true)
	w.untilState("p", "prod", "1.2.0", pipelines.PromotionSucceeded)
	got := r.received()
	if len(got) != 2 || got[0].Metadata["pipelines.weave.works/token"] == got[1].Metadata["pipelines.weave.works/token"] {
		t.Errorf("events %+v", got)
	}
}

func TestPIP21_AReceiverThatIsDownIsNamed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusAccepted)
	r.Close()
	w := newWorld(t, func(o *manager.Options) { o.Pipelines.EventsAddress = r.URL })
	builder, _ := w.twoEnvironments()
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionFailed)
	failed := p.Status.Environments["prod"].Promotion
	if failed.Error == nil || failed.Error.Permanent || !strings.Contains(failed.Error.Message, "send the event") {
		t.Errorf("error %+v", failed.Error)
	}
	if failed.NextAttemptTime == nil || !held(p, "prod", pipelines.HoldRetrying) {
		t.Errorf("next attempt %v, holds %+v", failed.NextAttemptTime, p.Status.Holds)
	}
}

// A receiver cannot make the controller call addresses that only the controller can reach.
func TestEventsAreNotSentWhereNothingIsDialled(t *testing.T) {
	t.Parallel()
	r := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect))
	t.Cleanup(r.Close)
	w := newWorld(t, func(o *manager.Options) { o.Pipelines.EventsAddress = r.URL })
	builder, _ := w.twoEnvironments()
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionFailed)
	if failed := p.Status.Environments["prod"].Promotion.Error; failed == nil ||
		!strings.Contains(failed.Message, "address 169.254.169.254 is rejected") {
		t.Errorf("error %+v", failed)
	}
}
