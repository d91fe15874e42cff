// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/offline"
)

// Future is the input of the deployers in the next job of a tree. Nothing in it is masked.
type Future struct {
	Items []Item
	// Targets are the Targets that the job would make, by name. Other Targets are in the cluster.
	Targets map[string]*lsv1alpha1.Target
	// Nested are the installations that the job would make or update below the installation.
	Nested []*lsv1alpha1.Installation
	// Notes list what could not be determined in advance, and what has no effect. Failed lists the nested installations that cannot be
	// rendered, with the reasons. Both contain no secrets.
	Notes, Failed []string
	// Secrets are the values that must not be shown.
	Secrets *masking.Values
}

// Item is a deploy item as the next job would have it.
type Item struct {
	// Within is the path of its installation, such as shop/database, and Title its name in the blueprint.
	Within, Title string
	// Object has the spec of the next job and the status of the last one. If the job would delete it, it has a deletion timestamp.
	Object *lsv1alpha1.DeployItem
	// Idle reports whether the job would leave the item alone, because it has not changed and asks for that.
	Idle bool
}

// Items returns the deploy items of an installation that is among the manifests, and of everything below it. Other manifests take
// precedence over objects in the cluster. Errors are those of NextJob.
func (r Reader) Items(ctx context.Context, inst *lsv1alpha1.Installation, manifests *offline.Manifests) (*Future, error) {
	l, err := r.newComparison(ctx, inst)
	if err != nil {
		return nil, err
	}
	l.hide(manifests)
	if err := l.hideFormer(ctx); err != nil {
		return nil, err
	}
	result, tree, err := l.render(ctx, manifests)
	if err != nil {
		return nil, err
	}
	future := &Future{Targets: tree.targets, Secrets: l.secrets}
	for _, target := range tree.targets {
		l.secrets.AddTarget(target)
	}
	for _, nested := range tree.nested {
		future.Nested = append(future.Nested, nested...)
	}
	for _, of := range result.Made {
		if err := l.addFuture(ctx, future, of, tree); err != nil {
			return nil, err
		}
	}
	for _, failed := range result.Failed {
		future.Failed = append(future.Failed, l.secrets.Text(failed))
	}
	result.Failed = nil
	future.Notes = l.notesOf(result)
	return future, nil
}

// hideFormer hides the values that the deployed objects were made from: those that the installation in the cluster imports, and those that
// the last job found in Secrets, which may have changed since.
func (l *comparison) hideFormer(ctx context.Context) error {
	var former lsv1alpha1.Installation
	err := l.Client.Get(ctx, client.ObjectKeyFromObject(l.root), &former)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return &ReadError{Verb: "get", Resource: installations, Namespace: l.root.Namespace, What: "read Installation " + l.root.Name, Err: err}
	}
	inside := dataflow.Scope{Namespace: former.Namespace, Parent: former.Name}
	var names []string
	for _, data := range slices.Concat(former.Spec.Imports.Data, l.root.Spec.Imports.Data) {
		if data.SecretRef != nil {
			names = append(names, inside.ObjectName(data.Name))
		}
	}
	found, err := gather[lsv1alpha1.DataObject](ctx, l.Cluster, dataObjects, at{former.Namespace, without[*lsv1alpha1.DataObject](names, nil)})
	if err != nil {
		return err
	}
	for _, object := range found {
		text := ""
		if object.Data.Decode(&text) != nil {
			text = string(object.Data.Raw)
		}
		l.secrets.AddText(text)
	}
	outside := dataflow.Scope{Namespace: former.Namespace, Parent: former.Labels[lsv1alpha1.EncompassedByLabel]}
	_, err = l.present(ctx, offline.Wanted{Scope: outside, Needs: dataflow.NeedsOf(outside, former.Spec.Imports)})
	return err
}

// addFuture adds the items that an installation would have, and those that would be deleted: its own, and those of nested
// installations that would be deleted.
func (l *comparison) addFuture(ctx context.Context, future *Future, of offline.Made, next *tree) error {
	before, err := l.items(ctx, of)
	if err != nil {
		return err
	}
	after, err := next.items(of)
	if err != nil {
		return err
	}
	for _, each := range after {
		i := slices.IndexFunc(before, func(b item) bool { return b.name == each.name && b.spec.Type == each.spec.Type })
		if i >= 0 {
			each.stored = before[i].stored
			before = slices.Delete(before, i, i+1)
		}
		future.Items = append(future.Items, each.next(of.Path))
	}
	for _, each := range before {
		future.Items = append(future.Items, each.gone(of.Path))
	}
	existing, err := l.nestedIn(ctx, of.Namespace, of.Name)
	if err != nil {
		return err
	}
	for _, inst := range existing {
		stays := slices.ContainsFunc(next.nested[of.Name], func(n *lsv1alpha1.Installation) bool { return n.Name == inst.Name })
		if stays {
			continue
		}
		if err := l.addGoing(ctx, future, inst, of.Path); err != nil {
			return err
		}
	}
	return nil
}

// addGoing adds everything that would be deleted with a nested installation.
func (l *comparison) addGoing(ctx context.Context, future *Future, inst *lsv1alpha1.Installation, above string) error {
	path := above + "/" + cmp.Or(inst.Annotations[lsv1alpha1.SubinstallationNameAnnotation], inst.Name)
	items, err := l.items(ctx, offline.Made{Namespace: inst.Namespace, Name: inst.Name})
	if err != nil {
		return err
	}
	for _, each := range items {
		future.Items = append(future.Items, each.gone(path))
	}
	below, err := l.nestedIn(ctx, inst.Namespace, inst.Name)
	if err != nil {
		return err
	}
	for _, each := range below {
		if err := l.addGoing(ctx, future, each, path); err != nil {
			return err
		}
	}
	return nil
}

// next returns an item as the job would have it.
func (i item) next(path string) Item {
	object := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
		Namespace: i.of.Namespace, Name: execution.ItemName(i.of.Name, i.name),
		Labels: map[string]string{lsv1alpha1.ExecutionManagedByLabel: i.of.Name, lsv1alpha1.ExecutionManagedNameLabel: i.name},
	}}
	idle := false
	if i.stored != nil {
		object = i.stored.DeepCopy()
		idle = i.spec.UpdateOnChangeOnly && object.Status.Phase == lsv1alpha1.PhaseSucceeded &&
			object.Status.ObservedGeneration == object.Generation &&
			reflect.DeepEqual(contentOf(object.Spec, nil), contentOf(i.spec, nil))
	}
	object.Spec = i.spec
	return Item{Within: path, Title: i.name, Object: object, Idle: idle}
}

// gone returns an item that the job would delete.
func (i item) gone(path string) Item {
	object := i.stored.DeepCopy()
	if object.DeletionTimestamp.IsZero() {
		object.DeletionTimestamp = &metav1.Time{Time: object.CreationTimestamp.Time}
	}
	return Item{Within: path, Title: strings.TrimSpace(cmp.Or(i.name, object.Name)), Object: object}
}
