// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants

const (
	continuousRules  = "internal/installation/rules_continuous.go"
	continuousGoes   = "internal/installation/rules_continuous_delete.go"
	continuousFacts  = "internal/installation/facts_continuous.go"
	continuousItems  = "internal/execution/rules_continuous.go"
	continuousClass  = "internal/execution/classes.go"
	continuousLeaves = "internal/execution/rules_continuous_delete.go"
)

var continuous = []Mutant{
	{
		ID: "CON-01", Breaks: "Aborted is not a completed phase", File: "api/landscaper/v1alpha1/phases.go",
		Old: "return p == PhaseSucceeded || p == PhaseFailed || p == PhaseAborted",
		New: "return p == PhaseSucceeded || p == PhaseFailed",
	},
	{
		ID: "CON-02", Breaks: "a child that has not processed its spec is not busy", File: continuousFacts,
		Old: "return !c.Phase.IsCompleted() || !c.UpToDate || c.Deleting || run.Asked(c.Operation)",
		New: "return !c.Phase.IsCompleted() || c.Deleting || run.Asked(c.Operation)",
	},
	{
		ID: "CON-03", Breaks: "Failed comes before Aborted and Progressing", File: "internal/installation/combined.go",
		Old: "	lsv1alpha1.PhaseFailed:      3,",
		New: "	lsv1alpha1.PhaseFailed:      9,",
	},
	{
		ID: "CON-04", Breaks: "busy objects below are updated", File: continuousRules,
		Old: "if busy := o.busy(); len(busy) > 0 {",
		New: "if busy := o.busy(); len(busy) > 0 && o.outdated() == \"\" {",
	},
	{
		ID: "CON-05", Breaks: "a deploy item that somebody has changed counts as up to date", File: continuousClass,
		Old: "if recorded.ExecutionGeneration != o.Generation || recorded.DeployItemGeneration != item.Object.Generation {",
		New: "if recorded.ExecutionGeneration != o.Generation {",
	},
	{
		ID: "CON-06", Breaks: "a deadlock in a tree is not detected", File: "internal/installation/standstill.go",
		Old: "return len(busy) > 0 && len(filter(busy, o.stuck)) == len(busy)",
		New: "return len(busy) > len(o.below()) && len(filter(busy, o.stuck)) == len(busy)",
	},
	{
		ID: "CON-10", Breaks: "the annotation ignore has no effect", File: suspension,
		Old: "return o.Ignored && o.Phase.IsCompleted()",
		New: "return o.Ignored && o.Phase == \"\"",
	},
	{
		ID: "CON-10", Breaks: "a suspended root is updated", File: suspension,
		Old: "return o.rests() && !o.Updated",
		New: "return false && !o.Updated",
	},
	{
		ID: "CON-10", Breaks: "a suspended update exports with another spec", File: suspension,
		Old: "return o.updatesLater() && combined",
		New: "return false && combined",
	},
	{
		ID: "CON-10", Breaks: "an update that the status does not record is abandoned", File: suspension,
		Old: "o.Phase.IsCompleted()) && o.Unrecorded == \"\"",
		New: "o.Phase.IsCompleted())",
	},
	{
		ID: "CON-11", Breaks: "the finalizer is added only after the first update", File: continuousRules,
		Old: "case !o.Deleting && !o.Finalizer:",
		New: "case !o.Deleting && !o.Finalizer && o.Entered:",
	},
	{
		ID: "CON-12", Breaks: "a deletion waits for pending updates", File: continuousRules,
		Old: "	case o.Deleting:\n		return decideContinuousDeletion(o)\n",
		New: "	case o.Deleting && !o.Changed:\n		return decideContinuousDeletion(o)\n",
	},
	{
		ID: "CON-13", Breaks: "an answered annotation stays", File: continuousRules,
		Old: "	if o.forced() || o.Operation == lsv1alpha1.OperationReconcile {\n",
		New: "	if o.Operation == lsv1alpha1.OperationReconcile {\n",
	},
	{
		ID: "CON-14", Breaks: "missing exports are not restored", File: continuousRules,
		Old: "case len(busy) == 0 && combined == lsv1alpha1.PhaseSucceeded && len(o.ExportsGone) > 0:",
		New: "case len(busy) == 0 && combined == lsv1alpha1.PhaseSucceeded && len(o.ExportsGone) > 9:",
	},
	{
		ID: "CON-15", Breaks: "a completed installation ignores a new spec", File: continuousRules,
		Old: "if o.Phase.IsCompleted() && o.outdated() == \"\" {",
		New: "if o.Phase.IsCompleted() {",
	},
	{
		ID: "CON-16", Breaks: "changing the flow and back counts as another spec", File: "internal/installation/facts.go",
		Old: "return inst.Generation != status.ObservedGeneration && status.ObservedSpec != \"\" &&",
		New: "return false && inst.Generation != status.ObservedGeneration && status.ObservedSpec != \"\" &&",
	},
	{
		ID: "CON-20", Breaks: "unseen objects below are not awaited", File: continuousFacts,
		Old: "	case c.Presence != Present:\n		return c.Presence == Unseen\n",
		New: "	case c.Presence != Present:\n		return false\n",
	},
	{
		ID: "CON-21", Breaks: "a changed import causes no update", File: continuousRules,
		Old: "	case len(o.ImportsChanged) > 0:\n		return \"imports have changed: \" + list(o.ImportsChanged)\n",
		New: "",
	},
	{
		ID: "CON-22", Breaks: "an update does not wait for predecessors", File: continuousRules,
		Old: "len(waiting) > 0 && o.Operation != lsv1alpha1.OperationForceReconcile {",
		New: "len(waiting) > 0 && o.Operation == lsv1alpha1.OperationAbort {",
	},
	{
		ID: "CON-23", Breaks: "the versions of used imports are not recorded", File: "internal/installation/settle_continuous.go",
		Old: "status.Imports, status.ConfigGeneration = slices.Clone(p.Imports), p.ConfigGeneration",
		New: "status.Imports, status.ConfigGeneration = slices.Clone(status.Imports), p.ConfigGeneration",
	},
	{
		ID: "CON-24", Breaks: "successors are not notified of new exports", File: continuousRules,
		Old: "if successors := o.importers(); len(successors) > 0 {",
		New: "if successors := o.importers(); len(successors) > 9 {",
	},
	{
		ID: "CON-25", Breaks: "an abort does not stop what is below", File: continuousRules,
		Old: "	if len(running) > 0 {\n		d.Do = append(d.Do, Ask{Operation: lsv1alpha1.OperationAbort, Children: running})\n	}\n",
		New: "	_ = running\n",
	},
	{
		ID: "CON-30", Breaks: "force continues without imports", File: continuousRules,
		Old: "	if o.ImportsMissing != nil {\n		return failWith(o.ImportsMissing)\n	}\n	return Decision{\n		Do:   []Effect{Prepare{}, TellOfUpdate{}},",
		New: "	if o.ImportsMissing != nil && !o.forced() {\n		return failWith(o.ImportsMissing)\n	}\n	return Decision{\n		Do:   []Effect{Prepare{}, TellOfUpdate{}},",
	},
	{
		ID: "CON-31", Breaks: "force waits for busy objects below", File: continuousRules,
		Old: "	case lsv1alpha1.OperationForceReconcile:\n		return update(o)\n",
		New: "	case lsv1alpha1.OperationForceReconcile:\n		return standard(o)\n",
	},
	{
		ID: "CON-40", Breaks: "a forced deletion does not update what is below", File: continuousGoes,
		Old: "(len(waiting) == 0 || o.forced()) && o.outdatedBelow():",
		New: "len(waiting) == 0 && !o.forced() && o.outdatedBelow():",
	},
	{
		ID: "CON-41", Breaks: "an installation is deleted although another one imports from it", File: continuousGoes,
		Old: "return !begun && !o.forced() && !o.IgnoreSuccessors && len(o.Successors) > 0",
		New: "return !begun && !o.forced() && !o.IgnoreSuccessors && len(o.Successors) > 9",
	},
	{
		ID: "CON-41", Breaks: "the annotation delete-ignore-successors has no effect", File: continuousGoes,
		Old: "return !begun && !o.forced() && !o.IgnoreSuccessors && len(o.Successors) > 0",
		New: "return !begun && !o.forced() && len(o.Successors) > 0",
	},
	{
		ID: "CON-42", Breaks: "busy objects below are deleted", File: continuousGoes,
		Old: "case len(busy) > 0 && !o.forced() && !o.WithoutUninstall:",
		New: "case len(busy) > 9 && !o.forced() && !o.WithoutUninstall:",
	},
	{
		ID: "CON-43", Breaks: "what is below is not updated before its deletion", File: continuousGoes,
		Old: "return o.Entered && !o.Updated && (o.Changed || len(o.ImportsChanged) > 0) && o.ImportsMissing == nil && !o.WithoutUninstall",
		New: "return o.Entered && !o.Updated && len(o.ImportsChanged) > 9 && o.ImportsMissing == nil && !o.WithoutUninstall",
	},
	{
		ID: "CON-44", Breaks: "a deletion waits for objects that only wait", File: continuousGoes,
		Old: "return c.Presence == Present && c.Phase == lsv1alpha1.PhasePendingDependencies || o.stuck(c)",
		New: "return false && o.stuck(c)",
	},
	{
		ID: "CON-44", Breaks: "a busy object does not hear of the deletion", File: continuousGoes,
		Old: "if !o.DeletionAsked || len(unaware) == 0 {",
		New: "if !o.DeletionAsked || len(unaware) < 9 {",
	},
	{
		ID: "CON-44", Breaks: "what has never deployed anything needs its Target to be deleted", File: "internal/deployitem/settle.go",
		Old: "if o.Untouched {",
		New: "if o.Untouched && !o.Continuous {",
	},
	{
		ID: "CON-50", Breaks: "the annotation ignore has no effect on an execution", File: continuousItems,
		Old: "case o.Ignored && o.Phase.IsCompleted():",
		New: "case o.Ignored && o.Phase == \"\":",
	},
	{
		ID: "CON-51", Breaks: "an execution ignores a new spec", File: continuousItems,
		Old: "case o.Phase.IsCompleted() && o.UpToDate:",
		New: "case o.Phase.IsCompleted():",
	},
	{
		ID: "CON-52", Breaks: "force deploys only failed deploy items", File: continuousItems,
		Old: "return o.Operation == lsv1alpha1.OperationForceReconcile || i.State == StateFailed })",
		New: "return i.State == StateFailed })",
	},
	{
		ID: "CON-53", Breaks: "an execution fails while a deployer is working", File: continuousItems,
		Old: "if busy := workedOn(o, pairs); len(busy) > 0 {",
		New: "if busy := workedOn(o, pairs); len(busy) > 9 {",
	},
	{
		ID: "CON-54", Breaks: "a changed deploy item is not noticed", File: continuousItems,
		Old: "case o.Phase == lsv1alpha1.PhaseSucceeded && len(ofClass(pairs, ClassDeployed)) == len(pairs) && len(o.Orphaned) == 0:",
		New: "case o.Phase == lsv1alpha1.PhaseSucceeded:",
	},
	{
		ID: "CON-55", Breaks: "a deploy item is deleted although another one depends on it", File: continuousLeaves,
		Old: "return !i.Terminating && !needed[i.Object.Name] })",
		New: "return !i.Terminating && (!needed[i.Object.Name] || len(needed) > 0) })",
	},
	{
		ID: "CON-60", Breaks: "a deployer does not notice a new spec", File: "internal/deployitem/continuous.go",
		Old: "return status.Phase == \"\" || status.ObservedGeneration != item.Generation || undeleted || operation(item)",
		New: "return status.Phase == \"\" || undeleted || operation(item)",
	},
}
