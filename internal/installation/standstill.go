// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/run"
)

// A tree stands still if nothing below is in progress and all busy objects only wait for siblings that failed or were aborted. Without a
// change by a user, nothing continues; so these children may be written, because otherwise no corrected spec would reach them.

// stuckOnes names the nested installations that wait for a failed or aborted sibling, directly or through others that wait, and those that
// report that they stand still.
func stuckOnes(parent *lsv1alpha1.Installation, subs []*lsv1alpha1.Installation) map[string]bool {
	stuck, ended, siblings := map[string]bool{}, map[string]bool{}, []dataflow.Sibling{}
	waits := false
	for _, sub := range subs {
		siblings = append(siblings, dataflow.Sibling{Name: sub.Name, Imports: sub.Spec.Imports, Exports: sub.Spec.Exports})
		ended[sub.Name] = endedBadly(sub)
		stuck[sub.Name] = StandsStill(sub)
		waits = waits || sub.Status.Phase == lsv1alpha1.PhasePendingDependencies
	}
	if !waits {
		return stuck
	}
	related, err := dataflow.NewSiblings(dataflow.Scope{Namespace: parent.Namespace, Parent: parent.Name}, siblings)
	if err != nil {
		return stuck // It is unknown which one waits for which.
	}
	for grown := true; grown; {
		grown = false
		for _, sub := range subs {
			hopeless := func(name string) bool { return ended[name] || stuck[name] }
			if sub.Status.Phase == lsv1alpha1.PhasePendingDependencies && !stuck[sub.Name] &&
				slices.ContainsFunc(related.Predecessors(sub.Name), hopeless) {
				stuck[sub.Name], grown = true, true
			}
		}
	}
	return stuck
}

func endedBadly(sub *lsv1alpha1.Installation) bool {
	phase := sub.Status.Phase
	return (phase == lsv1alpha1.PhaseFailed || phase == lsv1alpha1.PhaseAborted) && sub.Generation == sub.Status.ObservedGeneration
}

// StandsStill reports whether an installation reports that nothing below it continues by itself.
func StandsStill(sub *lsv1alpha1.Installation) bool {
	status := &sub.Status
	return status.Phase == lsv1alpha1.PhaseProgressing && sub.Generation == status.ObservedGeneration &&
		run.ReadyReason(&status.RunStatus) == run.ReasonStandstill
}

// standstill reports whether all busy children only wait for siblings that do not continue.
func (o Observed) standstill() bool {
	busy := filter(o.below(), Child.Busy)
	return len(busy) > 0 && len(filter(busy, o.stuck)) == len(busy)
}

func (o Observed) stuck(c Child) bool {
	return c.Kind == ChildInstallation && c.Presence == Present && !c.Deleting && o.Stuck[c.Name]
}

// standsStill reports whether a child that stands still has something below it that can be retried.
func (o Observed) standsStill(c Child) bool {
	return o.stuck(c) && c.Phase == lsv1alpha1.PhaseProgressing && c.UpToDate && !run.Asked(c.Operation)
}

// busy returns the children that must not be touched: none at a standstill.
func (o Observed) busy() []Child {
	if o.standstill() {
		return nil
	}
	return filter(o.below(), Child.Busy)
}

// deadlock describes what stands still and how to end that. If an object waits for a sibling that itself stands still, that sibling is the
// cause.
func (o Observed) deadlock() string {
	all := o.below()
	ended := filter(all, func(c Child) bool {
		return !c.Busy() && (c.Phase == lsv1alpha1.PhaseFailed || c.Phase == lsv1alpha1.PhaseAborted)
	})
	var causes []string
	if len(ended) > 0 {
		causes = append(causes, problems(ended))
	}
	if still := filter(all, func(c Child) bool { return c.Busy() && c.Phase == lsv1alpha1.PhaseProgressing }); len(still) > 0 {
		causes = append(causes, "standstill in "+listed(still))
	}
	what := list(causes)
	if waiting := filter(all, func(c Child) bool { return c.Busy() && c.Phase != lsv1alpha1.PhaseProgressing }); len(waiting) > 0 {
		what = fmt.Sprintf("standstill: %s waits for what did not succeed (%s)", listed(waiting), what)
	}
	return fmt.Sprintf("%s; correct the spec, or set annotation %s=%s", what, lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationReconcile)
}
