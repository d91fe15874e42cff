// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

//espalier:rights installations
//	create,update,patch,delete installations: nested installations
//	create,update,patch,delete executions: the execution of an installation
//	patch installations/status,executions/status: the job is passed on
//	update installations/finalizers: children block the deletion of their owner, which some API servers permit only so

// writeExecution creates or updates the execution. Afterwards, w.Wanted is what the API server has.
func (k *kind) writeExecution(ctx context.Context, inst *lsv1alpha1.Installation, w installation.ExecutionWrite) error {
	wanted, existing := w.Wanted, w.Existing
	if existing == nil {
		existing = &lsv1alpha1.Execution{}
		found, err := k.create(ctx, wanted, existing)
		if err != nil || !found {
			return err
		}
		if !belongsTo(existing, inst) && !lost(existing, inst) {
			return taken("Execution", wanted.Name)
		}
	}
	changed := existing.DeepCopy()
	changed.Spec = wanted.Spec
	changed.Annotations = merged(existing.Annotations, wanted.Annotations)
	keepOurs(changed, wanted)
	if existing.DeletionTimestamp.IsZero() && !(sameJSON(existing.Spec, changed.Spec) && sameMetadata(existing, changed)) {
		if err := k.cluster.Update(ctx, changed); err != nil {
			return refused(fmt.Errorf("update the execution: %w", err))
		}
	}
	*wanted = *changed
	return nil
}

// writeSub creates or updates a nested installation. Afterwards, w.Wanted is what the API server has.
func (k *kind) writeSub(ctx context.Context, inst *lsv1alpha1.Installation, w installation.SubWrite) error {
	wanted, existing := w.Wanted, w.Existing
	if existing == nil {
		existing = &lsv1alpha1.Installation{}
		found, err := k.create(ctx, wanted, existing)
		if err != nil || !found {
			return err
		}
		if !belongsTo(existing, inst) {
			return taken(installationKind, wanted.Name)
		}
	}
	changed := existing.DeepCopy()
	changed.Spec = wanted.Spec
	changed.Labels = replaceOwn(existing.Labels, wanted.Labels)
	changed.Annotations = merged(existing.Annotations, wanted.Annotations)
	keepOurs(changed, wanted)
	if existing.DeletionTimestamp.IsZero() && !(sameJSON(existing.Spec, changed.Spec) && sameMetadata(existing, changed)) {
		if err := k.cluster.Update(ctx, changed); err != nil {
			return refused(fmt.Errorf("update nested installation %s: %w", wanted.Name, err))
		}
	}
	*wanted = *changed
	return nil
}

// keepOurs restores the owner and the finalizer of a child if another client has removed them.
func keepOurs(child, wanted client.Object) {
	for _, owner := range wanted.GetOwnerReferences() {
		if !slices.ContainsFunc(child.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			child.SetOwnerReferences(append(child.GetOwnerReferences(), owner))
		}
	}
	addFinalizer(child)
}

func merged(base, over map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range []map[string]string{base, over} {
		for name, value := range m {
			result[name] = value
		}
	}
	return result
}

// refused makes an error terminal if the API server finds an object invalid: it stays invalid until the blueprint or an import changes.
func refused(err error) error {
	if !apierrors.IsInvalid(err) {
		return err
	}
	return failure.NewTerminal(failure.Details{
		Operation: "CreateSubObjects",
		Reason:    "InvalidSubObject",
		Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, err)
}

// taken is the error that another object has the name of a child.
func taken(kind, name string) error {
	return failure.Terminalf(failure.Details{
		Operation: "CreateSubObjects",
		Reason:    "NameTaken",
		Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	},
		"%s %s already exists and does not belong to this installation; delete or rename one of them", kind, name)
}

// create creates an object. If an object with this name exists that the cache does not show, create reads it into existing and returns
// true.
func (k *kind) create(ctx context.Context, wanted, existing client.Object) (found bool, err error) {
	err = k.cluster.Create(ctx, wanted)
	if err == nil {
		return false, nil
	}
	if client.IgnoreAlreadyExists(err) != nil {
		return false, child.NoRoom(refused(fmt.Errorf("create %s: %w", wanted.GetName(), err)))
	}
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(wanted), existing); err != nil {
		return false, fmt.Errorf("read %s: %w", wanted.GetName(), err)
	}
	return true, nil
}

