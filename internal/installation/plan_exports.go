// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// ExportInputs are the inputs of exports, and the existing objects of their names.
type ExportInputs struct {
	Inputs
	Values   blueprint.ExportValues
	Existing dataflow.Objects
}

// ExportPlan is what an installation exports, and the leftovers of earlier runs in its context.
type ExportPlan struct {
	// Err is why there is no plan.
	Err     error
	States  []StateWrite
	Exports ContextWrites
	// Leftovers are context objects of earlier runs.
	Leftovers dataflow.Objects
	// Steps are those that are done once the plan is executed.
	Steps []lsv1alpha1.ConditionType
	// Generates is set if templates have generated values that are not stored.
	Generates bool
	// Kept are the states that templates have left, even if there is no plan: no error may show their values.
	Kept blueprint.States
	// Warnings name values that the blueprint does not declare, and declared values that are missing but not required.
	Warnings []string
}

// NewExportPlan creates the plan of the exports.
func NewExportPlan(engine *blueprint.Engine, in ExportInputs) *ExportPlan {
	plan := &ExportPlan{}
	plan.Err = plan.fill(engine, in)
	return plan
}

func (p *ExportPlan) fill(engine *blueprint.Engine, in ExportInputs) error {
	if in.Err != nil {
		return in.Err
	}
	if in.Run.Flow != lsv1alpha1.FlowContinuous {
		if err := ImportsChanged(in.Inputs); err != nil {
			return err
		}
	}
	if !Exports(in.Installation) {
		p.Leftovers = leftovers(in)
		return nil
	}
	exports, states, err := engine.Exports(in.Input, in.Values)
	p.Kept = states
	if err != nil {
		return err
	}
	p.Generates, p.Warnings = in.Entropy.Used() && !states.Within(in.States), exports.Warnings
	objects, err := exports.Objects(in.Scope, in.owner(), ownersOf(in.Existing))
	if err != nil {
		return err
	}
	p.Exports = writesOf(objects, in.Existing)
	p.Steps = []lsv1alpha1.ConditionType{lsv1alpha1.ConditionCreateExports}
	p.Leftovers = leftovers(in)
	p.States, err = stateWrites(in.Inputs, states)
	return err
}

// Exports reports whether an installation exports anything.
func Exports(inst *lsv1alpha1.Installation) bool {
	return len(inst.Spec.Exports.Data)+len(inst.Spec.Exports.Targets) > 0
}

// ImportsChanged returns an error if the imports differ from those that the job started with. For a job that an earlier controller started,
// the initial imports are unknown.
func ImportsChanged(in Inputs) error {
	resolved, err := dataflow.Resolve(in.Scope, in.Installation.Spec.Imports, in.Facts)
	if err != nil {
		return importsChanged(fmt.Errorf("an import changed during the job: %w", err))
	}
	if began := in.Installation.Status.ImportsHash; dataflow.IsHash(began) && in.Hasher.Hash(resolved).All != began {
		return importsChanged(errors.New("the imports changed during the job, so the exports would not match them; start a new job"))
	}
	return nil
}

func importsChanged(err error) error {
	return failure.NewTerminal(failure.Details{Operation: string(lsv1alpha1.ConditionCreateExports), Reason: "ImportsChanged"}, err)
}

// leftovers returns the context objects of an installation that belong to another run than the current one, and are not about to be
// exported: the spec or the blueprint no longer contains them.
func leftovers(in ExportInputs) dataflow.Objects {
	exported := ExportsOf(in.Installation)
	stays := func(kind dataflow.ObjectKind, object metav1.Object) bool {
		return object.GetLabels()[lsv1alpha1.DataObjectJobIDLabel] == in.Run.Version ||
			slices.Contains(exported, dataflow.ObjectID{Kind: kind, Name: object.GetName()})
	}
	return dataflow.Objects{
		DataObjects: slices.DeleteFunc(slices.Clone(in.Context.DataObjects), func(o *lsv1alpha1.DataObject) bool {
			return stays(dataflow.KindDataObject, o)
		}),
		Targets: slices.DeleteFunc(slices.Clone(in.Context.Targets), func(o *lsv1alpha1.Target) bool {
			return stays(dataflow.KindTarget, o)
		}),
	}
}

// ownersOf returns the owners of the objects that the exports will replace.
func ownersOf(objects dataflow.Objects) dataflow.Existing {
	owners := dataflow.Existing{}
	for _, object := range objects.DataObjects {
		owners[dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: object.Name}] = object.OwnerReferences
	}
	for _, target := range objects.Targets {
		owners[dataflow.ObjectID{Kind: dataflow.KindTarget, Name: target.Name}] = target.OwnerReferences
	}
	return owners
}
