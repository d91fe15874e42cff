// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
)

// Run removes objects in as many passes as it takes.
type Run struct {
	Cluster cluster.Cluster
	// Find returns the clusters of other Targets, for groups that name one.
	Find  cluster.Finder
	Owner inventory.Owner
	// Groups are the deletion groups in order; none means the default.
	Groups []deployer.DeletionGroup
	// Inventory is updated: objects that are gone or not ours are dropped.
	Inventory *inventory.Inventory
	// Stays reports which entries must not be removed; nil means that all are.
	Stays func(inventory.Key) bool
	// Spared are objects that must stay even though an entry refers to them: when a kind moves to another group, the same
	// object has two names.
	Spared map[types.UID]bool

	kept map[inventory.Key]bool
}

// Pass removes as many objects as possible: a group starts once the previous one is empty. It returns what must be gone first;
// nil if all groups are done. Entries in no group stay.
func (r *Run) Pass(ctx context.Context) (*cluster.Wait, error) {
	r.releaseKept()
	for i, group := range groupsOrDefault(r.Groups) {
		wait, err := r.passGroup(ctx, group)
		if err != nil {
			return nil, fmt.Errorf("group %d: %w", i+1, err)
		}
		if wait != nil {
			return wait, nil
		}
	}
	return nil, nil
}

// releaseKept drops the entries with the policy keep, and records them for groups that take everything.
func (r *Run) releaseKept() {
	if r.kept == nil {
		r.kept = map[inventory.Key]bool{}
	}
	for _, entry := range r.Inventory.Entries() {
		if entry.Policy == deployer.PolicyKeep {
			r.kept[inventory.KeyOfEntry(entry)] = true
		}
	}
	for _, entry := range r.candidates() {
		if entry.Policy == deployer.PolicyKeep {
			r.Inventory.Drop(inventory.KeyOfEntry(entry))
		}
	}
}

func (r *Run) candidates() []inventory.Entry {
	return slices.DeleteFunc(r.Inventory.Entries(), func(entry inventory.Entry) bool {
		return r.Stays != nil && r.Stays(inventory.KeyOfEntry(entry))
	})
}

func (r *Run) passGroup(ctx context.Context, group deployer.DeletionGroup) (*cluster.Wait, error) {
	if custom := group.CustomResourceGroup; custom != nil && custom.DeleteAllResources {
		return r.removeAllOf(ctx, *custom)
	}
	tasks := r.ownTasks(group)
	left, err := runTasks(ctx, tasks)
	for i, t := range tasks {
		if left[i] == "" {
			r.Inventory.Drop(inventory.KeyOfEntry(t.entry))
		}
	}
	return await(tasks, left), err
}

// ownTasks returns the removals of a group's objects in the inventory.
func (r *Run) ownTasks(group deployer.DeletionGroup) []task {
	entries := slices.DeleteFunc(r.candidates(), func(entry inventory.Entry) bool { return !contains(group, entry) })
	tasks := make([]task, len(entries))
	for i, entry := range entries {
		subject := cluster.Subject{Cluster: r.Cluster, GVK: inventory.GVK(entry), Key: inventory.ObjectKey(entry)}
		tasks[i] = task{subject: subject, force: force(group), entry: entry, ours: func(live *unstructured.Unstructured) bool {
			return r.Owner.Has(entry, live) && !r.Spared[live.GetUID()]
		}}
	}
	return tasks
}

// runTasks returns for each task what remains of its object; empty if it is gone, or stays because it is not ours.
func runTasks(ctx context.Context, tasks []task) ([]string, error) {
	left := make([]string, len(tasks))
	errs := make([]error, len(tasks))
	cluster.Each(len(tasks), func(i int) {
		left[i], errs[i] = tasks[i].remove(ctx)
		if errs[i] != nil {
			left[i] = errs[i].Error()
		}
	})
	return left, cluster.Join(errs)
}

func await(tasks []task, left []string) *cluster.Wait {
	var pending []cluster.Pending
	for i := range tasks {
		if left[i] != "" {
			pending = append(pending, cluster.Pending{Subject: tasks[i].subject, Missing: left[i]})
		}
	}
	return cluster.Await(cluster.WaitingForDeletion, pending)
}

// removeAllOf removes all objects of some kinds, regardless of their creator, except those that the policy keep protects.
func (r *Run) removeAllOf(ctx context.Context, group deployer.CustomResourceGroup) (*cluster.Wait, error) {
	tasks, err := r.allTasks(ctx, group)
	if err != nil {
		return nil, err
	}
	left, err := runTasks(ctx, tasks)
	return await(tasks, left), err
}

// allTasks returns the removals of all objects of some kinds.
func (r *Run) allTasks(ctx context.Context, group deployer.CustomResourceGroup) ([]task, error) {
	target, err := r.Find.Choose(ctx, r.Cluster, group.TargetName)
	if err != nil {
		return nil, err
	}
	var tasks []task
	for _, kind := range group.Resources {
		found, err := list(ctx, target, kind)
		if err != nil {
			return nil, err
		}
		for _, subject := range found {
			if one, wanted := r.anyTask(subject, group.ForceDelete); wanted {
				tasks = append(tasks, one)
			}
		}
	}
	return tasks, nil
}

// anyTask returns the removal of an object, ours or not.
func (r *Run) anyTask(subject cluster.Subject, force bool) (task, bool) {
	result := task{subject: subject, force: force, ours: func(live *unstructured.Unstructured) bool { return !r.Spared[live.GetUID()] }}
	if subject.Cluster != r.Cluster {
		return result, true
	}
	key := inventory.Key{Group: subject.GVK.Group, Kind: subject.GVK.Kind, Namespace: subject.Key.Namespace, Name: subject.Key.Name}
	result.entry, _ = r.Inventory.Find(key)
	return result, !r.kept[key]
}

const pageSize = 500

// list returns the objects of a kind. It reads only their metadata.
func list(ctx context.Context, target cluster.Cluster, kind deployer.ResourceType) ([]cluster.Subject, error) {
	namespaces := kind.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var result []cluster.Subject
	for _, namespace := range namespaces {
		subjects, err := listIn(ctx, target, kind, namespace)
		if err != nil {
			return nil, err
		}
		result = append(result, subjects...)
	}
	return result, nil
}

func listIn(ctx context.Context, target cluster.Cluster, kind deployer.ResourceType, namespace string) ([]cluster.Subject, error) {
	every := cluster.Subject{Cluster: target, GVK: gvkOf(kind), Key: client.ObjectKey{Namespace: namespace}}
	var result []cluster.Subject
	page := metadataList(every.GVK)
	for {
		err := target.Client().List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(page.Continue))
		if isGone(err) {
			return result, nil
		}
		if err != nil {
			return nil, cluster.Refused("list", every, err)
		}
		for i := range page.Items {
			key := client.ObjectKeyFromObject(&page.Items[i])
			if len(kind.Names) == 0 || slices.Contains(kind.Names, key.Name) {
				result = append(result, cluster.Subject{Cluster: target, GVK: every.GVK, Key: key})
			}
		}
		if page.Continue == "" {
			return result, nil
		}
	}
}