// sameJSON reports whether two values look the same to the API server.
func sameJSON(a, b any) bool {
	return equality.Semantic.DeepEqual(plain(a), plain(b))
}

func plain(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var result any
	if err := json.Unmarshal(text, &result); err != nil {
		return err
	}
	return result
}

// objectOf returns a child with the fields that a write needs.
func objectOf(inst *lsv1alpha1.Installation, c installation.Child) client.Object {
	meta := metav1.ObjectMeta{Namespace: inst.Namespace, Name: c.Name, UID: types.UID(c.UID), ResourceVersion: c.Version}
	if c.Deleting {
		// Only the fact that it is set matters, not the time.
		meta.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	if c.Kind == installation.ChildExecution {
		return &lsv1alpha1.Execution{ObjectMeta: meta}
	}
	return &lsv1alpha1.Installation{ObjectMeta: meta}
}

// propagateJob makes the job the current one of children, and returns the facts afterwards.
func (k *kind) propagateJob(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	children []installation.Child,
) (installation.Observed, error) {
	objects := make([]client.Object, len(children))
	for i, c := range children {
		objects[i] = objectOf(inst, c)
	}
	err := child.Each(ctx, objects, func(ctx context.Context, object client.Object) error {
		return client.IgnoreNotFound(child.PropagateJob(ctx, k.cluster, object, o.Job.ID, o.Now))
	})
	if err != nil {
		return o, err
	}
	for i, c := range children {
		o = o.With(c, func(c *installation.Child) {
			c.Job.ID, c.Version = o.Job.ID, objects[i].GetResourceVersion()
		})
	}
	return o, nil
}

// interrupt passes the interrupt on to children.
func (k *kind) interrupt(ctx context.Context, inst *lsv1alpha1.Installation, children []installation.Child) error {
	return child.Each(ctx, children, func(ctx context.Context, c installation.Child) error {
		if c.Presence != installation.Present {
			return nil
		}
		err := child.Annotate(ctx, k.cluster, objectOf(inst, c), lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt))
		return client.IgnoreNotFound(err)
	})
}

// tell marks children: the tree is being deleted, and possibly what they have installed stays.
func (k *kind) tell(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	children []installation.Child,
) (installation.Observed, error) {
	objects := make([]client.Object, len(children))
	for i, c := range children {
		objects[i] = objectOf(inst, c)
	}
	err := child.Each(ctx, objects, func(ctx context.Context, object client.Object) error {
		return client.IgnoreNotFound(child.TellOfDeletion(ctx, k.cluster, object, o.WithoutUninstall))
	})
	if err != nil {
		return o, err
	}
	for i, c := range children {
		o = o.With(c, func(c *installation.Child) {
			c.Version, c.DeletionAsked, c.WithoutUninstall = objects[i].GetResourceVersion(), true, c.WithoutUninstall || o.WithoutUninstall
		})
	}
	return o, nil
}

// deleteChildren deletes children and returns the facts afterwards.
func (k *kind) deleteChildren(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	children []installation.Child,
) (installation.Observed, error) {
	objects := make([]client.Object, len(children))
	for i, c := range children {
		objects[i] = objectOf(inst, c)
	}
	remove := func(ctx context.Context, object client.Object) error { return k.deleteChild(ctx, inst, object) }
	if err := child.Each(ctx, objects, remove); err != nil {
		return o, err
	}
	for i, before := range children {
		o = o.With(before, func(c *installation.Child) {
			c.Version, c.WithoutUninstall = objects[i].GetResourceVersion(), c.WithoutUninstall || o.WithoutUninstall
			if !before.Deleting {
				installation.MarkDeleted(c)
			}
		})
	}
	return o, nil
}

