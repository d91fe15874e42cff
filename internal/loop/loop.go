// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/run"
	"espalier.dev/internal/tenancy"
)

// Kind is what a kind implements for the loop: T is the API type, O its facts, P its phases, E its effects.
type Kind[T client.Object, O any, P ~string, E any] interface {
	// Observe reads everything that a decision may depend on. On error, it also returns the facts that are known about the object itself, so
	// that Settle can record the error.
	Observe(ctx context.Context, object T, now time.Time) (O, error)
	// Decide is pure and total.
	Decide(observed O) decision.Of[P, E]
	// Act executes one effect and returns the facts afterwards. It may change the metadata of object with PatchMetadata, but never its
	// status.
	Act(ctx context.Context, object T, observed O, effect E) (O, error)
	// Settle is pure: it writes the outcome of a decision to the status of object and returns the facts afterwards. A non-nil error was
	// returned by Observe or by one of the effects; the decision is zero if it was Observe.
	Settle(object T, observed O, d decision.Of[P, E], err error) O
	// Phase returns the phase in the status, empty for kinds without phases.
	Phase(object T) P
	// Status returns a pointer to the status of object.
	Status(object T) any
}

// Learner is a kind with facts that are costly to read.
type Learner[T client.Object, O any] interface {
	// Learn reads the costly facts that the next decision depends on and that were not read yet. It is called before each decision. A failure
	// to read is a fact as well: the decision handles it.
	Learn(ctx context.Context, object T, observed O) O
}

// maxSteps limits the decisions of one pass. A kind that never waits is a programming error; it must not occupy a worker forever.
const maxSteps = 32

// Loop reconciles one kind. Fields are set before the first use and not changed later.
type Loop[T client.Object, O any, P ~string, E any] struct {
	// Name is the name of the kind in logs, metrics and events, for example "installation".
	Name string
	Kind Kind[T, O, P, E]
	// New returns an empty object to read into.
	New func() T
	// Reader reads the object itself: from the cache, but nothing older than what Writer has written.
	Reader client.Reader
	// Writer writes its status.
	Writer client.Client
	Clock  clock.PassiveClock
	// Announce is called for each pass that changed a phase, after the write. Optional.
	Announce func(ctx context.Context, news News[T, P])
	// Confidential returns the values that an error about object must not show. It is called only if there is an error. Optional; text that
	// foreign errors quote is omitted in any case.
	Confidential func(ctx context.Context, object T) *masking.Values

	// tenancy determines with whose rights a pass runs; Controller sets it.
	tenancy *tenancy.Strict

	// division is nil if this process does all of the work.
	division  Division
	statuses  statuses
	lags      lags
	conflicts lazyBackoff
	waits     waits
}

// Reconcile makes one pass over one object.
func (l *Loop[T, O, P, E]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	object := l.New()
	if err := l.Reader.Get(ctx, req.NamespacedName, object); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, fmt.Errorf("read %s %s: %w", l.Name, req.NamespacedName, err)
		}
		l.forget(req)
		return reconcile.Result{}, nil
	}
	if mine, err := l.own(ctx, object); err != nil || !mine {
		return reconcile.Result{}, err
	}
	ctx = l.tenancy.Enter(ctx, object)
	p := newPass(l, object)
	p.run(ctx)
	return l.conclude(ctx, req, p)
}

// forget drops everything that is recorded about an object.
func (l *Loop[T, O, P, E]) forget(req reconcile.Request) {
	l.statuses.forget(req.NamespacedName)
	l.lags.end(req)
	l.waits.end(req)
	l.conflicts.get().Forget(req)
}

// tellable returns an error without secrets, for the status, events and logs. Every error of a pass goes through it before it is used.
func (l *Loop[T, O, P, E]) tellable(ctx context.Context, object T, err error) error {
	if err == nil {
		return nil
	}
	err = tenancy.Explain(ctx, err)
	var secrets *masking.Values
	if l.Confidential != nil {
		secrets = l.Confidential(ctx, object)
	}
	return secrets.Error(err)
}

// conclude stores the result of the pass, announces it, and returns when the next pass is due.
func (l *Loop[T, O, P, E]) conclude(ctx context.Context, req reconcile.Request, p *pass[T, O, P, E]) (reconcile.Result, error) {
	if wait := l.lagging(req, p); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	stored := p.save(ctx, false)
	if stored == nil {
		l.announce(ctx, p)
	}
	switch {
	case p.conflict || isConflict(stored):
		l.count(outcomeConflict)
		return reconcile.Result{RequeueAfter: l.conflicts.get().When(req)}, nil
	case stored != nil:
		l.count(outcomeRetry)
		err := errors.Join(p.err, l.tellable(ctx, p.object, stored))
		return reconcile.Result{}, fmt.Errorf("store the status of %s %s: %w", l.Name, req.NamespacedName, err)
	}
	l.conflicts.get().Forget(req)
	if failure.KindOf(p.err) != failure.Waiting {
		l.waits.end(req)
	}
	if p.err == nil {
		l.count(outcomeSettled)
		return reconcile.Result{RequeueAfter: p.last.RequeueAfter}, nil
	}
	return l.concludeError(ctx, req, p)
}

func (l *Loop[T, O, P, E]) concludeError(ctx context.Context, req reconcile.Request, p *pass[T, O, P, E]) (reconcile.Result, error) {
	switch failure.KindOf(p.err) {
	case failure.Terminal:
		l.count(outcomeFailed)
		log.FromContext(ctx).Info("Failed", "kind", l.Name, "phase", l.Kind.Phase(p.object), "error", p.err.Error())
		return reconcile.Result{RequeueAfter: afterEnd(len(p.transitions))}, nil
	case failure.Waiting:
		l.count(outcomeWaiting)
		return reconcile.Result{RequeueAfter: l.untilEndOf(req, p.err)}, nil
	default:
		l.count(outcomeRetry)
		return l.retry(ctx, p.err)
	}
}

// retry repeats a pass with backoff, or at the time that the error names: users see that time, so it must be correct.
func (l *Loop[T, O, P, E]) retry(ctx context.Context, err error) (reconcile.Result, error) {
	at := failure.NextAttempt(err)
	if at.IsZero() {
		return reconcile.Result{}, err
	}
	log.FromContext(ctx).Info("Retrying later", "kind", l.Name, "at", at.UTC().Format(time.RFC3339), "error", err.Error())
	return reconcile.Result{RequeueAfter: max(retryBase, at.Sub(l.Clock.Now()))}, nil
}

// afterEnd returns when to recheck an object that has failed permanently. If that has just ended a run, a request made meanwhile may start
// now, or a next run may be due later: only another pass can determine that.
func afterEnd(transitions int) time.Duration {
	if transitions == 0 {
		return 0
	}
	return time.Millisecond
}

// untilEndOf returns when to recheck an object that waits because of an error of that kind, in case the expected event does not arrive:
// with backoff, and no later than the end of the wait.
func (l *Loop[T, O, P, E]) untilEndOf(req reconcile.Request, err error) time.Duration {
	now := l.Clock.Now()
	recheck := run.Recheck(l.waits.since(req, now), now)
	wait, ok := failure.AsWait(err)
	if !ok || wait.Until.IsZero() {
		return recheck
	}
	return max(time.Millisecond, min(recheck, wait.Until.Sub(now)))
}

func isConflict(err error) bool { return err != nil && apierrors.IsConflict(err) }
