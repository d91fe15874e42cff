// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/telemetry"
)

// Transition is one step between phases.
type Transition[P ~string] struct {
	From, To P
	Why      decision.Reason
}

// News describes what one status write changed.
type News[T client.Object, P ~string] struct {
	Object T
	// Transitions are those of the pass in order, at least one.
	Transitions []Transition[P]
	// Err is the error that ended the pass, nil if there was none.
	Err error
}

//espalier:rights installations,executions,deployitems,targetsyncs,pipelines,deployer-*
//	create,patch events.events.k8s.io: Events report what has happened; repeated ones are counted

// EventsTo announces each write as one Event: its reason is the phase that was reached, its note names the phases on the way and the cause.
// Success is reported up to two seconds late, so that a run that ends by then takes one Event instead of two; failure is reported at once.
// A failed run is a warning, whether an error or a decision ended it, and so is a run that is blocked.
func EventsTo[T client.Object, P ~string](recorder events.EventRecorder) func(context.Context, News[T, P]) {
	h := &held[T, P]{recorder: recorder, news: map[types.UID]News[T, P]{}}
	return h.announce
}

// held is news that may be reported together with later news.
type held[T client.Object, P ~string] struct {
	recorder events.EventRecorder
	mu       sync.Mutex
	news     map[types.UID]News[T, P]
}

func (h *held[T, P]) announce(_ context.Context, news News[T, P]) {
	uid := news.Object.GetUID()
	h.mu.Lock()
	before, waiting := h.news[uid]
	news.Transitions = append(before.Transitions, news.Transitions...)
	h.news[uid] = news
	h.mu.Unlock()
	switch {
	case news.Err != nil || ended(news):
		h.tell(uid)
	case !waiting:
		time.AfterFunc(maxLag, func() { h.tell(uid) })
	}
}

// ended reports whether the news ends a run. Final phases are the same for all kinds that have any.
func ended[T client.Object, P ~string](news News[T, P]) bool {
	return lsv1alpha1.Phase(news.Transitions[len(news.Transitions)-1].To).IsFinal()
}

// tell reports the held news of an object, unless that was already done.
func (h *held[T, P]) tell(uid types.UID) {
	h.mu.Lock()
	news, found := h.news[uid]
	delete(h.news, uid)
	h.mu.Unlock()
	if !found {
		return
	}
	last := news.Transitions[len(news.Transitions)-1]
	eventType, note := corev1.EventTypeNormal, last.Why.Message
	if news.Err != nil {
		note = news.Err.Error()
	}
	if hasFailed(lsv1alpha1.Phase(last.To)) || worthAWarning(news.Err) {
		eventType = corev1.EventTypeWarning
	}
	h.recorder.Eventf(news.Object, nil, eventType, string(last.To), "Reconcile", "%s", Note(route(news.Transitions)+": "+note))
}

// worthAWarning reports whether a user may have to act on an error: it ends the run, or something that the run requires is missing or
// denied, such as an import that does not exist.
func worthAWarning(err error) bool {
	return err != nil && (failure.KindOf(err) == failure.Terminal || failure.IsObstacle(err))
}

func hasFailed(phase lsv1alpha1.Phase) bool {
	return phase == lsv1alpha1.PhaseFailed || phase == lsv1alpha1.PhaseDeleteFailed
}

// route returns the phases, as in "Init, ObjectsCreated, Progressing".
func route[P ~string](transitions []Transition[P]) string {
	names := make([]string, len(transitions))
	for i, t := range transitions {
		names[i] = string(t.To)
	}
	return strings.Join(names, ", ")
}

// maxNote is the limit of the API for the note of an Event, in bytes.
const maxNote = 1024

// Note truncates a text to the size limit of an Event.
func Note(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-3], "") + "..."
}

func (l *Loop[T, O, P, E]) announce(ctx context.Context, p *pass[T, O, P, E]) {
	telemetry.Record(p.ended...)
	if l.Announce != nil && len(p.transitions) > 0 {
		l.Announce(ctx, News[T, P]{Object: p.object, Transitions: p.transitions, Err: p.err})
	}
}