// deleteChild deletes a child, and first marks it if what it has installed stays.
func (k *kind) deleteChild(ctx context.Context, inst *lsv1alpha1.Installation, object client.Object) error {
	if installation.IsMarked(inst, lsv1alpha1.DeleteWithoutUninstallAnnotation) && !inst.DeletionTimestamp.IsZero() {
		err := child.Annotate(ctx, k.cluster, object, lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
		if err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return child.Delete(ctx, k.cluster, object)
}

// ask sets the operation annotation of children, and returns the facts afterwards.
func (k *kind) ask(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	e installation.Ask,
) (installation.Observed, error) {
	return k.eachChild(ctx, inst, o, childWrite{e.Children, func(ctx context.Context, object client.Object) error {
		return child.Annotate(ctx, k.cluster, object, lsv1alpha1.OperationAnnotation, string(e.Operation))
	}, func(c *installation.Child) { c.Operation = e.Operation }})
}

// convert changes the flow of children, unless they have changed meanwhile.
func (k *kind) convert(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	e installation.Convert,
) (installation.Observed, error) {
	return k.eachChild(ctx, inst, o, childWrite{e.Children, func(ctx context.Context, object client.Object) error {
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": object.GetResourceVersion(), "uid": object.GetUID()},
			"spec":     map[string]any{"flow": e.Flow},
		})
		if err != nil {
			return failure.NewTerminal(failure.Details{Operation: "ChangeFlow"}, err)
		}
		if err := k.cluster.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return fmt.Errorf("change the flow of %s: %w", object.GetName(), err)
		}
		return nil
	}, func(c *installation.Child) { c.Flow, c.UpToDate = e.Flow, false }})
}

// childWrite is an action on children, and the change that it makes to the facts about each.
type childWrite struct {
	children []installation.Child
	do       func(context.Context, client.Object) error
	change   func(*installation.Child)
}

// eachChild executes an action on children, and returns the facts afterwards.
func (k *kind) eachChild(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	w childWrite,
) (installation.Observed, error) {
	objects := make([]client.Object, len(w.children))
	for i, c := range w.children {
		objects[i] = objectOf(inst, c)
	}
	err := child.Each(ctx, objects, func(ctx context.Context, object client.Object) error { return client.IgnoreNotFound(w.do(ctx, object)) })
	if err != nil {
		return o, err
	}
	for i, c := range w.children {
		o = o.With(c, func(c *installation.Child) {
			c.Version = objects[i].GetResourceVersion()
			w.change(c)
		})
	}
	return o, nil
}

// adopt restores the owner of children, unless they have changed meanwhile.
func (k *kind) adopt(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	children []installation.Child,
) (installation.Observed, error) {
	for _, object := range objectsBelow(o.Below) {
		i := slices.IndexFunc(children, func(c installation.Child) bool { return c.UID == string(object.GetUID()) })
		if i < 0 {
			continue
		}
		err := loop.PatchMetadata(ctx, k.cluster, object, func(m metav1.Object) { installation.TakeBack(inst, m) })
		if client.IgnoreNotFound(err) != nil {
			return o, err
		}
		o = o.With(children[i], func(c *installation.Child) { c.Version, c.Unowned = object.GetResourceVersion(), false })
	}
	return o, nil
}

// objectsBelow returns copies of the objects below an installation, as they were read.
func objectsBelow(below installation.Below) []client.Object {
	var objects []client.Object
	for _, sub := range below.Subinstallations {
		objects = append(objects, sub.DeepCopy())
	}
	if below.Execution != nil {
		objects = append(objects, below.Execution.DeepCopy())
	}
	return objects
}
