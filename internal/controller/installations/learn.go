// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/template"
)

// Learn implements loop.Learner. It reads costly facts only once the next decision depends on them. A failure to read is a fact, too.
func (k *kind) Learn(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed) installation.Observed {
	run := runOf(inst)
	o = k.learnTurn(ctx, inst, o)
	switch installation.Needs(o) {
	case installation.NeedPlan:
		if o.Continuous {
			run.Version = o.UpdateVersion()
		}
		o.Plan = k.quotas.within(ctx, inst, k.plan(ctx, k.inputs(ctx, inst, o, run, reading{imports: asked(inst, run)})))
	case installation.NeedExports:
		var in installation.Inputs
		if o.Continuous {
			in = k.inputs(ctx, inst, o, run, reading{imports: asked(inst, run), revision: inst.Status.BlueprintRevision})
		} else {
			in = k.unchangedInputs(ctx, inst, o, run)
		}
		o.Exporting = k.exportPlan(ctx, in)
	case installation.NeedRestored:
		o.Plan, o.Exporting = k.restoration(ctx, inst, o, run)
	case installation.NeedSuccessors:
		// If they cannot be reread, those from the start of the pass are good enough: the API server rejects a write to one that has changed
		// since.
		if successors, err := relatedBy(ctx, k.cluster, inst, importsIndex, installation.ExportsOf(inst)); err == nil {
			o.Successors = installation.Siblings(successors)
		}
		o.SuccessorsRead = true
	}
	return o
}

// learnTurn finds out whether a job may start, if the next decision depends on that. It takes a free place immediately.
func (k *kind) learnTurn(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed) installation.Observed {
	if o.Limits.ConcurrentJobs == 0 || installation.Needs(o) != installation.NeedTurn {
		return o
	}
	turn, err := k.quotas.take(ctx, inst, o.Limits.ConcurrentJobs)
	if err != nil {
		o.Turn, o.Plan = &installation.Turn{}, &installation.Plan{Err: err}
		return o
	}
	o.Turn = turn
	return o
}

// runOf returns the current job of an installation, or its last update in the continuous flow.
func runOf(inst *lsv1alpha1.Installation) dataflow.Run {
	run := dataflow.Run{Version: inst.Status.JobID, Flow: inst.Spec.Flow}
	if flow := installation.FlowOf(inst); run.Flow.OrDefault() != flow {
		run.Flow = flow
	}
	if run.Flow == lsv1alpha1.FlowContinuous {
		run.Version = inst.Status.ConfigGeneration
	}
	return run
}

// reading describes how to read inputs.
type reading struct {
	imports readsFrom
	// revision is the revision of the blueprint, if the current job or update has already found it.
	revision string
}

// inputs reads everything that the objects of an installation depend on.
func (k *kind) inputs(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	run dataflow.Run,
	how reading,
) installation.Inputs {
	in := installation.Inputs{Run: run, Below: o.Below}
	in.Err = k.readInputs(ctx, inst, &in, how)
	return in
}

func (k *kind) readInputs(ctx context.Context, inst *lsv1alpha1.Installation, in *installation.Inputs, how reading) (err error) {
	if err := k.subject(ctx, inst, in, how.revision); err != nil {
		return err
	}
	if in.Scope, in.Marks, err = k.expectedScope(ctx, inst, in.Run); err != nil {
		return err
	}
	if in.Facts, err = k.importFacts(ctx, in.Scope, inst, how.imports); err != nil {
		return err
	}
	if in.Hasher, err = k.keys.get(ctx); err != nil {
		return err
	}
	if err := k.loadStates(ctx, in, fromCache); err != nil {
		return err
	}
	in.Context, err = k.ownContext(ctx, inst)
	return err
}

// unchangedInputs returns the inputs that the job started with. The cache may show imports from before the job: only if they differ are
// they read from the API server.
func (k *kind) unchangedInputs(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	run dataflow.Run,
) installation.Inputs {
	how := reading{imports: fromCache, revision: inst.Status.BlueprintRevision}
	in := k.inputs(ctx, inst, o, run, how)
	if in.Err == nil && installation.ImportsChanged(in) != nil {
		how.imports = fromServer
		in = k.inputs(ctx, inst, o, run, how)
	}
	return in
}

