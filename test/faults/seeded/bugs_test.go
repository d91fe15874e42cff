// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package seeded

import "espalier.dev/internal/testkit/faults"

const (
	runJob            = "internal/run/settle.go"
	installationJob   = "internal/installation/rules_job.go"
	installationRun   = "internal/installation/rules_job_run.go"
	executionRun      = "internal/execution/rules_job_run.go"
	itemDecide        = "internal/deployitem/decide.go"
	continuousFacts   = "internal/installation/facts_continuous.go"
	continuousRules   = "internal/installation/rules_continuous.go"
	continuousDelete  = "internal/installation/rules_continuous_delete.go"
	containerPass     = "internal/deployer/container/pass.go"
	containerInput    = "internal/deployer/container/provide.go"
	containerProgress = "internal/deployer/container/progress.go"
	syncDecide        = "internal/targetsync/decide.go"
	sharing           = "internal/shard/shard.go"
	namespaceEnds     = "internal/controller/ending/ending.go"
	watchdogDecide    = "internal/deployitem/watchdog/decide.go"
)

// unseenRemoval removes the code that notices a pod at the moment of its removal, which not every process is fast enough to see.
var unseenRemoval = faults.Edit{File: containerPass, Old: "corev1.PodFailed || erased(pod)", New: "corev1.PodFailed"}

