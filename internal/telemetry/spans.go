// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Span is a time interval of a run, with IDs derived from the job and the object. So all processes that work on a job, before and after
// restarts, contribute to one trace without communicating.
type Span struct {
	Name       string
	Trace      oteltrace.TraceID
	ID         oteltrace.SpanID
	Parent     oteltrace.SpanID
	Start, End time.Time
	Attributes []attribute.KeyValue
	// Failed is one word for the failure; empty if there was none.
	Failed string
}

// Spans returns what a run adds to the trace of its job: the run itself, and for a deploy item the deployer's own part and the wait for
// readiness. Runs of the continuous flow belong to no job and add nothing.
func (r Run) Spans() []Span {
	start := r.Triggered
	if start.IsZero() {
		start = r.Begun
	}
	if r.Job == "" || start.IsZero() || r.Ended.Before(start) {
		return nil
	}
	whole := Span{
		Name: r.Kind + " " + r.Key.Name, Trace: traceID(r.Job), ID: spanID(r.Job, r.UID, ""), Start: start, End: r.Ended,
		Attributes: []attribute.KeyValue{
			attribute.String("k8s.namespace.name", r.Key.Namespace),
			attribute.String("espalier.kind", r.Kind),
			attribute.String("espalier.name", r.Key.Name),
			attribute.String("espalier.job", r.Job),
			attribute.String("espalier.result", r.Result),
			attribute.String("espalier.controller", r.Controller),
		},
	}
	if r.Parent != "" {
		whole.Parent = spanID(r.Job, r.Parent, "")
	}
	if r.Result != string(lsv1alpha1.PhaseSucceeded) && r.Result != resultDeleted {
		whole.Failed = r.Result
		if r.Reason != "" {
			whole.Failed = r.Reason
		}
	}
	if r.Kind != kindDeployItem {
		return []Span{whole}
	}
	return append([]Span{whole}, r.parts(whole)...)
}

// parts returns the stages of a deploy item.
func (r Run) parts(whole Span) []Span {
	var parts []Span
	add := func(name string, from, to time.Time) {
		if !from.IsZero() && !to.Before(from) {
			parts = append(parts, Span{Name: name, Trace: whole.Trace, ID: spanID(r.Job, r.UID, name), Parent: whole.ID, Start: from, End: to})
		}
	}
	worked := r.Waited
	if worked.IsZero() {
		worked = r.Ended
	}
	add("apply", r.Begun, worked)
	add("readiness", r.Waited, r.Ended)
	return parts
}

// traceID returns the job ID itself if it is a UUID, like the ones that Espalier creates, otherwise a hash of it.
func traceID(job string) oteltrace.TraceID {
	if id, err := uuid.Parse(job); err == nil && id != uuid.Nil {
		return oteltrace.TraceID(id)
	}
	sum := sha256.Sum256([]byte(job))
	return oteltrace.TraceID(sum[:16])
}

func spanID(job string, uid types.UID, part string) oteltrace.SpanID {
	sum := sha256.Sum256([]byte(job + "/" + string(uid) + "/" + part))
	return oteltrace.SpanID(sum[:8])
}

// tracer receives spans; nil discards them.
var tracer atomic.Pointer[oteltrace.Tracer]

// UseTracer sends the spans of all runs to a tracer, whose provider must use IDs as its generator. The tracer must not block.
func UseTracer(t oteltrace.Tracer) { tracer.Store(&t) }

// trace sends the spans of a run.
func trace(r Run) {
	t := tracer.Load()
	if t == nil {
		return
	}
	for _, s := range r.Spans() {
		s.send(*t)
	}
}

func (s Span) send(t oteltrace.Tracer) {
	ctx := context.WithValue(context.Background(), idsKey{}, s)
	if s.Parent.IsValid() {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
			TraceID: s.Trace, SpanID: s.Parent, TraceFlags: oteltrace.FlagsSampled, Remote: true,
		}))
	}
	_, span := t.Start(ctx, s.Name, oteltrace.WithTimestamp(s.Start), oteltrace.WithAttributes(s.Attributes...))
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
	}
	span.End(oteltrace.WithTimestamp(s.End))
}

type idsKey struct{}

// IDs gives spans of runs their own IDs, and all others random ones. It is the IDGenerator of a provider.
type IDs struct{}

// NewIDs returns the IDs of a span without a parent.
func (IDs) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	if s, ok := ctx.Value(idsKey{}).(Span); ok {
		return s.Trace, s.ID
	}
	var id oteltrace.TraceID
	_, _ = rand.Read(id[:]) // It never fails.
	return id, randomSpan()
}

// NewSpanID returns the ID of a span with a parent.
func (IDs) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	if s, ok := ctx.Value(idsKey{}).(Span); ok {
		return s.ID
	}
	return randomSpan()
}

func randomSpan() oteltrace.SpanID {
	var id oteltrace.SpanID
	_, _ = rand.Read(id[:]) // It never fails.
	return id
}
