// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

// NeedsSource reports whether the next decision needs the facts about the source.
func NeedsSource(o Observed) bool {
	return o.Source == nil && !o.Deleting && o.Finalizer && refusal(o) == nil
}

// Decide returns what to do next for a TargetSync.
func Decide(o Observed) Decision {
	if o.Deleting {
		return retire(o)
	}
	if !o.Finalizer {
		return Decision{Do: []Effect{AddFinalizer{}}}
	}
	if err := refusal(o); err != nil {
		return conclude(o, err)
	}
	if o.Source == nil {
		return conclude(o, obstacle(ReasonFailed, errors.New("the source has not been read")))
	}
	if o.Source.Err != nil {
		// A user may fix a Secret or a cluster without changing the TargetSync.
		return conclude(o, failure.NewRetryable(failure.DetailsOf(o.Source.Err), o.Source.Err))
	}
	if effect := rotate(o); effect != nil {
		return Decision{Do: []Effect{effect}}
	}
	pairs, problems := wanted(o)
	if do := writes(o, pairs); len(do) > 0 {
		return Decision{Do: do}
	}
	problems = append(problems, failures(o)...)
	if len(problems) == 0 {
		if do := removals(o, func(name string) bool { return pairs[name] != nil }); len(do) > 0 {
			return Decision{Do: do}
		}
	}
	return conclude(o, join(problems))
}

// refusal returns why the TargetSync is not synchronised at all.
func refusal(o Observed) error {
	if err := Check(o.Spec); err != nil {
		return err
	}
	if len(o.Others) > 0 {
		return obstacle(ReasonNotAlone, fmt.Errorf(
			"the namespace has another TargetSync, %s, so neither is processed: keep one", strings.Join(o.Others, ", ")))
	}
	return nil
}

// rotate returns the next effect for the rotation of the token; nil if there is none.
func rotate(o Observed) Effect {
	if o.Spec.TokenRotation == nil || !o.Spec.TokenRotation.Enabled || o.Failed[rotation] != nil {
		return nil
	}
	if o.RotationAsked && o.RotationSeen.IsZero() {
		return SeeRotation{}
	}
	last := plausible(rotated(o), o.Now)
	asked := o.RotationAsked && o.Source.Rotated.Before(o.RotationSeen)
	if asked || last.IsZero() || o.Now.Sub(last) > RotateAfter {
		return Rotate{At: latest(o.Now, o.RotationSeen)}
	}
	return nil
}

// latest ensures that a rotation is not earlier than its request, despite clock skew between machines.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// plausible returns zero for a time in the future, which is wrong.
func plausible(at, now time.Time) time.Time {
	if at.After(now.Add(time.Hour)) {
		return time.Time{}
	}
	return at
}

// rotated returns when the token was last replaced: the time in the Secret may not be in the status yet.
func rotated(o Observed) time.Time {
	if o.Source != nil && o.Source.Rotated.After(o.LastRotation) {
		return o.Source.Rotated
	}
	return o.LastRotation
}

// rotationDone reports whether the request for another token has been executed and can be removed.
func rotationDone(o Observed) bool {
	return o.RotationAsked && !o.RotationSeen.IsZero() && o.Source != nil && !o.Source.Rotated.Before(o.RotationSeen)
}

// conclude ends a synchronisation. It removes requests even after an error, because retries need no request.
func conclude(o Observed, err error) Decision {
	if done := rotationDone(o); o.Asked || done {
		// The status is saved first: it shows when the token was replaced.
		return Decision{Do: []Effect{Hear{Rotation: done}}, SaveFirst: true}
	}
	if err != nil {
		return Decision{
			Do: []Effect{Refuse{Err: err}}, Next: Failing, Wait: true, Why: decision.Reason{Code: ReasonFailed, Message: err.Error()},
		}
	}
	return Decision{
		Next: Synchronised, Wait: true, RequeueAfter: untilNext(o),
		Why: decision.Reason{Code: string(Synchronised), Message: told(o)},
	}
}

// told returns the result of a successful synchronisation.
func told(o Observed) string {
	count := 0
	for _, target := range o.Targets {
		if target.Ours {
			count++
		}
	}
	if count == 1 {
		return "1 Target is up to date"
	}
	return fmt.Sprintf("%d Targets are up to date", count)
}

// untilNext returns the time until the next synchronisation: the interval, or less if credentials of a shoot must be renewed earlier.
func untilNext(o Observed) time.Duration {
	next := Interval
	if o.Source == nil {
		return next
	}
	for _, name := range o.Source.Shoots {
		if due := o.Secrets[name].Synced.Add(RenewAfter).Sub(o.Now); due > 0 {
			next = min(next, due)
		}
	}
	return next
}

// retire deletes everything that was created. It does not need the source, which may no longer exist.
func retire(o Observed) Decision {
	if !o.Finalizer {
		return Decision{Wait: true, Why: decision.Reason{Code: "Deleted", Message: "waiting for other clients to remove their finalizers"}}
	}
	problems := failures(o)
	if do := removals(o, func(string) bool { return false }); len(do) > 0 {
		return Decision{Do: do}
	}
	if len(problems) > 0 {
		return conclude(o, join(problems))
	}
	return Decision{
		Do: []Effect{RemoveFinalizer{}}, Wait: true,
		Why: decision.Reason{Code: "Deleted", Message: "everything it created is deleted"},
	}
}

// removals deletes objects that are ours and no longer wanted, Secrets before Targets, and never the Secret of the source. While there are
// other TargetSyncs, it keeps the objects that they or Landscaper have created.
func removals(o Observed, keep func(name string) bool) []Effect {
	leave := func(name, by string) bool {
		return keep(name) || by != o.Name && len(o.Others) > 0 || o.Failed[name] != nil
	}
	var do []Effect
	for _, name := range slices.Sorted(maps.Keys(o.Secrets)) {
		if secret := o.Secrets[name]; !leave(name, secret.By) && name != o.Spec.SecretRef.Name {
			do = append(do, RemoveSecret{Name: name, UID: secret.UID})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Targets)) {
		if target := o.Targets[name]; !leave(name, target.By) && target.Ours {
			do = append(do, RemoveTarget{Name: name, UID: target.UID})
		}
	}
	return do
}

// failures returns all errors, in a stable order.
func failures(o Observed) []error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(o.Failed)) {
		problems = append(problems, o.Failed[name])
	}
	return problems
}

// join combines several errors into one. It is always retried: the source or the cluster may change.
func join(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	return obstacle(ReasonFailed, errors.Join(problems...))
}
