// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/readiness"
)

// Run applies a set of objects, group by group, in as many passes as it takes. Objects applied in an earlier pass are not
// reread.
type Run struct {
	Applier
	Objects []Object
	// DefaultNamespace is for objects that name none; if it is empty, such objects are rejected.
	DefaultNamespace string
	// Inventory is kept up to date, even after an error.
	Inventory *inventory.Inventory
	// Memory is kept up to date as well.
	Memory Memory
	// Taken describes which objects belonged to other deploy items until this pass, and to which ones.
	Taken []string
}

// Pass applies as many objects as possible. It returns what must happen before it can continue; nil if everything is applied.
func (r *Run) Pass(ctx context.Context) (*cluster.Wait, error) {
	objects, err := place(r.Objects, r.Cluster.Mapper(), r.DefaultNamespace)
	if err != nil {
		return nil, err
	}
	for group := range groupCount {
		members := r.remaining(objects, group)
		if wait, err := r.awaitKinds(ctx, members); wait != nil || err != nil {
			return wait, err
		}
		if wait, err := r.applyAll(ctx, members); wait != nil || err != nil {
			return wait, err
		}
	}
	return nil, nil
}

func (r *Run) remaining(objects []placed, group int) []placed {
	var result []placed
	for _, o := range objects {
		if _, done := r.Memory[o.Key()]; o.group == group && !done {
			result = append(result, o)
		}
	}
	return result
}

// applyAll applies as many objects of a group as it can, and records all results before it reports an error.
func (r *Run) applyAll(ctx context.Context, objects []placed) (*cluster.Wait, error) {
	outcomes := make([]Outcome, len(objects))
	errs := make([]error, len(objects))
	cluster.Each(len(objects), func(i int) {
		entry, _ := r.Inventory.Find(objects[i].Key())
		entry.Policy = objects[i].Policy
		outcomes[i], errs[i] = r.Apply(ctx, objects[i].Object, entry)
	})
	var held, unserved []cluster.Pending
	for i, o := range objects {
		subject := cluster.SubjectOf(r.Cluster, o.Manifest)
		switch {
		case errs[i] != nil && o.definedBy != nil && IsUnserved(errs[i]):
			unserved = append(unserved, cluster.Pending{Subject: subject, Missing: "its kind is established and about to be served"})
			errs[i] = nil
		case errs[i] != nil:
		case outcomes[i].Verdict == Held:
			held = append(held, cluster.Pending{Subject: subject, Missing: "being deleted; recreated afterwards"})
		default:
			r.remember(o.Object, outcomes[i])
		}
		if from := outcomes[i].TakenFrom; from != "" {
			r.Taken = append(r.Taken, fmt.Sprintf("%s was managed by deploy item %s", subject, from))
		}
	}
	if len(unserved) > 0 {
		return r.awaitService(unserved), cluster.Join(errs)
	}
	return cluster.Await(cluster.WaitingForDeletion, held), cluster.Join(errs)
}

// IsUnserved reports whether an error means that the cluster has the CRD of a kind but does not serve the kind yet.
func IsUnserved(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	status := apierrors.APIStatus(nil)
	return apierrors.IsNotFound(err) && errors.As(err, &status) && (status.Status().Details == nil || status.Status().Details.Name == "")
}

// awaitService returns a short wait without an event, because no event reports that a kind is served.
func (r *Run) awaitService(unserved []cluster.Pending) *cluster.Wait {
	meta.MaybeResetRESTMapper(r.Cluster.Mapper())
	wait := cluster.Await(cluster.WaitingForKind, unserved)
	wait.On, wait.Soon = nil, true
	return wait
}

func (r *Run) remember(o Object, outcome Outcome) {
	subject := cluster.SubjectOf(r.Cluster, o.Manifest)
	if outcome.Verdict == Released {
		r.Inventory.Drop(o.Key())
		r.Memory[o.Key()] = Applied{Subject: subject, Ready: true, Verdict: Released}
		return
	}
	entry := o.Entry()
	entry.Resource.UID = outcome.Live.GetUID()
	entry.FieldsHash = outcome.FieldsHash
	r.Inventory.Put(entry)
	state := readiness.Of(outcome.Live)
	r.Memory[o.Key()] = Applied{
		Subject: subject, UID: entry.Resource.UID, Ready: state.Ready, Missing: state.Missing, Verdict: outcome.Verdict,
	}
}

// awaitKinds waits until the CRDs of the objects to apply next are established.
func (r *Run) awaitKinds(ctx context.Context, objects []placed) (*cluster.Wait, error) {
	var pending []cluster.Pending
	seen := map[inventory.Key]bool{}
	for _, o := range objects {
		if o.definedBy == nil || seen[o.definedBy.Key()] {
			continue
		}
		key := o.definedBy.Key()
		seen[key] = true
		applied := r.Memory[key]
		if !applied.Ready {
			if err := applied.check(ctx, r.Cluster); err != nil {
				return nil, err
			}
			r.Memory[key] = applied
		}
		if !applied.Ready {
			pending = append(pending, cluster.Pending{Subject: applied.Subject, Missing: applied.Missing})
		}
	}
	return cluster.Await(cluster.WaitingForKind, pending), nil
}
