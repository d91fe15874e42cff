// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// jobOf returns the current or last job of an installation's tree. The continuous flow has none.
func jobOf(node *objecttree.Node) *Job {
	top := node.Top()
	if top.Continuous() || top.Status.JobID == "" {
		return nil
	}
	job := &Job{ID: top.Status.JobID}
	if times := top.Status.TransitionTimes; times != nil {
		job.Start, job.End = stamp(times.TriggerTime), stamp(times.FinishedTime)
		if job.Start == nil {
			job.Start = stamp(times.InitTime)
		}
	}
	if !top.Status.IsFinished() {
		job.End = nil
	}
	return job
}

// pastOf returns the finished runs of a root installation, the latest first.
func pastOf(node *objecttree.Node) []PastJob {
	past := []PastJob{}
	root, ok := node.Installation()
	if !ok {
		return past
	}
	for _, ended := range root.Status.LastRuns {
		past = append(past, PastJob{
			ID:     ended.ID,
			Status: Status{Tone: toneOfPhase(ended.Phase), Word: string(ended.Phase), Since: timeOf(ended.EndTime.Time), Message: ended.Message},
			Start:  stamp(ended.StartTime),
			End:    timeOf(ended.EndTime.Time),
		})
	}
	return past
}

// rows returns the objects of the tree in its order.
func (t *tree) rows() []Row {
	rows := []Row{}
	var visit func(node *objecttree.Node, depth int, parent string)
	visit = func(node *objecttree.Node, depth int, parent string) {
		row := t.row(node, depth, parent)
		rows = append(rows, row)
		for _, below := range node.Below {
			visit(below, depth+1, row.ID)
		}
	}
	visit(t.node, 0, "")
	return rows
}

func (t *tree) row(node *objecttree.Node, depth int, parent string) Row {
	ref := refOf(node)
	known := t.known(node)
	before := t.before(node)
	row := Row{
		ID: idOf(ref), Ref: ref, Depth: depth, Parent: parent, Title: titleOf(node), Status: statusOf(node, known),
		Target: node.Target(), WaitedFor: []string{}, Objects: []Deployed{},
	}
	row.WaitsFor = t.rowWaitsFor(node, known, before)
	for _, n := range before {
		row.WaitedFor = append(row.WaitedFor, idOf(refOf(n)))
	}
	if item, ok := node.DeployItem(); ok {
		row.Type = string(item.Spec.Type)
	}
	if inst, ok := node.Installation(); ok {
		row.Outside = inst.Spec.Blueprint.Inline == nil
	}
	row.Spans = t.spans(node, row.Status.Tone, before)
	row.Imports, row.Exports = t.values.of(node, known)
	for _, object := range node.Deployed().Objects {
		row.Objects = append(row.Objects, Deployed{object.APIVersion, object.Kind, object.Namespace, object.Name})
	}
	return row
}

// before returns the objects that one must wait for: siblings that export what it imports, or deploy items that it depends on.
func (t *tree) before(node *objecttree.Node) []*objecttree.Node {
	if node.Kind == objecttree.Installation {
		return t.relations.predecessors(node)
	}
	return t.dependencies(node)
}

// dependencies returns the deploy items that one depends on. The list of an execution may be long and compressed, so it is read once.
func (t *tree) dependencies(node *objecttree.Node) []*objecttree.Node {
	if node.Kind != objecttree.DeployItem || node.Above == nil {
		return nil
	}
	known, ok := t.items[node.Above]
	if !ok {
		known = map[string][]*objecttree.Node{}
		t.items[node.Above] = known
		byName := map[string]*objecttree.Node{}
		for _, item := range node.Above.Below {
			byName[item.As] = item
		}
		execution, _ := node.Above.Execution()
		templates, err := execution.Spec.Items()
		if err != nil {
			return nil // The status of the execution says what is wrong with it.
		}
		for _, template := range templates {
			for _, name := range template.DependsOn {
				if item := byName[name]; item != nil {
					known[template.Name] = append(known[template.Name], item)
				}
			}
		}
	}
	return known[node.As]
}

// rowWaitsFor says in a few words what an object waits for, or has waited for.
func (t *tree) rowWaitsFor(node *objecttree.Node, known objecttree.Explanation, before []*objecttree.Node) string {
	state := node.State()
	if state == objecttree.Succeeded {
		if len(before) > 0 && known.Message == "" {
			return "waited for " + names(before)
		}
		return firstLine(known.Message)
	}
	var open []*objecttree.Node
	for _, n := range before {
		if n.State() != objecttree.Succeeded {
			open = append(open, n)
		}
	}
	waits := state == objecttree.Pending || known.Reason == lsv1alpha1.ReasonWaitingForPredecessors
	switch {
	case waits && len(open) > 0:
		return "waits for " + names(open)
	case node.Kind == objecttree.Installation && t.carriesOn(node, known):
		return progressOf(node).told()
	}
	return firstLine(known.Message)
}

