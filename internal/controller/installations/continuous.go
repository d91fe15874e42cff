// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/continuous"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

// observeContinuously reads everything that a decision of the continuous flow may depend on.
func (f flows) observeContinuously(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (continuous.Installation, error) {
	s := continuous.InstallationSnapshot{Snapshot: installation.Snapshot{Installation: inst, Now: now}}
	o := continuous.LookAtInstallation(s)
	if o.Ignored && o.Phase.IsCompleted() || !o.Finalizer {
		return o, nil
	}
	for _, read := range []func(context.Context, *continuous.InstallationSnapshot) error{f.readSiblings, f.readChildren, f.readImports, f.readExported} {
		if err := read(ctx, &s); err != nil {
			return o, err
		}
	}
	if o = continuous.LookAtInstallation(s); !o.NeedsCertainty() {
		return o, nil
	}
	// The replica before this one may have written what the cache does not show yet.
	err := f.askFor(ctx, &s.Snapshot, f.newest.Unknown)
	return continuous.LookAtInstallation(s), err
}

// askFor reads children at the API server if the cache does not show them well enough. Nested installations are read all together: one of
// them tells others to look at their imports before it is called completed, and seen one by one they might not have been told yet.
func (f flows) askFor(ctx context.Context, s *installation.Snapshot, unclear func(client.Object) bool) (err error) {
	if slices.ContainsFunc(s.Subinstallations, func(sub *lsv1alpha1.Installation) bool { return unclear(sub) }) {
		if s.Subinstallations, err = f.subinstallations(ctx, f.live, s.Installation); err != nil {
			return err
		}
		for _, sub := range s.Subinstallations {
			f.newest.Note(sub)
		}
	}
	if s.Execution != nil && unclear(s.Execution) {
		if s.Execution, err = f.execution(ctx, f.live, s.Installation); err != nil {
			return err
		}
		if s.Execution != nil {
			f.newest.Note(s.Execution)
		}
	}
	return f.confirmMissing(ctx, s)
}

func (f flows) readSiblings(ctx context.Context, s *continuous.InstallationSnapshot) (err error) {
	inst := s.Installation
	if s.Successors, err = relatedBy(ctx, f.cluster, inst, importsIndex, exportsOf(inst)); err != nil || !inst.DeletionTimestamp.IsZero() {
		return err
	}
	if s.Predecessors, err = relatedBy(ctx, f.cluster, inst, exportsIndex, importsOf(inst)); err != nil {
		return err
	}
	s.DependencyError, err = f.trouble(ctx, inst, s.Predecessors)
	return err
}

// readChildren reads what is below an installation. What the cache does not show is asked for at the API server.
func (f flows) readChildren(ctx context.Context, s *continuous.InstallationSnapshot) (err error) {
	inst := s.Installation
	if s.Subinstallations, err = f.subinstallations(ctx, f.cluster, inst); err != nil {
		return err
	}
	if s.Execution, err = f.execution(ctx, f.cluster, inst); err != nil {
		return err
	}
	if !inst.DeletionTimestamp.IsZero() && len(s.Subinstallations) == 0 && s.Execution == nil {
		return f.confirmNothingLeft(ctx, &s.Snapshot)
	}
	return f.askFor(ctx, &s.Snapshot, f.newest.Behind)
}

// readImports finds out which versions the imports have now.
func (f flows) readImports(ctx context.Context, s *continuous.InstallationSnapshot) error {
	inst := s.Installation
	scope, err := f.expectedScope(ctx, inst)
	if err != nil {
		return err
	}
	facts, err := f.importFacts(ctx, scope, inst, asked(inst))
	if err != nil {
		return err
	}
	resolved, err := dataflow.Resolve(scope, inst.Spec.Imports, facts)
	if err != nil {
		s.Imports = &continuous.Read{Err: err}
		return nil
	}
	exporters, err := f.exporters(ctx, inst)
	if err != nil {
		return err
	}
	if err := continuous.Foreign(scope, facts, exporters); err != nil {
		s.Imports = &continuous.Read{Err: err}
		return nil
	}
	s.Imports, err = f.versions(ctx, inst, resolved)
	return err
}

// readExported finds out whether what an installation has exported still exists. What the cache does not show is asked for at the
// API server: it may have been written a moment ago.
func (f flows) readExported(ctx context.Context, s *continuous.InstallationSnapshot) error {
	inst := s.Installation
	if inst.Status.Phase != lsv1alpha1.PhaseSucceeded || !inst.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, id := range exportsOf(inst) {
		object := emptyOf(id)
		key := client.ObjectKey{Namespace: inst.Namespace, Name: id.Name}
		err := f.cluster.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			err = f.live.Get(ctx, key, object)
		}
		switch {
		case apierrors.IsNotFound(err):
			s.ExportsGone = append(s.ExportsGone, fmt.Sprintf("%s %s", id.Kind, id.Name))
		case err != nil:
			return fmt.Errorf("read %s %s, which it exports: %w", id.Kind, id.Name, err)
		}
	}
	return nil
}

