// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/dataflow"
)

// Inputs are the costly facts: the blueprint with everything that its objects depend on, and the existing objects. They are read only when
// Needs requests them.
type Inputs struct {
	blueprint.Input
	// Run is what the objects are written for; Hasher hashes imports.
	Run    dataflow.Run
	Hasher dataflow.Hasher
	// Marks are the versions of the predecessors' exports, by the names of the predecessors.
	Marks map[string]string
	// Stored are the Secrets with the states of templates.
	Stored map[string]map[string][]byte
	// Context are the objects that the installation has written.
	Context dataflow.Objects
	// Ignored describes to the user what has no effect outside the blueprint.
	Ignored []string
	// Below contains the objects that exist below the installation.
	Below Below
	// Err is why some of the facts could not be obtained.
	Err error
}

// Below are the objects below an installation, as they were read.
type Below struct {
	Subinstallations []*lsv1alpha1.Installation
	Execution        *lsv1alpha1.Execution
}

// owner returns the owner of the context objects.
func (in Inputs) owner() dataflow.Owner {
	inst := in.Installation
	return dataflow.Owner{Namespace: inst.Namespace, Name: inst.Name, UID: inst.UID, JobID: in.Run.Version}
}

// Plan contains the objects that an installation writes, and those that it deletes.
type Plan struct {
	// Err is why there is no plan.
	Err error
	Run dataflow.Run
	// States are the contents of those Secrets with template states that differ from what is stored.
	States []StateWrite
	// Context are the objects that children import.
	Context ContextWrites
	Subs    []SubWrite
	// Execution contains the wanted execution and the existing one, if any; nil if none is wanted.
	Execution *ExecutionWrite
	// OrphanedSubs and OrphanedExecution exist and are no longer wanted.
	OrphanedSubs      []*lsv1alpha1.Installation
	OrphanedExecution *lsv1alpha1.Execution
	// Prepared is what the status records once the plan is executed; Steps are the steps that are done then.
	Prepared Prepared
	Steps    []lsv1alpha1.ConditionType
	// Generates is set if templates have generated values that are not stored.
	Generates bool
	// Kept are the states that templates have left, even if there is no plan: no error may show their values.
	Kept blueprint.States
}

// StateWrite is the wanted content of a Secret.
type StateWrite struct {
	Name string
	Data map[string][]byte
	// Exists means that a Secret of the name exists, with different content.
	Exists bool
}

// SubWrite is a nested installation, as wanted and as it exists.
type SubWrite struct {
	// Name is that in the blueprint.
	Name             string
	Wanted, Existing *lsv1alpha1.Installation
}

// ExecutionWrite is an execution, as wanted and as it exists.
type ExecutionWrite struct {
	Wanted, Existing *lsv1alpha1.Execution
}

// ContextWrites are context objects, as wanted and as they exist.
type ContextWrites struct {
	DataObjects []DataObjectWrite
	Targets     []TargetWrite
}

// DataObjectWrite is a DataObject, as wanted and as it exists.
type DataObjectWrite struct{ Wanted, Existing *lsv1alpha1.DataObject }

// TargetWrite is a Target, as wanted and as it exists.
type TargetWrite struct{ Wanted, Existing *lsv1alpha1.Target }

// NewPlan creates the plan of an installation. It reads only what templates request from components, which never
// change.
func NewPlan(engine *blueprint.Engine, in Inputs) *Plan {
	plan := &Plan{Run: in.Run}
	plan.Err = plan.fill(engine, in)
	return plan
}

func (p *Plan) fill(engine *blueprint.Engine, in Inputs) error {
	if in.Err != nil {
		return in.Err
	}
	out, err := engine.Render(in.Input)
	p.Kept = out.States
	if err != nil {
		return err
	}
	p.Generates = in.Entropy.Used() && !out.States.Within(in.States)
	objects, err := out.Imports.Objects(in.owner())
	if err != nil {
		return err
	}
	p.Context = writesOf(objects, in.Context)
	if p.States, err = stateWrites(in, out.States); err != nil {
		return err
	}
	if err := p.addExecution(in, out); err != nil {
		return err
	}
	p.addSubs(in, out)
	p.Prepared = prepared(in, out, p)
	p.Steps = stepsOf(in.Installation, out)
	return nil
}

