// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants

const (
	installationJob  = "internal/installation/rules_job.go"
	installationRun  = "internal/installation/rules_job_run.go"
	installationGoes = "internal/installation/rules_job_delete.go"
	executionJob     = "internal/execution/rules_job.go"
	executionRun     = "internal/execution/rules_job_run.go"
	executionGoes    = "internal/execution/rules_job_delete.go"
	executionSteps   = "internal/execution/decide.go"
	suspension       = "internal/installation/suspend.go"
	itemRules        = "internal/deployitem/decide.go"
)

var jobs = []Mutant{
	{
		ID: "JOB-01", Breaks: "the job is passed down before the root has stored it", File: installationRun,
		Old: "Decision{SaveFirst: true, Do: []Effect{PropagateJob{Children: untold}}, Why: waitingForChildren(o.Children)}",
		New: "Decision{Do: []Effect{PropagateJob{Children: untold}}, Why: waitingForChildren(o.Children)}",
	},
	{
		ID: "JOB-02", Breaks: "the execution does not pass the job to deploy items with dependencies", File: executionRun,
		Old: "if ready := named(o.Wanted, g.Ready(p)); len(ready) > 0 {",
		New: "if ready := filter(named(o.Wanted, g.Ready(p)), func(i Item) bool { return len(i.DependsOn) == 0 }); len(ready) > 0 {",
	},
	{
		ID: "JOB-03", Breaks: "the final phase does not finish the job", File: "internal/run/settle.go",
		Old: "		status.JobIDFinished = status.JobID\n",
		New: "",
	},
	{
		ID: "JOB-04", Breaks: "an execution finishes while deploy items are in progress", File: executionRun,
		Old: "	if i := slices.IndexFunc(o.Wanted, Item.working); i >= 0 {\n		d := o.await(",
		New: "	if i := slices.IndexFunc(o.Wanted, Item.working); i > 0 {\n		d := o.await(",
	},
	{
		ID: "JOB-05", Breaks: "a request starts a job while another one runs", File: installationJob,
		Old: "		return decideBeginning(o)\n	case o.Phase == \"\"",
		New: "		return decideBeginning(o)\n	case o.Root && o.Request.Asked:\n		return grant(o)\n" +
			"	case o.Root && o.Request.GrantedID != \"\" && o.Request.GrantedID != o.Job.RequestedID:\n		return begin(o, \"\")\n	case o.Phase == \"\"",
	},
	{
		ID: "JOB-10", Breaks: "a new installation starts a job by itself", File: installationJob,
		Old: "	case o.IfChanged && o.Changed:",
		New: "	case o.IfChanged && o.Changed || o.Job.ID == \"\":",
	},
	{
		ID: "JOB-11", Breaks: "a request is lost if the controller crashes after removing it", File: "internal/installation/facts.go",
		Old: "run.Request{Asked: asked, GrantedID: run.ParseGrant(inst.Annotations[run.GrantAnnotation], string(inst.UID))}",
		New: "run.Request{Asked: asked}",
	},
	{
		ID: "JOB-11", Breaks: "the request goes while Ready still reports the previous job", File: installationJob,
		Old: "	if !o.Announced {\n",
		New: "	if !o.Announced && o.Deleting {\n",
	},
	{
		ID: "JOB-11", Breaks: "a suspended root starts a requested job", File: suspension,
		Old: "return o.Root && !o.Job.Running()",
		New: "return false && !o.Job.Running()",
	},
	{
		ID: "JOB-12", Breaks: "the request on a nested installation stays", File: installationJob,
		Old: "	case o.StrayRequest:",
		New: "	case o.StrayRequest && o.Root:",
	},
	{
		ID: "JOB-13", Breaks: "a request during a job gets lost", File: installationJob,
		Old: "		return decideBeginning(o)\n	case o.Phase == \"\"",
		New: "		return decideBeginning(o)\n	case o.Root && o.Request.Asked:\n		return Decision{Do: []Effect{DropOperation{}}}\n	case o.Phase == \"\"",
	},
	{
		ID: "JOB-14", Breaks: "a change of the spec starts a job", File: installationJob,
		Old: "	case o.IfChanged && o.Changed:",
		New: "	case o.Changed && o.Job.ID != \"\":",
	},
	{
		ID: "JOB-15", Breaks: "the annotation reconcile-if-changed has no effect", File: installationJob,
		Old: "	case o.IfChanged && o.Changed:",
		New: "	case o.IfChanged && o.Changed && false:",
	},
	{
		ID: "JOB-20", Breaks: "the deletion of orphans is not awaited", File: installationRun,
		Old: "	leaving := present(leavingOf(o))\n	if len(leaving) == 0 {",
		New: "	leaving := present(leavingOf(o))\n	if len(leaving) < 2 {",
	},
	{
		ID: "JOB-20", Breaks: "a job that only waits takes the result of the one before", File: "internal/installation/settle.go",
		Old: "noteStart(inst, *o)",
		New: "noteSpec(inst, *o)",
	},
	{
		ID: "JOB-21", Breaks: "a failed predecessor is awaited", File: installationRun,
		Old: "		return ready, \"\"\n	default:\n		return broken,",
		New: "		return ready, \"\"\n	default:\n		return unfinished,",
	},
	{
		ID: "JOB-21", Breaks: "a request that a suspension holds back is awaited", File: "internal/installation/facts.go",
		Old: "== string(lsv1alpha1.OperationReconcile) && !suspended",
		New: "== string(lsv1alpha1.OperationReconcile)",
	},
	{
		ID: "JOB-21", Breaks: "a predecessor of the continuous flow that has yet to update is not awaited", File: installationRun,
		Old: "case p.Continuous && !p.Suspended && !p.Frozen && p.behind() != \"\":",
		New: "case p.Continuous && p.Phase == \"\":",
	},
	{
		ID: "JOB-22", Breaks: "phase ObjectsCreated is followed by Completing", File: installationRun,
		Old: "return Decision{Next: lsv1alpha1.PhaseProgressing, Why: waitingForChildren(o.Children)}",
		New: "return Decision{Next: lsv1alpha1.PhaseCompleting, Why: waitingForChildren(o.Children)}",
	},
	{
		ID: "JOB-23", Breaks: "failures below do not count", File: installationRun,
		Old: "if failed := failed(o.Children); len(failed) > 0 {",
		New: "if failed := failed(o.Children); len(failed) > len(o.Children) {",
	},
	{
		ID: "JOB-24", Breaks: "the end of a predecessor wakes no successor", File: "internal/controller/installations/wake.go",
		Old: "before.IsFinished() != after.IsFinished() || after.IsFinished() && before.JobID != after.JobID ||\n",
		New: "\n",
	},
	{
		ID: "JOB-25", Breaks: "a change of the spec during the job is not noticed", File: installationRun,
		Old: "	if o.Changed {\n		return fail(o, reasonSpecChanged,",
		New: "	if o.Changed && false {\n		return fail(o, reasonSpecChanged,",
	},
	{
		ID: "JOB-26", Breaks: "successors are not notified", File: installationRun,
		Old: "if successors := o.importers(); o.Root && len(successors) > 0 {",
		New: "if successors := o.importers(); !o.Root && len(successors) > 0 {",
	},
	{
		ID: "JOB-27", Breaks: "a job whose exports are written is not finished", File: "internal/run/settle.go",
		Old: "		status.JobIDFinished = status.JobID\n",
		New: "",
	},
	{
		ID: "JOB-28", Breaks: "the time of a phase is not recorded", File: "internal/run/settle.go",
		Old: "		status.Phase, status.PhaseTransitionTime = next, &at\n",
		New: "		status.Phase = next\n",
	},
	{
		ID: "JOB-30", Breaks: "retries have no backoff", File: "internal/loop/backoff.go",
		Old: "return newBackoff(retryBase, retryCap, rand.Float64)",
		New: "return newBackoff(retryBase, retryBase, rand.Float64)",
	},
	{
		ID: "JOB-30", Breaks: "retries have no jitter", File: "internal/loop/backoff.go",
		Old: "factor := 1 - jitter + 2*jitter*b.random()",
		New: "factor := 1.0",
	},
	{
		ID: "JOB-30", Breaks: "the next attempt comes at another time than the message names", File: "internal/loop/loop.go",
		Old: "return reconcile.Result{RequeueAfter: max(retryBase, at.Sub(l.Clock.Now()))}, nil",
		New: "return reconcile.Result{}, err",
	},
	{
		ID: "JOB-31", Breaks: "a cycle of deploy items is not an error", File: executionRun,
		Old: "	if o.Invalid != nil {\n		return refuseSpec(o)\n	}\n",
		New: "",
	},
	{
		ID: "JOB-32", Breaks: "a failed installation ignores requests", File: installationJob,
		Old: "	switch o.Job.Open(o.Request) {",
		New: "	if o.Phase == lsv1alpha1.PhaseFailed {\n		return rest(\"\")\n	}\n	switch o.Job.Open(o.Request) {",
	},
	{
		ID: "JOB-40", Breaks: "a deletion interrupts a running job", File: installationJob,
		Old: "	case o.Phase.IsDeletion():\n		return afterChildren",
		New: "	case o.Deleting && o.Root && !o.Phase.IsDeletion():\n		return begin(o, \"\")\n	case o.Phase.IsDeletion():\n		return afterChildren",
	},
	{
		ID: "JOB-41", Breaks: "a failed deletion is retried automatically", File: installationJob,
		Old: "return o.Deleting && (o.Phase != lsv1alpha1.PhaseDeleteFailed || o.MayGiveUp() && len(untold(o)) > 0)",
		New: "return o.Deleting",
	},
	{
		ID: "JOB-42", Breaks: "an installation is deleted although a successor exists", File: installationGoes,
		Old: "if !o.IgnoreSuccessors && len(o.Successors) > 0 {",
		New: "if !o.IgnoreSuccessors && len(o.Successors) > 1 {",
	},
	{
		ID: "JOB-42", Breaks: "the annotation delete-ignore-successors has no effect", File: installationGoes,
		Old: "if !o.IgnoreSuccessors && len(o.Successors) > 0 {",
		New: "if len(o.Successors) > 0 {",
	},
	{
		ID: "JOB-43", Breaks: "the job of a deletion is not passed down", File: installationGoes,
		Old: "if untold := without(left, o.Job.ID); len(untold) > 0 {",
		New: "if untold := without(left, o.Job.ID); len(untold) > 99 {",
	},
	{
		ID: "JOB-44", Breaks: "a deletion fails while objects below are still working", File: installationGoes,
		Old: "	if len(busy) > 0 {\n		why := waitingForDeletion()",
		New: "	if len(busy) == len(left) {\n		why := waitingForDeletion()",
	},
	{
		ID: "JOB-45", Breaks: "the objects of its context stay", File: installationGoes,
		Old: "Do:   []Effect{CleanUp{}, RemoveFinalizer{}},",
		New: "Do:   []Effect{RemoveFinalizer{}},",
	},
	{
		ID: "JOB-45", Breaks: "a nested installation that has lost its label and its owner becomes a root", File: "internal/installation/rules_ending.go",
		Old: "return o.LabelLost && (o.Finalizer || !o.Deleting) ||",
		New: "return o.LabelLost && o.Finalizer && o.Deleting ||",
	},
	{
		ID: "JOB-45", Breaks: "a removed finalizer of an installation is not restored", File: "internal/installation/rules_ending.go",
		Old: "(len(o.Lost) > 0 || !o.Finalizer && o.Job.ID != \"\")",
		New: "len(o.Lost) > 0",
	},
	{
		ID: "JOB-45", Breaks: "a removed finalizer of a deploy item is not restored", File: "internal/deployitem/watchdog/decide.go",
		Old: "	case o.Damaged && !o.Finalizer:\n",
		New: "	case o.Damaged && !o.Finalizer && o.Deleting:\n",
	},
	{
		ID: "JOB-45", Breaks: "a finalizer that is removed from an execution during a job is not restored", File: "internal/execution/rules_job.go",
		Old: "case !o.Finalizer && !o.Deleted && !o.preparing():",
		New: "case false:",
	},
	{
		ID: "JOB-45", Breaks: "labels that are removed from a context object are not restored", File: "internal/controller/installations/wake.go",
		Old: "return mars(e.ObjectOld, e.ObjectNew)",
		New: "return false",
	},
	{
		ID: "JOB-45", Breaks: "a context object without labels and owner is left behind", File: "internal/controller/installations/contextobjects.go",
		Old: "return k.removeEstranged(ctx, inst)",
		New: "return nil",
	},
	{
		ID: "JOB-46", Breaks: "a job that only waits is not ended by the deletion", File: installationRun,
		Old: "	if o.DeletionAsked {\n		return overtaken(o)\n	}\n	if o.DependencyError != nil {",
		New: "	if o.DependencyError != nil {",
	},
	{
		ID: "JOB-50", Breaks: "an interrupt ends the execution but not its deploy items", File: executionJob,
		Old: "d.Do = append([]Effect{InterruptItems{Items: cut}}, d.Do...)",
		New: "_ = cut",
	},
	{
		ID: "JOB-51", Breaks: "an interrupted execution succeeds", File: executionJob,
		Old: "d := fail(o, failing{doing: \"run the job\", err: interruptError(message), code: lsv1alpha1.ReasonInterrupted})\n	if len(cut) > 0 {",
		New: "d := succeed()\n	_ = message\n	if len(cut) > 0 {",
	},
	{
		ID: "JOB-52", Breaks: "an interrupt during the creation of the first objects is lost", File: installationJob,
		Old: "	case o.Interrupt && !o.adopts():\n",
		New: "	case o.Interrupt:\n",
	},
	{
		ID: "JOB-60", Breaks: "deploy items do not learn that what they deployed stays", File: executionSteps,
		Old: "	if !o.WithoutUninstall {\n		return nil\n	}\n	items := filter(o.Orphaned",
		New: "	if o.WithoutUninstall || !o.WithoutUninstall {\n		return nil\n	}\n	items := filter(o.Orphaned",
	},
	{
		ID: "JOB-70", Breaks: "deploy items run one after the other", File: executionRun,
		Old: "Do:  []Effect{TriggerItems{JobID: o.Job.ID, Items: ready}},\n			Why: because(ReasonTriggered,",
		New: "Do:  []Effect{TriggerItems{JobID: o.Job.ID, Items: ready[:1]}},\n			Wait: true,\n			Why: because(ReasonTriggered,",
	},
	{
		ID: "JOB-71", Breaks: "a failed deploy item counts as done", File: executionRun,
		Old: "		case item.State == StateSucceeded:\n			p.Done[item.Name] = true",
		New: "		case item.State == StateSucceeded, item.State == StateFailed:\n			p.Done[item.Name] = true",
	},
	{
		ID: "JOB-72", Breaks: "deploy items are deleted before those that depend on them", File: executionGoes,
		Old: "		case needed[item.Object.Name]:\n",
		New: "		case false && needed[item.Object.Name]:\n",
	},
	{
		ID: "JOB-73", Breaks: "a deployer works on a deploy item without a job", File: itemRules,
		Old: "	case !o.Running():\n		return idle(o)\n",
		New: "",
	},
	{
		ID: "JOB-74", Breaks: "an unfinished deploy item never times out", File: "internal/deployitem/watchdog/decide.go",
		Old: "	case !o.Deadline.IsZero() && !o.Now.Before(o.Deadline):\n",
		New: "	case !o.Deadline.IsZero() && o.Now.Before(o.Since):\n",
	},
	{
		ID: "JOB-74", Breaks: "a timeout hides what the time was spent on", File: "internal/deployitem/watchdog/decide.go",
		Old: "o.Deadline.Sub(o.Since), o.Deployer, o.LastWord)",
		New: "o.Deadline.Sub(o.Since), o.Deployer, LastWord{})",
	},
	{
		ID: "JOB-75", Breaks: "an unchanged deploy item is deployed again", File: itemRules,
		Old: "	case o.Unchanged:\n",
		New: "	case o.Unchanged && o.Deleting:\n",
	},
}