// plan creates a plan. If it generates values, the cached states may be too old to show existing ones: then plan reads them from the API
// server.
func (k *kind) plan(ctx context.Context, in installation.Inputs) *installation.Plan {
	plan := k.planOnce(ctx, &in)
	if !plan.Generates {
		return plan
	}
	in.Err = k.loadStates(ctx, &in, fromServer)
	return k.planOnce(ctx, &in)
}

func (k *kind) planOnce(ctx context.Context, in *installation.Inputs) (plan *installation.Plan) {
	err := k.answered(ctx, in, func() error { plan = installation.NewPlan(k.engine, *in); return plan.Err })
	plan.Err = withoutStates(*in, plan.Kept, cmp.Or(err, plan.Err))
	return plan
}

// exportPlan is like plan, for exports.
func (k *kind) exportPlan(ctx context.Context, inputs installation.Inputs) *installation.ExportPlan {
	in := installation.ExportInputs{Inputs: inputs}
	if in.Err == nil && installation.Exports(in.Installation) {
		in.Err = k.readExportInputs(ctx, &in)
	}
	plan := k.exportPlanOnce(ctx, &in)
	if !plan.Generates {
		return plan
	}
	in.Err = k.loadStates(ctx, &in.Inputs, fromServer)
	return k.exportPlanOnce(ctx, &in)
}

func (k *kind) exportPlanOnce(ctx context.Context, in *installation.ExportInputs) (plan *installation.ExportPlan) {
	err := k.answered(ctx, &in.Inputs, func() error { plan = installation.NewExportPlan(k.engine, *in); return plan.Err })
	plan.Err = withoutStates(in.Inputs, plan.Kept, cmp.Or(err, plan.Err))
	return plan
}

// restoration repeats the plan of the last job or update, if the same result is still possible.
func (k *kind) restoration(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	run dataflow.Run,
) (plan *installation.Plan, exports *installation.ExportPlan) {
	if inst.Generation != inst.Status.ObservedGeneration {
		changed := failure.Terminalf(failure.Details{Operation: "Restore", Reason: "SpecChanged"}, "the spec has changed")
		return &installation.Plan{Err: changed}, nil
	}
	in := k.unchangedInputs(ctx, inst, o, run)
	if in.Err == nil {
		in.Err = installation.ImportsChanged(in)
	}
	if plan = k.plan(ctx, in); plan.Err == nil && o.RestoresExports(inst) {
		exports = k.exportPlan(ctx, in)
	}
	return plan, exports
}

// loadStates reads the stored states of templates, and provides the entropy for further generated values. It is the same for a whole
// job, so that a repeated pass generates the same values as one that was cut off. If a user deletes the state, the next job generates
// other values.
func (k *kind) loadStates(ctx context.Context, in *installation.Inputs, from readsFrom) (err error) {
	inst := in.Installation
	names := in.Blueprint.StateSecrets(inst.Name)
	if in.Stored, err = k.contents.reader(bool(from)).all(ctx, kindSecret, inst.Namespace, names); err != nil {
		return err
	}
	if in.States, err = in.Blueprint.LoadStates(inst.Name, in.Stored); err != nil {
		return err
	}
	since := inst.CreationTimestamp
	if inst.Status.PhaseTransitionTime != nil {
		since = *inst.Status.PhaseTransitionTime
	}
	if len(in.Answers) == 0 {
		in.Answers = installation.LoadAnswers(*in)
	}
	in.Entropy = template.NewEntropy(in.Hasher.Seed(string(inst.UID)+"/"+in.Run.Version), since.Time)
	return nil
}

// ownContext returns the context objects that an installation has written.
func (k *kind) ownContext(ctx context.Context, inst *lsv1alpha1.Installation) (objects dataflow.Objects, err error) {
	var data lsv1alpha1.DataObjectList
	var targets lsv1alpha1.TargetList
	for _, list := range []client.ObjectList{&data, &targets} {
		err := k.cluster.List(ctx, list, client.InNamespace(inst.Namespace),
			client.MatchingFields{sourceIndex: dataflow.ContextOf(inst.Name)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return objects, err
		}
	}
	return dataflow.Objects{DataObjects: pointers(data.Items), Targets: pointers(targets.Items)}, nil
}
