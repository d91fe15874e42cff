// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/decision"
	"espalier.dev/internal/telemetry"
)

// pass is one reconciliation of one object: as many decisions as can be made without waiting.
type pass[T client.Object, O any, P ~string, E any] struct {
	loop *Loop[T, O, P, E]
	// object belongs to the pass; stored is its status as the API server has it.
	object      T
	stored      []byte
	last        decision.Of[P, E]
	transitions []Transition[P]
	// mark detects whether a run has ended since, and ended are those that have.
	mark  telemetry.Mark
	ended []telemetry.Run
	// err is what ended the pass early. A conflict is not an error but a reason for another pass.
	err      error
	conflict bool
}

func newPass[T client.Object, O any, P ~string, E any](l *Loop[T, O, P, E], object T) *pass[T, O, P, E] {
	p := &pass[T, O, P, E]{loop: l, object: object, mark: telemetry.MarkOf(object)}
	p.stored = p.status()
	return p
}

func (p *pass[T, O, P, E]) run(ctx context.Context) {
	kind := p.loop.Kind
	observed, err := kind.Observe(ctx, p.object, p.loop.Clock.Now())
	if err != nil {
		p.fail(ctx, observed, decision.Of[P, E]{}, fmt.Errorf("observe: %w", err))
		return
	}
	learner, learns := kind.(Learner[T, O])
	for range maxSteps {
		if learns {
			observed = learner.Learn(ctx, p.object, observed)
		}
		p.last = kind.Decide(observed)
		var ok bool
		if observed, ok = p.step(ctx, observed, p.last); !ok || p.last.Wait {
			return
		}
	}
	err = fmt.Errorf("no end after %d decisions; the last was %q (%s): this is a bug in the controller",
		maxSteps, p.last.Why.Code, p.last.Why.Message)
	p.fail(ctx, observed, decision.Of[P, E]{}, err)
}

// step executes one decision and reports whether it succeeded.
func (p *pass[T, O, P, E]) step(ctx context.Context, observed O, d decision.Of[P, E]) (O, bool) {
	if d.SaveFirst || d.ForceStatusWrite {
		if err := p.save(ctx, d.ForceStatusWrite); err != nil {
			p.interrupt(ctx, err)
			return observed, false
		}
	}
	for _, effect := range d.Do {
		after, err := p.loop.Kind.Act(ctx, p.object, observed, effect)
		if isConflict(err) || ctx.Err() != nil {
			p.interrupt(ctx, cmp.Or(err, ctx.Err()))
			return observed, false
		}
		if err != nil {
			p.fail(ctx, observed, d, fmt.Errorf("%s: %w", describe(effect), err))
			return observed, false
		}
		observed = after
	}
	return p.settle(observed, d, nil), true
}

// interrupt ends the pass without recording an error in the status: the view was stale or the process is stopping. The results of earlier
// steps of the pass are still stored.
func (p *pass[T, O, P, E]) interrupt(ctx context.Context, err error) {
	switch {
	case isConflict(err):
		p.conflict = true
	case ctx.Err() != nil:
		p.err = ctx.Err() // it is too late to find out what must be masked
	default:
		p.err = p.loop.tellable(ctx, p.object, err)
	}
}

// fail settles a decision that an error has ended. The message of the decision may quote the error, so the masked error replaces it.
func (p *pass[T, O, P, E]) fail(ctx context.Context, observed O, d decision.Of[P, E], err error) {
	err = p.loop.tellable(ctx, p.object, err)
	if d.Why.Message != "" {
		d.Why.Message = err.Error()
	}
	p.settle(observed, d, err)
}

func (p *pass[T, O, P, E]) settle(observed O, d decision.Of[P, E], err error) O {
	kind := p.loop.Kind
	from := kind.Phase(p.object)
	observed = kind.Settle(p.object, observed, d, err)
	if to := kind.Phase(p.object); to != from {
		p.transitions = append(p.transitions, Transition[P]{From: from, To: to, Why: d.Why})
	}
	if run, ended := telemetry.Ended(p.loop.Name, p.mark, p.object, p.loop.Clock.Now()); ended {
		p.ended = append(p.ended, run)
	}
	p.mark = telemetry.MarkOf(p.object)
	p.err = err
	return observed
}

// save writes the status if it differs from what is stored, or in any case if proof is set, since an accepted write proves that the object
// was read in its newest version.
func (p *pass[T, O, P, E]) save(ctx context.Context, proof bool) error {
	if gone(p.object) {
		p.loop.statuses.forget(client.ObjectKeyFromObject(p.object))
		return nil
	}
	status := p.status()
	patch, err := statusPatch(p.object, p.stored, status)
	if err != nil {
		return err
	}
	if patch == nil && !proof {
		return nil
	}
	if patch == nil {
		patch = lockedPatch(p.object, []byte("{}"))
	}
	return p.write(ctx, patch, status)
}

// changed reports whether the status differs from what is stored.
func (p *pass[T, O, P, E]) changed() bool {
	return !gone(p.object) && !bytes.Equal(p.stored, p.status())
}

func (p *pass[T, O, P, E]) write(ctx context.Context, patch, status []byte) error {
	key := client.ObjectKeyFromObject(p.object)
	p.loop.statuses.writing(key, status)
	answer, err := PatchStatus(ctx, p.loop.Writer, p.object, patch)
	if apierrors.IsNotFound(err) {
		p.loop.statuses.forget(key)
		return nil
	}
	if err != nil {
		return err
	}
	p.object.SetResourceVersion(answer.GetResourceVersion())
	p.stored = status
	p.loop.countWrite()
	return nil
}

func (p *pass[T, O, P, E]) status() []byte {
	return mustJSON(p.loop.Kind.Status(p.object))
}

// mustJSON panics only if a type cannot be marshalled at all, which no input can cause.
func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", value, err))
	}
	return text
}

// statusPatch returns the locked merge patch from before to after; nil if they are equal.
func statusPatch(object client.Object, before, after []byte) ([]byte, error) {
	if bytes.Equal(before, after) {
		return nil, nil
	}
	diff, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("compute the status patch: %w", err)
	}
	return lockedPatch(object, diff), nil
}

func lockedPatch(object client.Object, status []byte) []byte {
	return mustJSON(map[string]any{
		"metadata": map[string]string{"resourceVersion": object.GetResourceVersion()},
		"status":   json.RawMessage(status),
	})
}

// gone reports whether the API server has removed the object, because its last finalizer was removed.
func gone(object client.Object) bool {
	return !object.GetDeletionTimestamp().IsZero() && len(object.GetFinalizers()) == 0
}

// describe names an effect in errors: by its String method if it has one, otherwise by its type.
func describe(effect any) string {
	if s, ok := effect.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", effect)
}