var bugs = []faults.Bug{
	{
		Name: "an installation finishes before its children",
		Edits: []faults.Edit{
			{File: installationRun, Old: "return c.Presence != Gone && !c.finished(job) })", New: "return false })"},
			{File: installationRun, Old: "return c.Phase != lsv1alpha1.PhaseSucceeded })", New: "return false })"},
			{File: installationJob, Old: "if len(working) == 0 {", New: "if len(working) >= 0 {"},
		},
		Runs: []string{"repair ", "prune "},
	},
	{
		Name: "items start before what they depend on",
		Edits: []faults.Edit{{
			File: executionRun,
			Old:  "plan[i] = planned{name: item.Name, dependsOn: item.DependsOn}",
			New:  "plan[i] = planned{name: item.Name}",
		}},
		Runs: []string{"repair "},
	},
	{
		Name: "an item that works counts as done",
		Edits: []faults.Edit{{
			File: executionRun,
			Old:  "case item.working():\n\t\t\tp.Running[item.Name] = true",
			New:  "case item.working():\n\t\t\tp.Done[item.Name] = true",
		}},
		Runs: []string{"repair ", "shrink "},
	},
	{
		Name: "what is no longer wanted is pruned first",
		Edits: []faults.Edit{{
			File: "internal/deployer/manifest/pass.go",
			Old:  "return p.walk(ctx, p.apply, p.prune,",
			New:  "return p.walk(ctx, p.prune, p.apply,",
		}},
		Runs: []string{"prune "},
	},
	{
		Name: "the inventory is written after the objects",
		Edits: []faults.Edit{{
			File: itemDecide,
			Old:  "return Decision{Do: []Effect{Deploy{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}",
			New:  "return Decision{Do: []Effect{Deploy{}}, Why: pickedUp(o)}",
		}},
		Runs: []string{"prune "},
	},
	{
		Name: "a deploy item lets go without uninstalling",
		Edits: []faults.Edit{{
			File: itemDecide,
			Old:  "return Decision{Do: []Effect{Delete{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}",
			New:  `return letGo(o, CodeUninstalled, "gone")`,
		}},
		Runs: []string{"prune "},
	},
	{
		Name: "children are not marked to leave what is installed",
		Edits: []faults.Edit{{
			File: "internal/controller/installations/children.go",
			Old:  `if installation.IsMarked(inst, lsv1alpha1.DeleteWithoutUninstallAnnotation) && !inst.DeletionTimestamp.IsZero() {`,
			New:  "if false {",
		}},
		Runs: []string{"abandon "},
	},
	{
		Name:  "a change of the specification goes unnoticed",
		Edits: []faults.Edit{{File: installationRun, Old: "if o.Changed {", New: "if false {"}},
		Runs:  []string{"alter "},
	},
	{
		Name: "the request is removed without a grant",
		Edits: []faults.Edit{{
			File: "internal/controller/installations/act.go",
			Old:  "m.SetAnnotations(merged(m.GetAnnotations(), map[string]string{run.GrantAnnotation: run.FormatGrant(o.NewJobID, string(inst.UID))}))",
			New:  "",
		}},
		Runs: []string{"alter patch/installations=wall:1:after"},
	},
	{
		Name: "the end of a job is two writes",
		Edits: []faults.Edit{{
			File: runJob,
			Old:  "if !notBegun(status, o) && status.Phase.IsFinal() && !status.IsFinished() {",
			New:  "if !notBegun(status, o) && status.Phase.IsFinal() && !status.IsFinished() && status.PhaseTransitionTime.Time != at.Time {",
		}},
		Runs: []string{"alter "},
	},
	{
		Name: "a stale cache lets a password be generated again",
		Edits: []faults.Edit{{
			File: "internal/controller/installations/learn.go",
			Old:  "	plan := k.planOnce(ctx, &in)\n	if !plan.Generates {",
			New:  "	plan := k.planOnce(ctx, &in)\n	if true {",
		}},
		Runs: []string{"lock watch:secrets:hold:1..27"},
	},
	{
		Name: "a deletion does not wait for those who import",
		Edits: []faults.Edit{{
			File: "internal/installation/rules_job_delete.go",
			Old:  "if !o.IgnoreSuccessors && len(o.Successors) > 0 {",
			New:  "if false {",
		}},
		Runs: []string{"dependents "},
	},
	{
		Name: "a job that only waits outlives the deletion",
		Edits: []faults.Edit{{
			File: installationRun,
			Old:  "if o.DeletionAsked {\n\t\treturn overtaken(o)\n\t}\n\tif o.DependencyError != nil {",
			New:  "if o.DependencyError != nil {",
		}},
		Runs: []string{"forsake "},
	},
	{
		Name: "working children are not notified of the deletion and its manner",
		Edits: []faults.Edit{{
			File: installationRun,
			Old:  "if unaware := uninformed(o); len(unaware) > 0 {",
			New:  "if unaware := uninformed(o); len(unaware) < 0 {",
		}},
		Runs: []string{"forsake "},
	},
	{
		Name:  "nobody is told of new exports",
		Edits: []faults.Edit{{File: installationRun, Old: "o.Root && len(successors) > 0 {", New: "o.Root && len(successors) < 0 {"}},
		Runs:  []string{"successor "},
	},
	{
		Name: "a status is written whatever its version",
		Edits: []faults.Edit{{
			File: "internal/loop/pass.go",
			Old:  `"metadata": map[string]string{"resourceVersion": object.GetResourceVersion()},`,
			New:  `"metadata": map[string]string{},`,
		}},
		Runs: []string{"repair splitBrain@0", "shrink splitBrain@0", "life splitBrain@0", "life freeze@12+60"},
	},
	{
		Name: "an import is taken without the exporter's job",
		Edits: []faults.Edit{
			{
				File: "internal/dataflow/resolve.go",
				Old:  `if want == "" || labels[lsv1alpha1.DataObjectJobIDLabel] == want {`,
				New:  `if want == "" || labels[lsv1alpha1.DataObjectJobIDLabel] != "" {`,
			},
			{
				File: "internal/controller/installations/imports.go",
				Old:  `return expected != "" && shown.GetLabels()[lsv1alpha1.DataObjectJobIDLabel] != expected`,
				New:  `return false`,
			},
			{
				File: "internal/controller/installations/imports.go",
				Old:  `if s.fresh || s.outdated(object, err) {`,
				New:  `if s.outdated(object, err) {`,
			},
			{ // else the exporter of this process is seen at once
				File: "internal/freshness/client.go",
				Old:  `!slices.Contains(c.groups, gvk.Group) {`,
				New:  `!slices.Contains(c.groups, gvk.Group) || gvk.Kind == "DataObject" {`,
			},
		},
		Runs: []string{"successor watch:dataobjects:hold:42..52", "successor watch:dataobjects:hold:43..52"},
	},
	{
		Name: "a new job while one runs",
		Edits: []faults.Edit{
			{
				File: installationJob,
				Old:  "case !o.Job.Running():\n\t\treturn decideBeginning(o)",
				New:  "case !o.Job.Running() || o.Root && !o.Deleting && o.Job.Open(o.Request) != run.OpenNot:\n\t\treturn decideBeginning(o)",
			},
			{File: "internal/run/job.go", Old: "case j.Running():\n\t\treturn OpenNot", New: "case false:\n\t\treturn OpenNot"},
			{
				File: "internal/installation/settle.go",
				Old:  "case o.Job.Running():\n\t\trun.Begin(",
				New:  "case o.Job.Running() && o.Job.Open(o.Request) != run.OpenByAdoption:\n\t\trun.Begin(",
			},
			{
				File: "internal/installation/settle.go",
				Old:  `return first && (!o.Job.Running() || o.Phase == "" || o.Phase.IsFinal())`,
				New:  "return first",
			},
		},
		Runs: []string{"tended ask@25", "tended ask@40"},
	},
	{
		Name: "continuous: what is busy is updated",
		Edits: []faults.Edit{{
			File: continuousRules,
			Old:  "if busy := o.busy(); len(busy) > 0 {\n\t\tmessage",
			New:  "if busy := o.busy(); len(busy) < 0 {\n\t\tmessage",
		}},
		Runs: []string{"graft ", "growth "},
	},
	{
		Name: "continuous: the success of an earlier spec is taken for that of the present one",
		Edits: []faults.Edit{{
			File: continuousFacts,
			Old:  "!c.Phase.IsCompleted() || !c.UpToDate || c.Deleting",
			New:  "!c.Phase.IsCompleted() || c.Deleting",
		}},
		Runs: []string{"graft ", "growth "},
	},
	{
		Name: "continuous: who leaves the flow does not take note of it",
		Edits: []faults.Edit{
			{File: "internal/installation/settle_continuous.go", Old: "if o.FlowOnly || status.ObservedSpec == \"\" {", New: "if false {"},
			{File: installationJob, Old: "case !o.Job.Running() && o.FlowOnly:", New: "case false:"},
		},
		Runs: []string{"seasons "},
	},
	{
		Name: "continuous: another flow is taken for another spec",
		Edits: []faults.Edit{{
			File: "internal/installation/facts.go",
			Old:  "status.ObservedSpec != \"\" &&\n\t\tstatus.ObservedSpec == specMark(inst, status.ObservedGeneration)",
			New:  "false",
		}},
		Runs: []string{"seasons "},
	},
	{
		Name: "continuous: what waits for a failure is never touched",
		Edits: []faults.Edit{{
			File: "internal/installation/standstill.go",
			Old:  "return len(busy) > 0 && len(filter(busy, o.stuck)) == len(busy)",
			New:  "return false && len(busy) > 0",
		}},
		Runs: []string{"blocked "},
	},
	{
		Name:  "continuous: a deletion waits for what waits",
		Edits: []faults.Edit{{File: continuousDelete, Old: "return c.Busy() && !o.onlyWaits(c) })", New: "return c.Busy() })"}},
		Runs:  []string{"blocked "},
	},
	{
		Name:  "continuous: a deletion does not wait for those who import",
		Edits: []faults.Edit{{File: continuousDelete, Old: "return !begun && !o.forced()", New: "return false && !begun && !o.forced()"}},
		Runs:  []string{"stream "},
	},
	{
		Name: "continuous: items are written before what they depend on",
		Edits: []faults.Edit{{
			File: "internal/execution/classes.go",
			Old:  "if pairs[i].Class == ClassDue && (missing || pairs[i].Replaced) {",
			New:  "if pairs[i].Class == ClassDue && (missing && pairs[i].Replaced) {",
		}},
		Runs: []string{"blight "},
	},
	{
		Name: "continuous: children are written before what they import",
		Edits: []faults.Edit{{
			File: "internal/installation/plan.go",
			Old:  "	return append(stages, Stage{Execution: p.Execution})",
			New:  "	return append(append(stages[:1:1], stages[2:]...), Stage{Execution: p.Execution}, stages[1])",
		}},
		Runs: []string{"weeds create/installations=bed-ebunx:1:after"},
	},
	{
		Name: "containers: each pod gets another name",
		Edits: []faults.Edit{
			{
				File: "internal/deployer/container/podspec.go",
				Old:  "meta.Finalizers = []string{Finalizer}",
				New:  "meta.Finalizers, meta.GenerateName, meta.Name = []string{Finalizer}, meta.Name+\"-\", \"\"",
			},
			{
				File: containerPass,
				Old: "	if err := reader.Get(ctx, key, pod); err != nil {\n\t\tif apierrors.IsNotFound(err) {\n\t\t\treturn nil, nil\n\t\t}\n" +
					"\t\treturn nil, fmt.Errorf(\"read Pod %s: %w\", key, err)\n\t}\n",
				New: "	var all corev1.PodList\n\tmine := client.MatchingLabels{labelItem: string(p.work.Item.UID)}\n" +
					"\tif err := p.pods.List(ctx, &all, client.InNamespace(key.Namespace), mine); err != nil || len(all.Items) == 0 {\n" +
					"\t\treturn nil, err\n\t}\n\tpod = &all.Items[0]\n",
			},
		},
		Runs: []string{"press create/pods:1:lost;watch:pods:hold:0..+3s"},
	},
	{
		Name: "containers: a pod that is lost is replaced in secret",
		Edits: []faults.Edit{
			unseenRemoval,
			{File: containerPass, Old: "case pod == nil && p.status.PodStatus.Run == p.run:", New: "case pod == nil && p.run == \"\":"},
		},
		Runs: []string{"mishap "},
	},
	{
		Name: "containers: a lost pod is not noticed",
		Edits: []faults.Edit{
			unseenRemoval,
			{
				File: containerPass,
				Old:  "\t\treturn p.lost(ctx)\n\tcase pod == nil:",
				New:  "\t\treturn deployer.Progress{Recheck: recheck}, nil\n\tcase pod == nil:",
			},
		},
		Runs: []string{"mishap "},
	},
	{
		Name: "containers: the end of a pod takes the input of the next run along",
		Edits: []faults.Edit{{
			File: containerInput,
			Old:  "labelType: typeInput}, client.MatchingFields{metav1.ObjectNameField: name})",
			New:  "labelType: typeInput})",
		}},
		Runs: []string{"mishap get/deployitems:*:slow=1s;create/pods:2:slow=3s"},
	},
	{
		Name: "containers: a deletion that was cut off looks for what it has removed",
		Edits: []faults.Edit{{
			File: containerProgress,
			Old:  "if p.operation == containerv1alpha1.OperationDelete {\n\t\t// Its",
			New:  "if false {\n\t\t// Its",
		}},
		Runs: []string{"press patch/deployitems=cider-press-n6qux:1:before"},
	},
	{
		Name: "sync: a source that cannot be read has nothing",
		Edits: []faults.Edit{{
			File: syncDecide,
			Old:  "if o.Source.Err != nil {",
			New:  "if false {",
		}},
		Runs: []string{"sync "},
	},
	{
		Name: "sync: another token after each crash",
		Edits: []faults.Edit{{
			File: syncDecide,
			Old:  "last := plausible(rotated(o), o.Now)",
			New:  "last := plausible(o.LastRotation, o.Now)",
		}},
		Runs: []string{"sync patch/secrets=access:1:after"},
	},
	{
		Name: "sync: what is removed is forgotten first",
		Edits: []faults.Edit{{
			File: syncDecide,
			Old:  "	if do := removals(o, func(string) bool { return false }); len(do) > 0 {",
			New:  "	if do := removals(o, func(string) bool { return true }); len(do) > 0 {",
		}},
		Runs: []string{"sync "},
	},
	{
		Name: "shards: every process works on every tree",
		Edits: []faults.Edit{{
			File: sharing,
			Old:  "return s.IsAll() || OwnerOf(root, s.Of) == s.Number",
			New:  "return true",
		}},
		Runs: []string{"life reshard@30"},
	},
	{
		Name: "shards: those of another number are not awaited",
		Edits: []faults.Edit{{
			File: sharing,
			Old:  "return large.Number > small.Of || large.Number == small.Number",
			New:  "return large == small",
		}},
		Runs: []string{"life reshard@30"},
	},
	{
		Name: "shards: those of a larger number are not awaited",
		Edits: []faults.Edit{{
			File: sharing,
			Old:  "if small.Of > large.Of {",
			New:  "if small.Of < large.Of {\n\t\treturn false\n\t}\n\tif small.Of > large.Of {",
		}},
		Runs: []string{"life reshardFewer@30"},
	},
	{
		Name: "shards: a process that has all of the work is not awaited",
		Edits: []faults.Edit{{
			File: "internal/manager/sharding.go",
			Old:  `if holder != "" && !shard.IsSummary(holder) {`,
			New:  "if false && !shard.IsSummary(holder) {",
		}},
		Runs: []string{"life reshardFirst@30"},
	},
	{
		Name: "deletion: a namespace that is being deleted is not recognised",
		Edits: []faults.Edit{{
			File: namespaceEnds,
			Old:  "if err != nil || namespace.DeletionTimestamp.IsZero() {",
			New:  "if true {",
		}},
		Runs: []string{"evict "},
	},
	{
		Name: "deletion: what was being deleted before its namespace does not notice",
		Edits: []faults.Edit{{
			File: namespaceEnds,
			Old:  "UpdateFunc: func(e event.UpdateEvent) bool { return !deleting(e.ObjectOld) && deleting(e.ObjectNew) },",
			New:  "UpdateFunc: func(event.UpdateEvent) bool { return false },",
		}},
		Runs: []string{"evict "},
	},
	{
		Name:  "deletion: an execution waits for a job while its namespace is being deleted",
		Edits: []faults.Edit{{File: "internal/execution/decide.go", Old: "case o.NamespaceEnds:", New: "case false:"}},
		Runs:  []string{"raze end@42"},
	},
	{
		Name: "deletion: what is in Deleting is not given up",
		Edits: []faults.Edit{{
			File: watchdogDecide,
			Old:  "case o.Deleting && o.WithoutUninstall && o.Finalizer:\n\t\treturn letGo(o)\n\tcase !o.Job.Running():",
			New:  "case o.Deleting && o.WithoutUninstall && o.Finalizer && !o.Phase.IsDeletion():\n\t\treturn letGo(o)\n\tcase !o.Job.Running():",
		}},
		Runs: []string{"strand "},
	},
	{
		Name: "deletion, continuous: what is in Deleting is not given up",
		Edits: []faults.Edit{{
			File: watchdogDecide,
			Old:  "case o.Deleting && o.WithoutUninstall && o.Finalizer:\n\t\treturn letGo(o)\n\tcase o.PickedUp",
			New:  "case o.Deleting && o.WithoutUninstall && o.Finalizer && !o.Phase.IsDeletion():\n\t\treturn letGo(o)\n\tcase o.PickedUp",
		}},
		Runs: []string{"drift "},
	},
	{
		Name: "deletion: a target that is unreachable counts as empty",
		Edits: []faults.Edit{{
			File: itemDecide,
			Old:  `return fail(Delete{}.String(), fmt.Errorf("%w%s", o.Answer.Err, wayOut(o)))`,
			New:  `return letGo(o, CodeUninstalled, "unreachable"+wayOut(o))`,
		}},
		Runs: []string{"strand "},
	},
	{
		Name:  "deletion: a missing Target counts as a removed cluster",
		Edits: []faults.Edit{{File: itemDecide, Old: "case o.Target == TargetMissing && o.ClusterMayBeGone:", New: "case o.Target == TargetMissing:"}},
		Runs:  []string{"drift "},
	},
	{
		Name: "deletion: a job outlives it that cannot reach its target",
		Edits: []faults.Edit{{
			File: itemDecide,
			Old:  "if err == nil || !unreachable || !o.DeletionAsked || InDeletionFlow(o.Deleting, o.Phase) {",
			New:  "if true {",
		}},
		Runs: []string{"strand "},
	},
	{
		Name: "deletion: in the continuous flow, work that waits for its target does not hear of it",
		Edits: []faults.Edit{{
			File: "internal/installation/rules_continuous_delete.go",
			Old:  "if !o.DeletionAsked || len(unaware) == 0 {",
			New:  "if !o.DeletionAsked || len(unaware) >= 0 {",
		}},
		Runs: []string{"drift "},
	},
	{
		Name:  "deletion: nobody is told what ends it",
		Edits: []faults.Edit{{File: itemDecide, Old: `recreate it"+wayOut(o)+untilDeadline(o),`, New: `recreate it"+untilDeadline(o),`}},
		Runs:  []string{"strand "},
	},
	{
		Name: "deletion: what an installation has written stays",
		Edits: []faults.Edit{{
			File: "internal/installation/rules_job_delete.go",
			Old:  "Do:   []Effect{CleanUp{}, RemoveFinalizer{}},",
			New:  "Do:   []Effect{RemoveFinalizer{}},",
		}},
		Runs: []string{"strand "},
	},
}
