// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/cluster"
)

// Doomed is an object that a run removes.
type Doomed struct {
	Subject cluster.Subject
	Live    *unstructured.Unstructured
	// Err is why the cluster rejects the removal, or the read; then Live may be nil.
	Err error
}

// Foresee returns the objects that all groups together remove. The cluster must only check requests and store nothing. Objects already in
// deletion are omitted.
func (r *Run) Foresee(ctx context.Context) ([]Doomed, error) {
	r.releaseKept()
	var all []Doomed
	seen := map[types.UID]bool{}
	for i, group := range groupsOrDefault(r.Groups) {
		tasks, err := r.tasksOf(ctx, group)
		if err != nil {
			return nil, fmt.Errorf("group %d: %w", i+1, err)
		}
		found := make([]Doomed, len(tasks))
		cluster.Each(len(tasks), func(i int) { found[i] = tasks[i].foresee(ctx) })
		for _, doomed := range found {
			if doomed.Live != nil && seen[doomed.Live.GetUID()] || doomed.Live == nil && doomed.Err == nil {
				continue
			}
			if doomed.Live != nil {
				seen[doomed.Live.GetUID()] = true
			}
			all = append(all, doomed)
		}
	}
	return all, nil
}

func (r *Run) tasksOf(ctx context.Context, group deployer.DeletionGroup) ([]task, error) {
	if custom := group.CustomResourceGroup; custom != nil && custom.DeleteAllResources {
		return r.allTasks(ctx, *custom)
	}
	return r.ownTasks(group), nil
}

// foresee requests the deletion, which the cluster checks and does not execute.
func (t task) foresee(ctx context.Context) Doomed {
	live, err := t.read(ctx)
	if err != nil || live == nil || !t.ours(live) || live.GetDeletionTimestamp() != nil {
		return Doomed{Subject: t.subject, Err: err}
	}
	_, err = t.delete(ctx, live)
	return Doomed{Subject: t.subject, Live: live, Err: err}
}