// prepared returns what the status records.
func prepared(in Inputs, out *blueprint.Output, p *Plan) Prepared {
	inst := in.Installation
	hashes := in.Hasher.Hash(out.Resolved)
	result := Prepared{
		Generation:        inst.Generation,
		ImportsHash:       hashes.All,
		BlueprintRevision: in.Revision,
		Warnings:          slices.Concat(out.Warnings, in.Ignored),
		Overwritten:       in.Overwritten,
		StateSecrets:      stateSecrets(in, p.States),
	}
	if in.Run.Flow == lsv1alpha1.FlowContinuous {
		result.Imports, result.ConfigGeneration = ImportVersions(out.Resolved, hashes, in.Marks), in.Run.Version
	}
	subs := &lsv1alpha1.SubInstCache{}
	for _, sub := range p.Subs {
		subs.ActiveSubs = append(subs.ActiveSubs, lsv1alpha1.NamePair{SpecName: sub.Name, ObjectName: sub.Wanted.Name})
	}
	for _, sub := range p.OrphanedSubs {
		subs.OrphanedSubs = append(subs.OrphanedSubs, sub.Name)
	}
	if len(subs.ActiveSubs)+len(subs.OrphanedSubs) > 0 {
		result.Subs = subs
	}
	if p.Execution != nil {
		wanted := p.Execution.Wanted
		result.ExecutionRef = &lsv1alpha1.ObjectReference{Name: wanted.Name, Namespace: wanted.Namespace}
	}
	return result
}

// stepsOf returns the steps of a plan that are not empty.
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

func (p *Plan) addExecution(in Inputs, out *blueprint.Output) error {
	wanted := out.Execution(in.Installation)
	if wanted == nil {
		p.OrphanedExecution = in.Below.Execution
		return nil
	}
	if err := wanted.Spec.SetItems(wanted.Spec.DeployItems); err != nil {
		return err
	}
	wanted.Spec.Flow = in.Run.Flow
	own(in.Installation, wanted)
	p.Execution = &ExecutionWrite{Wanted: wanted, Existing: in.Below.Execution}
	return nil
}

func (p *Plan) addSubs(in Inputs, out *blueprint.Output) {
	inst := in.Installation
	taken := map[string]bool{}
	for i := range out.Subinstallations {
		sub := &out.Subinstallations[i]
		before := existingSub(inst, in.Below.Subinstallations, sub)
		if before != nil {
			sub.ObjectName = before.Name
		}
		taken[sub.ObjectName] = true
		p.Subs = append(p.Subs, SubWrite{Name: sub.Name, Wanted: ChildObject(in, sub), Existing: before})
	}
	for _, sub := range in.Below.Subinstallations {
		if !taken[sub.Name] {
			p.OrphanedSubs = append(p.OrphanedSubs, sub)
		}
	}
}

// ChildObject returns the object of a nested installation, with a seal if the signature of the installation above was checked.
func ChildObject(in Inputs, sub *blueprint.Subinstallation) *lsv1alpha1.Installation {
	object := sub.Object(in.Installation)
	object.Spec.Flow = in.Run.Flow
	own(in.Installation, object)
	if !in.Verified {
		return object
	}
	if seal := sealOf(in.Hasher, object); seal != nil {
		object.Annotations[SealAnnotation] = string(seal)
	}
	return object
}

// existingSub finds the object of a nested installation: by the name that the status records, by the name that a new one gets, or by the
// annotation.
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

// own makes an installation the owner of a child, and adds the finalizer that keeps the child until its own controller releases it.
func own(inst *lsv1alpha1.Installation, child metav1.Object) {
	child.SetOwnerReferences([]metav1.OwnerReference{ownerOf(inst)})
	child.SetFinalizers([]string{lsv1alpha1.Finalizer})
}

func ownerOf(inst *lsv1alpha1.Installation) metav1.OwnerReference {
	return *metav1.NewControllerRef(inst, lsv1alpha1.SchemeGroupVersion.WithKind(installationKind))
}

// TakeBack makes an installation the owner of a child again. An object has only one controller, so any other controller loses that role.
func TakeBack(inst *lsv1alpha1.Installation, child metav1.Object) {
	others := slices.DeleteFunc(slices.Clone(child.GetOwnerReferences()), func(owner metav1.OwnerReference) bool {
		return owner.Controller != nil && *owner.Controller
	})
	child.SetOwnerReferences(append(others, ownerOf(inst)))
}

// writesOf pairs wanted context objects with the existing ones.
func writesOf(wanted, existing dataflow.Objects) ContextWrites {
	var writes ContextWrites
	for _, object := range wanted.DataObjects {
		writes.DataObjects = append(writes.DataObjects, DataObjectWrite{Wanted: object, Existing: named(existing.DataObjects, object.Name)})
	}
	for _, target := range wanted.Targets {
		writes.Targets = append(writes.Targets, TargetWrite{Wanted: target, Existing: named(existing.Targets, target.Name)})
	}
	return writes
}