// exporters returns the installations of the namespace that export what this one imports, wherever they are.
func (f flows) exporters(ctx context.Context, inst *lsv1alpha1.Installation) ([]*lsv1alpha1.Installation, error) {
	var all []*lsv1alpha1.Installation
	for _, key := range keysOf(importsOf(inst)) {
		var list lsv1alpha1.InstallationList
		err := f.cluster.List(ctx, &list, client.InNamespace(inst.Namespace), client.MatchingFields{exportsIndex: key}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("find who exports %s: %w", key, err)
		}
		all = append(all, pointers(list.Items)...)
	}
	return all, nil
}

// versions tells which versions imports have.
func (f flows) versions(ctx context.Context, inst *lsv1alpha1.Installation, resolved dataflow.Resolved) (*continuous.Read, error) {
	hasher, err := f.keys.get(ctx)
	if err != nil {
		return nil, err
	}
	predecessors, err := relatedBy(ctx, f.cluster, inst, exportsIndex, importsOf(inst))
	if err != nil {
		return nil, err
	}
	marks := map[string]string{}
	for _, p := range predecessors {
		marks[p.Name] = continuous.Mark(p)
	}
	hashes := hasher.Hash(resolved)
	return &continuous.Read{Versions: continuous.Versions(resolved, hashes, marks), Hash: hashes.All}, nil
}

// marked is an installation whose objects carry a version where those of a job carry its ID.
func marked(inst *lsv1alpha1.Installation, version string) *lsv1alpha1.Installation {
	inst = following(inst, lsv1alpha1.FlowContinuous).DeepCopy()
	inst.Status.JobID, inst.Status.JobIDFinished = version, version
	return inst
}

// actContinuously executes one effect of the continuous flow.
func (f flows) actContinuously(ctx context.Context, inst *lsv1alpha1.Installation, o continuous.Installation, effect installation.Effect) (continuous.Installation, error) {
	var err error
	switch e := effect.(type) {
	case installation.Prepare:
		return f.prepareContinuously(ctx, inst, o)
	case installation.Export:
		o.Observed, err = f.exportContinuously(ctx, marked(inst, inst.Status.ConfigGeneration), o.Observed)
	case installation.Notify:
		err = f.trigger(ctx, marked(inst, inst.Status.ConfigGeneration), e.Successors)
	case continuous.Inform:
		o.Observed, err = f.ask(ctx, inst, o.Observed, o.Untold())
	case installation.Ask:
		o.Observed, err = f.ask(ctx, inst, o.Observed, e)
	case installation.Convert:
		o.Observed, err = f.convert(ctx, inst, o.Observed, e)
	case continuous.Leave, continuous.Enter:
		// The status write alone does it.
	case installation.DropOperation:
		o.Operation = ""
		o.Observed, err = f.kind.Act(ctx, inst, o.Observed, effect)
	default:
		o.Observed, err = f.kind.Act(ctx, inst, o.Observed, effect)
	}
	return o, err
}

func (f flows) prepareContinuously(ctx context.Context, inst *lsv1alpha1.Installation, o continuous.Installation) (continuous.Installation, error) {
	view := marked(inst, o.UpdateVersion())
	after, resolved, err := f.prepareWith(ctx, view, o.Observed)
	if err != nil {
		return o, err
	}
	read, err := f.versions(ctx, inst, resolved)
	if err != nil {
		return o, err
	}
	o.Observed = after
	o.Prepared.Imports, o.Prepared.ConfigGeneration = read.Versions, o.UpdateVersion()
	return o, nil
}