// carriesOn reports whether an installation has handed its job down, so that the objects below show its progress.
func (t *tree) carriesOn(node *objecttree.Node, known objecttree.Explanation) bool {
	handed := known.Reason == lsv1alpha1.ReasonWaitingForSubObjects || known.Reason == explain.ReasonProceeding
	return handed && node.State() == objecttree.Running && progressOf(node).All > 0
}

func names(nodes []*objecttree.Node) string {
	all := make([]string, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, titleOf(n))
	}
	return strings.Join(all, ", ")
}

// Parts of a job, which spans distinguish: until it starts, until it has passed on the work, and until the end.
const (
	SpanWaits = "waits"
	SpanInit  = "init"
	SpanWorks = "works"
)

// spans returns the parts of the job in one object. An object that the job has not reached yet has waited since the job started.
func (t *tree) spans(node *objecttree.Node, tone Tone, before []*objecttree.Node) []Span {
	job := jobOf(t.node)
	times := node.Status.TransitionTimes
	switch {
	case job != nil && job.Start != nil && node.State() == objecttree.Pending:
		return []Span{{What: SpanWaits, Tone: NotYet, Start: *job.Start}}
	case times == nil || job != nil && node.Status.JobID != job.ID: // What is left over from an earlier job does not belong to this one.
		return []Span{}
	}
	return t.parts(node, times, tone, before)
}

// parts divides the time of an object in its job.
func (t *tree) parts(node *objecttree.Node, times *lsv1alpha1.TransitionTimes, tone Tone, before []*objecttree.Node) []Span {
	s := spanner{tone: tone, end: endTime(node)}
	trigger, begun, wait := stamp(times.TriggerTime), stamp(times.InitTime), stamp(times.WaitTime)
	if trigger == nil {
		trigger = begun
	}
	if node.Kind == objecttree.DeployItem {
		s.add(SpanWaits, trigger, begun)
		s.add(SpanWorks, begun, nil)
		return s.all()
	}
	ready := latestEnd(begun, wait, before)
	if wait == nil && s.end == nil && t.waiting(node, tone) {
		ready = nil
	}
	s.add(SpanWaits, trigger, ready)
	s.add(SpanInit, ready, wait)
	s.add(SpanWorks, wait, nil)
	return s.all()
}

// waiting reports whether an object has its job and cannot start it.
func (t *tree) waiting(node *objecttree.Node, tone Tone) bool {
	return tone == Waits || t.known(node).Reason == lsv1alpha1.ReasonWaitingForPredecessors
}

// latestEnd returns when the last predecessor of an object was done, or when the object started if that was later.
func latestEnd(begun, wait *time.Time, before []*objecttree.Node) *time.Time {
	latest := begun
	for _, n := range before {
		if n.Status.TransitionTimes == nil || latest == nil {
			continue
		}
		done := stamp(n.Status.TransitionTimes.FinishedTime)
		if done != nil && done.After(*latest) && (wait == nil || !done.After(*wait)) {
			latest = done
		}
	}
	return latest
}

// spanner divides a job into parts. The last part that has started lasts until the end, or continues.
type spanner struct {
	tone  Tone
	end   *time.Time
	spans []Span
}

// add adds a part, unless it has not started. One without a known end is the last.
func (s *spanner) add(what string, start, end *time.Time) {
	if start == nil || end != nil && !end.After(*start) {
		return
	}
	span := Span{What: what, Tone: Done, Start: *start, End: end}
	if end == nil {
		span.Tone, span.End = s.tone, s.end
	}
	if what == SpanWaits && end != nil {
		span.Tone = NotYet
	}
	s.spans = append(s.spans, span)
}

func (s *spanner) all() []Span { return orEmpty(s.spans) }

// endTime returns when an object finished its job; nil while it works.
func endTime(node *objecttree.Node) *time.Time {
	if state := node.State(); state == objecttree.Running || node.Status.TransitionTimes == nil {
		return nil
	}
	if end := stamp(node.Status.TransitionTimes.FinishedTime); end != nil {
		return end
	}
	if at := node.Status.PhaseTransitionTime; at != nil {
		return timeOf(at.Time)
	}
	return nil
}
