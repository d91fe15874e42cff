// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
)

// prepare renders the blueprint and writes everything that it asks for. Nothing is written unless all of it can be.
func (k *kind) prepare(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed) (installation.Observed, error) {
	run := runOf(inst)
	if !o.Continuous {
		o, _, err := k.prepareFor(ctx, inst, o, run)
		return o, err
	}
	run.Version = o.UpdateVersion()
	after, resolved, err := k.prepareFor(ctx, inst, o, run)
	if err != nil {
		return o, err
	}
	read, err := k.versions(ctx, inst, resolved)
	if err != nil {
		return o, err
	}
	after.Prepared.Imports, after.Prepared.ConfigGeneration = read.Versions, run.Version
	return after, nil
}

// runOf is the present job of an installation, or its last update in the continuous flow.
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

// prepareFor prepares for a run, and returns the imports that it has used, too.
func (k *kind) prepareFor(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	run dataflow.Run,
) (installation.Observed, dataflow.Resolved, error) {
	in, err := k.input(ctx, inst, run, asked(inst, run))
	if err != nil {
		return o, nil, err
	}
	out, err := k.render(ctx, in)
	if err != nil {
		return o, nil, err
	}
	hasher, err := k.keys.get(ctx)
	if err != nil {
		return o, nil, err
	}
	plan, err := k.plan(ctx, in, out)
	if err != nil {
		return o, nil, err
	}
	for _, stage := range plan.stages(run) {
		if err := child.Each(ctx, stage, func(ctx context.Context, write write) error { return write(ctx) }); err != nil {
			return o, nil, err
		}
	}
	for _, leaving := range plan.leaving {
		if err := k.deleteChild(ctx, inst, leaving); err != nil {
			return o, nil, err
		}
	}
	o.Prepared = &installation.Prepared{Generation: inst.Generation, ImportsHash: hasher.Hash(out.Resolved).All, Warnings: out.Warnings}
	plan.report(inst, &o)
	o.Done = stepsOf(inst, out)
	return o, out.Resolved, nil
}

// stepsOf returns which steps prepare has done, as far as there was anything to do.
func stepsOf(inst *lsv1alpha1.Installation, out *blueprint.Output) []lsv1alpha1.ConditionType {
	var done []lsv1alpha1.ConditionType
	if len(inst.Spec.Imports.Data)+len(inst.Spec.Imports.Targets) > 0 {
		done = append(done, lsv1alpha1.ConditionValidateImports)
	}
	if len(out.Subinstallations) > 0 {
		done = append(done, lsv1alpha1.ConditionEnsureSubInstallations)
	}
	if len(out.DeployItems) > 0 {
		done = append(done, lsv1alpha1.ConditionEnsureExecutions)
	}
	return done
}

// plan is what prepare is about to write.
type plan struct {
	// states are the writes of what templates keep, context those of what children import.
	states, context []write
	// subs and execution are the wanted children; after the writes they are as the API server has them.
	subs           []wantedSub
	execution      *lsv1alpha1.Execution
	writeExecution write
	// leaving are children that exist and are not wanted.
	leaving []client.Object
}

type wantedSub struct {
	name   string
	object *lsv1alpha1.Installation
	write  write
}

func (k *kind) plan(ctx context.Context, in input, out *blueprint.Output) (*plan, error) {
	p := &plan{}
	objects, err := out.Imports.Objects(in.owner())
	if err != nil {
		return nil, err
	}
	p.context = append(p.context, k.contextWrites(objects)...)
	if p.states, err = k.stateWrites(in.Installation, out.States); err != nil {
		return nil, err
	}
	if err := k.planExecution(ctx, in, out, p); err != nil {
		return nil, err
	}
	return p, k.planSubs(ctx, in, out, p)
}

func (k *kind) planExecution(ctx context.Context, in input, out *blueprint.Output, p *plan) error {
	inst := in.Installation
	existing, err := k.execution(ctx, k.cluster, inst)
	if err != nil {
		return err
	}
	wanted := out.Execution(inst)
	if wanted == nil {
		if existing != nil {
			p.leaving = append(p.leaving, existing)
		}
		return nil
	}
	if err := wanted.Spec.SetItems(wanted.Spec.DeployItems); err != nil {
		return err
	}
	wanted.Spec.Flow = in.run.Flow
	own(inst, wanted)
	p.execution = wanted
	p.writeExecution = func(ctx context.Context) error { return k.writeExecution(ctx, inst, wanted, existing) }
	return nil
}

