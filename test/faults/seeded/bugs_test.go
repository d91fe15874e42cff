// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build seeded

package seeded

// bug is a mistake that somebody could make.
type bug struct {
	name  string
	edits []edit
	// runs are plans of which at least one must fail, each as WORKLOAD PLAN.
	runs []string
}

// edit is a replacement in a file, which is named relative to the module; the old text stands there exactly once. Where the code guards
// against a mistake twice, the mistake takes two.
type edit struct{ file, old, new string }

const (
	runJob             = "internal/run/settle.go"
	installationDecide = "internal/installation/decide.go"
	installationRun    = "internal/installation/rules_run.go"
	executionRun       = "internal/execution/rules_run.go"
	itemDecide         = "internal/deployitem/decide.go"
	continuousInstall  = "internal/continuous/installation.go"
	continuousDecide   = "internal/continuous/installation_decide.go"
)

var bugs = []bug{
	{
		name: "an installation finishes before its children",
		edits: []edit{
			{installationRun, "return c.Presence != Gone && !c.finished(job) })", "return false })"},
			{installationRun, "return c.Phase != lsv1alpha1.PhaseSucceeded })", "return false })"},
			{installationDecide, "if len(working) == 0 {", "if len(working) >= 0 {"},
		},
		runs: []string{"repair ", "prune "},
	},
	{
		name:  "items start before what they depend on",
		edits: []edit{{executionRun, "plan[i] = planned{name: item.Name, dependsOn: item.DependsOn}", "plan[i] = planned{name: item.Name}"}},
		runs:  []string{"repair "},
	},
	{
		name:  "an item that works counts as done",
		edits: []edit{{executionRun, "case item.working():\n\t\t\tp.Running[item.Name] = true", "case item.working():\n\t\t\tp.Done[item.Name] = true"}},
		runs:  []string{"repair ", "shrink "},
	},
	{
		name:  "what is no longer wanted is pruned first",
		edits: []edit{{"internal/deployer/manifest/pass.go", "return p.walk(ctx, p.apply, p.prune,", "return p.walk(ctx, p.prune, p.apply,"}},
		runs:  []string{"prune "},
	},
	{
		name:  "the inventory is written after the objects",
		edits: []edit{{itemDecide, "return Decision{Do: []Effect{Deploy{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}", "return Decision{Do: []Effect{Deploy{}}, Why: pickedUp(o)}"}},
		runs:  []string{"prune "},
	},
	{
		name:  "a deploy item lets go without uninstalling",
		edits: []edit{{itemDecide, "return Decision{Do: []Effect{Delete{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}", `return letGo(o, CodeUninstalled, "gone")`}},
		runs:  []string{"prune "},
	},
	{
		name:  "nobody is told to leave alone what is installed",
		edits: []edit{{"internal/controller/installations/children.go", `if inst.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true" && !inst.DeletionTimestamp.IsZero() {`, "if false {"}},
		runs:  []string{"abandon "},
	},
	{
		name:  "a change of the specification goes unnoticed",
		edits: []edit{{installationRun, "if o.Changed {", "if false {"}},
		runs:  []string{"alter "},
	},
	{
		name:  "the request is removed without a grant",
		edits: []edit{{"internal/controller/installations/act.go", "m.SetAnnotations(merged(m.GetAnnotations(), map[string]string{run.GrantAnnotation: run.FormatGrant(o.NewJobID, string(inst.UID))}))", ""}},
		runs:  []string{"alter patch/installations=wall:1:after"},
	},
	{
		name:  "the end of a job is two writes",
		edits: []edit{{runJob, "if !notBegun(status, o) && status.Phase.IsFinal() && !status.IsFinished() {", "if !notBegun(status, o) && status.Phase.IsFinal() && !status.IsFinished() && status.PhaseTransitionTime.Time != at.Time {"}},
		runs:  []string{"alter "},
	},
	{
		name:  "a deletion does not wait for those who import",
		edits: []edit{{"internal/installation/rules_delete.go", "if !o.IgnoreSuccessors && len(o.Successors) > 0 {", "if false {"}},
		runs:  []string{"dependents "},
	},
	{
		name:  "a job that only waits outlives the deletion",
		edits: []edit{{installationRun, "if o.DeletionAsked {\n\t\treturn overtaken(o)\n\t}\n\tif o.Trouble != nil {", "if o.Trouble != nil {"}},
		runs:  []string{"forsake "},
	},
	{
		name:  "nobody at work is told of the deletion and its manner",
		edits: []edit{{installationRun, "if unaware := uninformed(o); len(unaware) > 0 {", "if unaware := uninformed(o); len(unaware) < 0 {"}},
		runs:  []string{"forsake "},
	},
	{
		name:  "nobody is told of new exports",
		edits: []edit{{installationRun, "if o.Root && len(successors) > 0 {", "if false {"}},
		runs:  []string{"successor "},
	},
	{
		name:  "a status is written whatever its version",
		edits: []edit{{"internal/loop/pass.go", `"metadata": map[string]string{"resourceVersion": object.GetResourceVersion()},`, `"metadata": map[string]string{},`}},
		runs:  []string{"repair twins@0", "shrink twins@0", "life twins@0", "life freeze@12+60"},
	},
	{
		name: "an import is taken without the exporter's job",
		edits: []edit{
			{"internal/dataflow/resolve.go", `if want == "" || labels[lsv1alpha1.DataObjectJobIDLabel] == want {`, `if want == "" || labels[lsv1alpha1.DataObjectJobIDLabel] != "" {`},
			{"internal/controller/installations/imports.go", `outdated := err == nil && expected != "" &&`, `outdated := false && expected != "" &&`},
		},
		runs: []string{"successor watch:dataobjects:hold:43..52", "successor watch:dataobjects:hold:44..54"},
	},
	{
		name: "a new job while one runs",
		edits: []edit{
			{installationDecide, "case !o.Job.Running():\n\t\treturn decideBeginning(o)", "case !o.Job.Running() || o.Root && !o.Deleting && o.Job.Open(o.Request) != run.OpenNot:\n\t\treturn decideBeginning(o)"},
			{"internal/run/job.go", "case j.Running():\n\t\treturn OpenNot", "case false:\n\t\treturn OpenNot"},
			{"internal/installation/settle.go", "case o.Job.Running():\n\t\trun.Begin(", "case o.Job.Running() && o.Job.Open(o.Request) != run.OpenByAdoption:\n\t\trun.Begin("},
			{"internal/installation/settle.go", `return first && (!o.Job.Running() || o.Phase == "" || o.Phase.IsFinal())`, "return first"},
		},
		runs: []string{"tended ask@25", "tended ask@40"},
	},
	{
		name:  "continuous: what is busy is updated",
		edits: []edit{{continuousDecide, "if busy := o.busy(); len(busy) > 0 {\n\t\tmessage", "if busy := o.busy(); len(busy) < 0 {\n\t\tmessage"}},
		runs:  []string{"graft ", "growth "},
	},
	{
		name:  "continuous: the success of an earlier spec is taken for that of the present one",
		edits: []edit{{continuousInstall, "!c.Phase.IsCompleted() || !c.UpToDate || c.Deleting", "!c.Phase.IsCompleted() || c.Deleting"}},
		runs:  []string{"graft ", "growth "},
	},
	{
		name: "continuous: who leaves the flow does not take note of it",
		edits: []edit{
			{"internal/continuous/installation_settle.go", "if o.FlowOnly || status.ObservedSpec == \"\" {", "if false {"},
			{installationDecide, "case !o.Job.Running() && o.FlowOnly:", "case false:"},
		},
		runs: []string{"seasons "},
	},
	{
		name:  "continuous: another flow is taken for another spec",
		edits: []edit{{"internal/installation/look.go", "status.ObservedSpec != \"\" && status.ObservedSpec == specMark(inst, status.ObservedGeneration)", "false"}},
		runs:  []string{"seasons "},
	},
	{
		name:  "continuous: what waits for a failure is never touched",
		edits: []edit{{"internal/continuous/standstill.go", "return len(busy) > 0 && len(filter(busy, o.stuck)) == len(busy)", "return false && len(busy) > 0"}},
		runs:  []string{"blocked "},
	},
	{
		name:  "continuous: a deletion waits for what waits",
		edits: []edit{{"internal/continuous/installation_delete.go", "return Busy(c) && !o.onlyWaits(c) })", "return Busy(c) })"}},
		runs:  []string{"blocked "},
	},
	{
		name:  "continuous: a deletion does not wait for those who import",
		edits: []edit{{"internal/continuous/installation_delete.go", "return !begun && !o.forced()", "return false && !begun && !o.forced()"}},
		runs:  []string{"stream "},
	},
	{
		name:  "continuous: items are written before what they depend on",
		edits: []edit{{"internal/continuous/execution.go", "if pairs[i].Class == Due && (missing || pairs[i].Replaced) {", "if pairs[i].Class == Due && (missing && pairs[i].Replaced) {"}},
		runs:  []string{"blight "},
	},
	{
		name:  "continuous: children are written before what they import",
		edits: []edit{{"internal/controller/installations/stages.go", "return slices.Concat([][]write{p.context}, children)", "return slices.Concat(children, [][]write{p.context})"}},
		runs:  []string{"weeds create/installations=bed-ebunx:1:after"},
	},
}
