// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

// Transition is one step between phases.
type Transition[P ~string] struct {
	From, To P
	Why      decision.Reason
}

// News is what one status write changed.
type News[T client.Object, P ~string] struct {
	Object T
	// Transitions of the pass in order, at least one.
	Transitions []Transition[P]
	// Err is the error that ended the pass, nil if it went well.
	Err error
}

// EventsTo announces each write as one Event: its reason is the phase that was reached, its note names the phases on
// the way and why. One Event for several phases keeps the costs of a pass at one write.
func EventsTo[T client.Object, P ~string](recorder events.EventRecorder) func(context.Context, News[T, P]) {
	return func(_ context.Context, news News[T, P]) {
		last := news.Transitions[len(news.Transitions)-1]
		eventType, note := corev1.EventTypeNormal, last.Why.Message
		if news.Err != nil {
			note = news.Err.Error()
			if failure.KindOf(news.Err) == failure.Terminal {
				eventType = corev1.EventTypeWarning
			}
		}
		recorder.Eventf(news.Object, nil, eventType, string(last.To), "Reconcile", "%s", shorten(route(news.Transitions)+": "+note))
	}
}

// route is "Init, ObjectsCreated, Progressing".
func route[P ~string](transitions []Transition[P]) string {
	names := make([]string, len(transitions))
	for i, t := range transitions {
		names[i] = string(t.To)
	}
	return strings.Join(names, ", ")
}

// maxNote is the limit of the API for the note of an Event, in bytes.
const maxNote = 1024

func shorten(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-3], "") + "..."
}

func (l *Loop[T, O, P, E]) announce(ctx context.Context, p *pass[T, O, P, E]) {
	if len(p.transitions) == 0 {
		return
	}
	span := trace.SpanFromContext(ctx)
	for _, t := range p.transitions {
		span.AddEvent(string(t.To), trace.WithAttributes(attribute.String("reason", t.Why.Code)))
	}
	if l.Announce != nil {
		l.Announce(ctx, News[T, P]{Object: p.object, Transitions: p.transitions, Err: p.err})
	}
}

// startSpan begins the span of one pass. Without a configured tracer provider it costs nothing.
func (l *Loop[T, O, P, E]) startSpan(ctx context.Context, req reconcile.Request) (context.Context, trace.Span) {
	return otel.Tracer("espalier.dev/internal/loop").Start(ctx, l.Name+" pass", trace.WithAttributes(
		attribute.String("k8s.namespace.name", req.Namespace), attribute.String("espalier.name", req.Name)))
}