func (k *kind) planSubs(ctx context.Context, in input, out *blueprint.Output, p *plan) error {
	inst := in.Installation
	existing, err := k.subinstallations(ctx, k.cluster, inst)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for i := range out.Subinstallations {
		sub := &out.Subinstallations[i]
		before := existingSub(inst, existing, sub)
		if before != nil {
			sub.ObjectName = before.Name
		}
		taken[sub.ObjectName] = true
		object := sub.Object(inst)
		object.Spec.Flow = in.run.Flow
		own(inst, object)
		p.subs = append(p.subs, wantedSub{name: sub.Name, object: object, write: func(ctx context.Context) error {
			return k.writeSub(ctx, inst, object, before)
		}})
	}
	for _, sub := range existing {
		if !taken[sub.Name] {
			p.leaving = append(p.leaving, sub.DeepCopy())
		}
	}
	return nil
}

// existingSub finds the object of a nested installation: by what the status remembers, by the annotation, or by the
// name that a new one gets.
func existingSub(
	inst *lsv1alpha1.Installation,
	existing []*lsv1alpha1.Installation,
	sub *blueprint.Subinstallation,
) *lsv1alpha1.Installation {
	remembered := ""
	if cache := inst.Status.SubInstCache; cache != nil {
		for _, pair := range cache.ActiveSubs {
			if pair.SpecName == sub.Name {
				remembered = pair.ObjectName
			}
		}
	}
	for _, matches := range []func(*lsv1alpha1.Installation) bool{
		func(e *lsv1alpha1.Installation) bool { return e.Name == remembered },
		func(e *lsv1alpha1.Installation) bool { return e.Name == sub.ObjectName },
		func(e *lsv1alpha1.Installation) bool {
			return e.Annotations[lsv1alpha1.SubinstallationNameAnnotation] == sub.Name
		},
	} {
		if i := slices.IndexFunc(existing, matches); i >= 0 {
			return existing[i]
		}
	}
	return nil
}

// own makes an installation the owner of a child, and has the child stay until its own controller lets it go.
func own(inst *lsv1alpha1.Installation, child client.Object) {
	yes := true
	child.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: installationKind, Name: inst.Name, UID: inst.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	child.SetFinalizers([]string{lsv1alpha1.Finalizer})
}

// report puts the children into the facts and into what the status remembers.
func (p *plan) report(inst *lsv1alpha1.Installation, o *installation.Observed) {
	s := installation.Snapshot{Installation: inst.DeepCopy()}
	subs := &lsv1alpha1.SubInstCache{}
	for _, sub := range p.subs {
		subs.ActiveSubs = append(subs.ActiveSubs, lsv1alpha1.NamePair{SpecName: sub.name, ObjectName: sub.object.Name})
		s.Subinstallations = append(s.Subinstallations, sub.object)
	}
	for _, leaving := range p.leaving {
		if sub, ok := leaving.(*lsv1alpha1.Installation); ok {
			subs.OrphanedSubs = append(subs.OrphanedSubs, sub.Name)
			s.Subinstallations = append(s.Subinstallations, sub)
		} else {
			s.Execution = leaving.(*lsv1alpha1.Execution)
		}
	}
	if len(subs.ActiveSubs)+len(subs.OrphanedSubs) > 0 {
		o.Prepared.Subs = subs
	}
	if p.execution != nil {
		s.Execution = p.execution
		o.Prepared.ExecutionRef = &lsv1alpha1.ObjectReference{Name: p.execution.Name, Namespace: p.execution.Namespace}
	}
	s.Installation.Status.SubInstCache, s.Installation.Status.ExecutionReference = subs, o.Prepared.ExecutionRef
	o.Children, o.Orphaned = installation.Children(s)
	for _, c := range o.Orphaned {
		// One that was deleted before, by a pass that was cut off, causes no event any more.
		if !c.Deleting {
			*o = o.With(c, leaves)
		}
	}
}
