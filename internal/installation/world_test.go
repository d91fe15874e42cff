// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"errors"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

const (
	job   = "job-2"
	older = "job-1"
)

var errDependency = errors.New("a waits for b, b waits for a")

var phases = []lsv1alpha1.Phase{
	"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseCleanupOrphaned, lsv1alpha1.PhaseObjectsCreated, lsv1alpha1.PhaseProgressing,
	lsv1alpha1.PhaseCompleting, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseInitDelete,
	lsv1alpha1.PhaseTriggerDelete, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed, "Unheard",
}

var jobs = []run.Job{{}, {ID: older, FinishedID: older}, {ID: job, FinishedID: older, RequestedID: job}}

var requests = []run.Request{{}, {Asked: true}, {GrantedID: "job-3"}, {GrantedID: job}}

// neighbourhoods are predecessors, successors and dependency errors.
var neighbourhoods = []installation.Observed{
	{},
	{DependencyError: errDependency},
	{Predecessors: []installation.Sibling{{Name: "p", Job: run.Job{ID: job, FinishedID: job}, Phase: lsv1alpha1.PhaseSucceeded}}},
	{Predecessors: []installation.Sibling{{Name: "p", Job: run.Job{ID: job, FinishedID: older}, Phase: lsv1alpha1.PhaseProgressing}}},
	{Predecessors: []installation.Sibling{{Name: "p", Job: run.Job{ID: job, FinishedID: job}, Phase: lsv1alpha1.PhaseFailed}}},
	{Predecessors: []installation.Sibling{{
		Name:     "p",
		Job:      run.Job{ID: job, FinishedID: job},
		Phase:    lsv1alpha1.PhaseSucceeded,
		Deleting: true,
	}}},
	{Predecessors: []installation.Sibling{{Name: "p"}}},
	{Successors: []installation.Sibling{{Name: "s", Job: run.Job{ID: job, FinishedID: job}, Phase: lsv1alpha1.PhaseSucceeded}}},
	{Successors: []installation.Sibling{{
		Name:     "s",
		Job:      run.Job{ID: job, FinishedID: job},
		Phase:    lsv1alpha1.PhaseDeleteFailed,
		Deleting: true,
	}}},
	{Successors: []installation.Sibling{{
		Name:     "s",
		Job:      run.Job{ID: job, FinishedID: older},
		Phase:    lsv1alpha1.PhaseDeleting,
		Deleting: true,
	}}},
}

// states are all possible states of a child.
var states = []installation.Child{
	{Presence: installation.Unseen},
	{Presence: installation.Gone},
	{Presence: installation.Present, Job: run.Job{ID: older, FinishedID: older}, Phase: lsv1alpha1.PhaseSucceeded},
	{Presence: installation.Present, Job: run.Job{ID: job, FinishedID: older}, Phase: lsv1alpha1.PhaseProgressing},
	{Presence: installation.Present, Job: run.Job{ID: job, FinishedID: job}, Phase: lsv1alpha1.PhaseSucceeded},
	{Presence: installation.Present, Job: run.Job{ID: job, FinishedID: job}, Phase: lsv1alpha1.PhaseFailed, Problem: "broken"},
	{Presence: installation.Present, Job: run.Job{ID: older, FinishedID: older}, Phase: lsv1alpha1.PhaseSucceeded, Deleting: true},
	{Presence: installation.Present, Job: run.Job{ID: job, FinishedID: older}, Phase: lsv1alpha1.PhaseDeleting, Deleting: true},
	{Presence: installation.Present, Job: run.Job{ID: job, FinishedID: job}, Phase: lsv1alpha1.PhaseDeleteFailed, Deleting: true},
}

// families are all combinations of at most two children and one orphan.
func families(each func(children, leaving []installation.Child)) {
	named := func(c installation.Child, kind installation.ChildKind, name string) installation.Child {
		c.Kind, c.Name = kind, name
		return c
	}
	executions := append([]installation.Child{{}}, states...)
	for _, first := range executions {
		for _, second := range executions {
			for _, third := range executions {
				var children, leaving []installation.Child
				if first.Presence != "" {
					children = append(children, named(first, installation.ChildExecution, "x"))
				}
				if second.Presence != "" {
					children = append(children, named(second, installation.ChildInstallation, "a"))
				}
				if third.Presence != "" {
					leaving = append(leaving, named(third, installation.ChildInstallation, "z"))
				}
				each(children, leaving)
			}
		}
	}
}

// everything calls each with all abstract observations: every phase, job, request and flag without children in detail, and every family in
// every phase of a running job.
func everything(each func(installation.Observed)) {
	for _, phase := range phases {
		for _, j := range jobs {
			alone(installation.Observed{Name: "i", Phase: phase, Job: j, NewJobID: "job-4", Now: noon}, each)
		}
		for flags := range 32 {
			o := installation.Observed{
				Name: "i", Phase: phase, Job: jobs[2], NewJobID: "job-4", Now: noon, Finalizer: true,
				Root: flags&1 > 0, Deleting: flags&2 > 0, Interrupt: flags&4 > 0, WithoutUninstall: flags&8 > 0,
			}
			if o.DeletionAsked = o.Deleting || flags&16 > 0; o.Interrupt && flags >= 8 {
				continue // one thing after the other
			}
			families(func(children, leaving []installation.Child) {
				o.Children, o.Orphaned = children, leaving
				each(o)
			})
		}
	}
}

// alone varies everything about an installation except its children.
func alone(o installation.Observed, each func(installation.Observed)) {
	for _, request := range requests {
		for _, around := range neighbourhoods {
			for flags := range 1 << 8 {
				bit := func(n int) bool { return flags&(1<<n) > 0 }
				o.Request, o.DependencyError, o.Predecessors, o.Successors = request, around.DependencyError, around.Predecessors, around.Successors
				o.Root, o.Deleting, o.Finalizer, o.Interrupt = bit(0), bit(1), bit(2), bit(3)
				o.DeletionAsked, o.LabelLost = o.Deleting, !o.Root && bit(4)
				o.Changed, o.IfChanged, o.IgnoreSuccessors = bit(4), bit(5), bit(6)
				o.Announced = o.Changed != o.IfChanged
				o.StrayRequest = !o.Root && request.Asked
				o.Automatic = installation.Automatic{}
				if bit(7) {
					o.Automatic.Due = noon
				}
				each(o)
			}
		}
	}
}