func named[T any, P interface {
	*T
	metav1.Object
}](objects []P, name string) P {
	i := slices.IndexFunc(objects, func(object P) bool { return object.GetName() == name })
	if i < 0 {
		return nil
	}
	return objects[i]
}

// stateWrites returns the states of templates that differ from what is stored.
func stateWrites(in Inputs, states blueprint.States) ([]StateWrite, error) {
	secrets, err := states.Secrets(in.Installation.Name)
	if err != nil {
		return nil, err
	}
	writes, err := answerWrites(in)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		stored, exists := in.Stored[name]
		if !exists || !reflect.DeepEqual(stored, secrets[name]) {
			writes = append(writes, StateWrite{Name: name, Data: secrets[name], Exists: exists})
		}
	}
	return writes, nil
}

// stateSecrets returns the names of the Secrets with states of templates, once they are written.
func stateSecrets(in Inputs, writes []StateWrite) []string {
	names := map[string]bool{}
	for name := range in.Stored {
		names[name] = true
	}
	for _, write := range writes {
		names[write.Name] = true
	}
	delete(names, dataflow.AnswersSecret(in.Installation.Name))
	return slices.Sorted(maps.Keys(names))
}

// Stage contains the writes of a plan that do not depend on each other.
type Stage struct {
	States    []StateWrite
	Context   ContextWrites
	Subs      []SubWrite
	Execution *ExecutionWrite
}

// Stages returns the writes of a plan in execution order. In the continuous flow, everything that was written before an interruption of the
// plan must be able to finish, because nothing is written again before: so the imports of children come before the children, and a nested
// installation comes after those that it imports from. The states of templates come first: a generated value must be stored before it is
// used.
func (p *Plan) Stages() []Stage {
	stages := []Stage{{States: p.States}}
	if p.Run.Flow != lsv1alpha1.FlowContinuous {
		return append(stages, Stage{Context: p.Context, Subs: p.Subs, Execution: p.Execution})
	}
	stages = append(stages, Stage{Context: p.Context})
	for _, generation := range generations(p.Subs) {
		stages = append(stages, Stage{Subs: generation})
	}
	return append(stages, Stage{Execution: p.Execution})
}

// generations sorts nested installations so that each comes after those that it imports from. Those of a cycle, which another check
// rejects, come last.
func generations(subs []SubWrite) [][]SubWrite {
	var all [][]SubWrite
	for left := slices.Clone(subs); len(left) > 0; {
		exported := map[dataflow.ObjectID]string{}
		for _, sub := range left {
			for _, id := range ExportsOf(sub.Wanted) {
				exported[id] = sub.Name
			}
		}
		waits := func(sub SubWrite) bool {
			return slices.ContainsFunc(ImportsOf(sub.Wanted), func(id dataflow.ObjectID) bool {
				return exported[id] != "" && exported[id] != sub.Name
			})
		}
		ready := slices.DeleteFunc(slices.Clone(left), waits)
		if len(ready) == 0 {
			ready = left
		}
		all = append(all, ready)
		left = slices.DeleteFunc(slices.Clone(left), func(sub SubWrite) bool {
			return slices.ContainsFunc(ready, func(r SubWrite) bool { return r.Name == sub.Name })
		})
	}
	return all
}

// Carried returns the facts after the execution of the plan, when its wanted objects are as the API server returned them.
func (p *Plan) Carried(inst *lsv1alpha1.Installation, o Observed) Observed {
	done := p.Prepared
	o.Prepared, o.Done, o.Plan = &done, p.Steps, nil
	s := Snapshot{Installation: inst.DeepCopy(), Execution: p.OrphanedExecution}
	for _, sub := range p.Subs {
		s.Subinstallations = append(s.Subinstallations, sub.Wanted)
	}
	s.Subinstallations = append(s.Subinstallations, p.OrphanedSubs...)
	if p.Execution != nil {
		s.Execution = p.Execution.Wanted
	}
	s.Installation.Status.SubInstCache, s.Installation.Status.ExecutionReference = done.Subs, done.ExecutionRef
	if done.Subs == nil {
		s.Installation.Status.SubInstCache = &lsv1alpha1.SubInstCache{}
	}
	o.Children, o.Orphaned = Children(s)
	for _, c := range o.Orphaned {
		// A child that was deleted before, by an interrupted pass, causes no further event.
		if !c.Deleting {
			o = o.With(c, MarkDeleted)
		}
	}
	return o
}