// exportContinuously writes the exports with the version of the last update.
func (f flows) exportContinuously(ctx context.Context, view *lsv1alpha1.Installation, o installation.Observed) (installation.Observed, error) {
	in, err := f.input(ctx, view, asked(view))
	if err != nil {
		return o, err
	}
	if len(view.Spec.Exports.Data)+len(view.Spec.Exports.Targets) > 0 {
		if err := f.writeExports(ctx, in); err != nil {
			return o, err
		}
		o.Done = append(o.Done, lsv1alpha1.ConditionCreateExports)
	}
	return o, f.removeLeftovers(ctx, view)
}

// trigger asks successors to look at their imports. Those of the job flow are asked for a job.
func (f flows) trigger(ctx context.Context, view *lsv1alpha1.Installation, successors []string) error {
	return child.Each(ctx, successors, func(ctx context.Context, name string) error {
		var successor lsv1alpha1.Installation
		if err := f.cluster.Get(ctx, client.ObjectKey{Namespace: view.Namespace, Name: name}, &successor); err != nil {
			return client.IgnoreNotFound(err)
		}
		switch continuously := installation.FlowOf(&successor) == lsv1alpha1.FlowContinuous; {
		case continuously && successor.Status.Phase == lsv1alpha1.PhaseAborted:
			return nil // somebody wants it to stay as it is
		case continuously:
			return f.requestReconcile(ctx, &successor)
		case installation.IsRoot(&successor):
			return f.notify(ctx, view, []string{name})
		default:
			return nil
		}
	})
}

func (f flows) requestReconcile(ctx context.Context, successor *lsv1alpha1.Installation) error {
	if successor.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		return nil
	}
	return loop.PatchMetadata(ctx, f.cluster, successor, func(m metav1.Object) {
		m.SetAnnotations(merged(m.GetAnnotations(), map[string]string{lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationReconcile)}))
	})
}

// ask sets the operation annotation of children, and returns the facts as they are then.
func (f flows) ask(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed, e installation.Ask) (installation.Observed, error) {
	return f.eachChild(ctx, inst, o, childWrite{e.Children, func(ctx context.Context, object client.Object) error {
		return child.Annotate(ctx, f.cluster, object, lsv1alpha1.OperationAnnotation, string(e.Operation))
	}, func(c *installation.Child) { c.Operation = e.Operation }})
}

// convert changes the flow of children, unless they have changed meanwhile.
func (f flows) convert(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed, e installation.Convert) (installation.Observed, error) {
	return f.eachChild(ctx, inst, o, childWrite{e.Children, func(ctx context.Context, object client.Object) error {
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": object.GetResourceVersion(), "uid": object.GetUID()},
			"spec":     map[string]any{"flow": e.Flow},
		})
		if err != nil {
			return failure.NewTerminal(failure.Details{Operation: "ChangeFlow"}, err)
		}
		if err := f.cluster.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return fmt.Errorf("change the flow of %s: %w", object.GetName(), err)
		}
		return nil
	}, func(c *installation.Child) { c.Flow, c.UpToDate = e.Flow, false }})
}

// childWrite is something that is done to children, and how the facts about each are changed by it.
type childWrite struct {
	children []installation.Child
	do       func(context.Context, client.Object) error
	change   func(*installation.Child)
}

// eachChild does something to children, and returns the facts as they are then.
func (f flows) eachChild(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed, w childWrite) (installation.Observed, error) {
	objects := make([]client.Object, len(w.children))
	for i, c := range w.children {
		objects[i] = objectOf(inst, c)
	}
	err := child.Each(ctx, objects, func(ctx context.Context, object client.Object) error { return client.IgnoreNotFound(w.do(ctx, object)) })
	if err != nil {
		return o, err
	}
	for i, c := range w.children {
		f.newest.Note(objects[i])
		o = o.With(c, func(c *installation.Child) {
			c.Version = objects[i].GetResourceVersion()
			w.change(c)
		})
	}
	return o, nil
}
