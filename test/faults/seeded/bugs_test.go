//go:build seeded

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package seeded

// bug is a mistake that somebody could make.
type bug struct {
	name string
	// file is where it is, relative to the module; old stands there exactly once and is replaced by new.
	file, old, new string
	// runs are plans of which at least one must fail, each as WORKLOAD PLAN.
	runs []string
}

var bugs = []bug{
	{
		name: "the request is removed without a grant",
		file: "internal/controller/installations/act.go",
		old:  "m.SetAnnotations(merged(m.GetAnnotations(), map[string]string{run.GrantAnnotation: run.FormatGrant(o.NewJobID, string(inst.UID))}))",
		new:  "",
		runs: []string{"alter patch/installations=wall:1:after"},
	},
	{
		name: "a new job begins while one runs",
		file: "internal/run/job.go",
		old:  "case j.Running():\n\t\treturn OpenNot",
		new:  "case false:\n\t\treturn OpenNot",
		runs: []string{"tended ask@12", "tended ask@20", "tended ask@30"},
	},
	{
		name: "the end of a job is two writes",
		file: "internal/run/settle.go",
		old:  "if status.Phase.IsFinal() && !status.IsFinished() {",
		new:  "if status.Phase.IsFinal() && !status.IsFinished() && status.PhaseTransitionTime.Time != at.Time {",
		runs: []string{"repair "},
	},
	{
		name: "an installation finishes before its children",
		file: "internal/installation/rules_run.go",
		old:  "return filter(children, func(c Child) bool { return c.Presence != Gone && !c.finished(job) })",
		new:  "return filter(children, func(c Child) bool { return false })",
		runs: []string{"repair ", "life "},
	},
	{
		name: "an execution does not wait for what runs",
		file: "internal/execution/rules_run.go",
		old:  "case item.working():\n\t\t\tp.Running[item.Name] = true",
		new:  "case item.working():\n\t\t\tp.Done[item.Name] = true",
		runs: []string{"repair ", "life "},
	},
	{
		name: "a job is passed on whatever the child's version",
		file: "internal/controller/subobject/subobject.go",
		old:  "\"metadata\": map[string]any{\"resourceVersion\": child.GetResourceVersion(), \"uid\": child.GetUID()},",
		new:  "\"metadata\": map[string]any{\"uid\": child.GetUID()},",
		runs: []string{"life freeze@7+90", "life freeze@5+90", "life freeze@9+100"},
	},
	{
		name: "a status is written whatever the version",
		file: "internal/loop/pass.go",
		old:  "\"metadata\": map[string]string{\"resourceVersion\": object.GetResourceVersion()},",
		new:  "\"metadata\": map[string]string{},",
		runs: []string{"life twins@0", "life freeze@12+60", "interrupt twins@0", "tended twins@0"},
	},
	{
		name: "a child that the cache does not show is gone",
		file: "internal/installation/look.go",
		old:  "return Child{Kind: kind, Name: name, Presence: Unseen}",
		new:  "return Child{Kind: kind, Name: name, Presence: Gone}",
		runs: []string{"repair watch:executions:hold:1..6", "life watch:installations:hold:2..8", "life watch:executions:hold:2..12"},
	},
	{
		name: "an execution trusts its cache at the end of a deletion",
		file: "internal/controller/executions/observe.go",
		old:  "if execution.NeedsComplete(o) {",
		new:  "s.Complete = true\n\to = execution.Look(s)\n\tif false {",
		runs: []string{"prune watch:deployitems:hold:3..9", "life watch:deployitems:relist:40..60", "prune create/deployitems=:1:after"},
	},
	{
		name: "an import is taken without the exporter's job",
		file: "internal/installation/rules_run.go",
		old:  "case !o.Root && p.Job.ID != o.Job.ID:",
		new:  "case false:",
		runs: []string{"life "},
	},
	{
		name: "items start before what they depend on",
		file: "internal/execution/rules_run.go",
		old:  "plan[i] = planned{name: item.Name, dependsOn: item.DependsOn}",
		new:  "plan[i] = planned{name: item.Name}",
		runs: []string{"repair ", "life "},
	},
	{
		name: "what is no longer wanted is pruned first",
		file: "internal/deployer/manifest/pass.go",
		old:  "return p.walk(ctx, []step{p.apply, p.prune,",
		new:  "return p.walk(ctx, []step{p.prune, p.apply,",
		runs: []string{"prune "},
	},
	{
		name: "the inventory is written after the objects",
		file: "internal/deployitem/decide.go",
		old:  "return Decision{Do: []Effect{Deploy{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}",
		new:  "return Decision{Do: []Effect{Deploy{}}, Why: pickedUp(o)}",
		runs: []string{"prune ", "prune create/configmaps=yew:1:after"},
	},
	{
		name: "a deletion does not wait for those who import",
		file: "internal/installation/rules_delete.go",
		old:  "if !o.IgnoreSuccessors && len(o.Successors) > 0 {",
		new:  "if false {",
		runs: []string{"dependents "},
	},
	{
		name: "nobody is told to leave alone what is installed",
		file: "internal/controller/installations/children.go",
		old:  "if inst.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == \"true\" && !inst.DeletionTimestamp.IsZero() {",
		new:  "if false {",
		runs: []string{"abandon "},
	},
	{
		name: "a change of the specification goes unnoticed",
		file: "internal/installation/rules_run.go",
		old:  "if o.Changed {",
		new:  "if false {",
		runs: []string{"alter "},
	},
}
