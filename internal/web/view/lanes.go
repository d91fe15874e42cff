// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
)

// lanes returns the revisions in the status, the newest first, each with its environments.
func (b *board) lanes() []Lane {
	lanes := []Lane{}
	byRevision := b.promotions()
	for revision := range byRevision {
		lanes = append(lanes, b.lane(revision, byRevision[revision]))
	}
	began := func(l Lane) *time.Time { return l.Marks[0].Time }
	slices.SortFunc(lanes, func(x, y Lane) int {
		return cmp.Or(compareTimes(began(y), began(x)), cmp.Compare(y.Revision, x.Revision))
	})
	return lanes
}

// promotions returns the last promotion of each revision to each environment. The revision of the first environment is included without
// any.
func (b *board) promotions() map[string]map[string]pipelinesv1alpha1.PromotionStatus {
	all := map[string]map[string]pipelinesv1alpha1.PromotionStatus{}
	of := func(revision string) map[string]pipelinesv1alpha1.PromotionStatus {
		if all[revision] == nil {
			all[revision] = map[string]pipelinesv1alpha1.PromotionStatus{}
		}
		return all[revision]
	}
	for i, spec := range b.p.Spec.Environments {
		recorded := b.p.Status.Environments[spec.Name]
		if i == 0 && recorded.Settled != nil {
			of(recorded.Settled.Revision)
		}
		for _, earlier := range slices.Backward(recorded.History) {
			of(earlier.Revision)[spec.Name] = earlier
		}
		if recorded.Promotion != nil {
			of(recorded.Promotion.Revision)[spec.Name] = *recorded.Promotion
		}
	}
	if latest := b.p.Status.LatestRevision; latest != "" {
		of(latest)
	}
	return all
}

// lane follows one revision. The time in the first environment comes from that environment, or from the first promotion from there.
func (b *board) lane(revision string, promotions map[string]pipelinesv1alpha1.PromotionStatus) Lane {
	lane := Lane{Revision: revision, Marks: []Mark{}, Ended: "moving"}
	environments := b.p.Spec.Environments
	for i, spec := range environments {
		p, promoted := promotions[spec.Name]
		switch {
		case i == 0:
			lane.Marks = append(lane.Marks, b.firstMark(revision, promotions))
		case promoted:
			lane.Marks = append(lane.Marks, markOf(spec.Name, p))
			lane.Ended = endOf(p.State, i == len(environments)-1)
		case b.ranAnyway(spec.Name, revision) != nil:
			lane.Marks = append(lane.Marks, Mark{Environment: spec.Name, Time: b.ranAnyway(spec.Name, revision), Tone: Done})
			lane.Ended = endOf(pipelinesv1alpha1.PromotionComplete, i == len(environments)-1)
		}
	}
	if len(lane.Marks) == 0 {
		lane.Marks = append(lane.Marks, Mark{Tone: Unknown})
	}
	if lane.Ended == "moving" && b.superseded(revision) {
		lane.Ended = "superseded"
	}
	if len(environments) == 1 {
		lane.Ended = "arrived"
	}
	return lane
}

// superseded reports whether another revision has replaced this one in the pipeline, and no promotion of this one is under way.
func (b *board) superseded(revision string) bool {
	for _, e := range b.p.Status.Environments {
		if e.Promotion != nil && e.Promotion.Revision == revision && !over(e.Promotion.State) {
			return false
		}
	}
	return b.p.Status.LatestRevision != "" && b.p.Status.LatestRevision != revision
}

// ranAnyway returns when an environment settled on a revision without a promotion; nil if it did not.
func (b *board) ranAnyway(environment, revision string) *time.Time {
	if settled := b.p.Status.Environments[environment].Settled; settled != nil && settled.Revision == revision {
		return timeOf(settled.Time.Time)
	}
	return nil
}

func (b *board) firstMark(revision string, promotions map[string]pipelinesv1alpha1.PromotionStatus) Mark {
	name := b.p.Spec.Environments[0].Name
	mark := Mark{Environment: name, Tone: Done, Time: b.ranAnyway(name, revision)}
	if run := b.p.Status.Run; mark.Time == nil && run != nil && run.Revision == revision {
		mark.Time = timeOf(run.StartTime.Time)
	}
	if mark.Time != nil {
		return mark
	}
	for _, spec := range b.p.Spec.Environments {
		if p, found := promotions[spec.Name]; found && (mark.Time == nil || p.StartTime.Time.Before(*mark.Time)) {
			mark.Time = timeOf(p.StartTime.Time)
		}
	}
	return mark
}

func markOf(environment string, p pipelinesv1alpha1.PromotionStatus) Mark {
	mark := Mark{Environment: environment, Tone: tonesOfPromotions[p.State], Time: startOf(&p), Request: requestOf(&p)}
	if p.CompletionTime != nil {
		mark.Time = timeOf(p.CompletionTime.Time)
	}
	if p.Approval != nil {
		mark.By, mark.Reason = p.Approval.By, p.Approval.Message
	}
	if p.Error != nil && mark.Tone == Failed {
		mark.Reason = p.Error.Message
	}
	return mark
}

func endOf(state pipelinesv1alpha1.PromotionState, last bool) string {
	switch state {
	case pipelinesv1alpha1.PromotionComplete:
		if last {
			return "arrived"
		}
		return "moving"
	case pipelinesv1alpha1.PromotionSuperseded:
		return "superseded"
	case pipelinesv1alpha1.PromotionRejected, pipelinesv1alpha1.PromotionAbandoned:
		return "rejected"
	case pipelinesv1alpha1.PromotionFailed, pipelinesv1alpha1.PromotionStalled, pipelinesv1alpha1.PromotionRolledBack:
		return "failed"
	}
	return "moving"
}

// leadTime returns the median time from the first environment to the last, in seconds.
func leadTime(lanes []Lane, environments int) int {
	var times []int
	for _, lane := range lanes {
		first, last := lane.Marks[0], lane.Marks[len(lane.Marks)-1]
		if lane.Ended == "arrived" && environments > 1 && first.Time != nil && last.Time != nil && !last.Time.Before(*first.Time) {
			times = append(times, int(last.Time.Sub(*first.Time)/time.Second))
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2]
}
