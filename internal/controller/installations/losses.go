// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
)

// losses records which objects written by installations another client has deleted, until the installation has handled that. It is only a
// reason to check: an object that exists again is no loss. The zero value is ready.
type losses struct {
	mu sync.Mutex
	of map[client.ObjectKey][]dataflow.ObjectID
}

func (l *losses) note(key client.ObjectKey, id dataflow.ObjectID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[client.ObjectKey][]dataflow.ObjectID{}
	}
	if !slices.Contains(l.of[key], id) {
		l.of[key] = append(l.of[key], id)
	}
}

func (l *losses) get(key client.ObjectKey) []dataflow.ObjectID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.of[key])
}

// forget removes losses that the installation has handled. Others may have been noted meanwhile.
func (l *losses) forget(key client.ObjectKey, handled []dataflow.ObjectID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := slices.DeleteFunc(l.of[key], func(id dataflow.ObjectID) bool { return slices.Contains(handled, id) })
	if len(left) == 0 {
		delete(l.of, key)
		return
	}
	l.of[key] = left
}

// isCurrent reports whether an object belongs to the last job or update of the installation that has written it. Other objects were
// leftovers, which the installation itself has deleted.
func isCurrent(object client.Object, inst *lsv1alpha1.Installation) bool {
	of := object.GetLabels()[lsv1alpha1.DataObjectJobIDLabel]
	return of != "" && (of == inst.Status.JobID || of == installation.ExportMark(&inst.Status))
}

// confirmLost returns the noted losses that the API server confirms. If something else is more urgent, it returns none, and they stay
// noted.
func (k *kind) confirmLost(ctx context.Context, inst *lsv1alpha1.Installation) ([]dataflow.ObjectID, error) {
	key := client.ObjectKeyFromObject(inst)
	noted := k.losses.get(key)
	if !inst.DeletionTimestamp.IsZero() {
		k.losses.forget(key, noted)
		return nil, nil
	}
	if len(noted) == 0 || !installation.MayRestore(inst) {
		return nil, nil
	}
	var lost []dataflow.ObjectID
	for _, id := range noted {
		err := k.live.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: id.Name}, emptyOf(id))
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read %s %s: %w", id.Kind, id.Name, err)
		}
		if err != nil {
			lost = append(lost, id)
		}
	}
	if len(lost) == 0 {
		k.losses.forget(key, noted)
	}
	return lost, nil
}

// emptyOf returns an object to read into.
func emptyOf(id dataflow.ObjectID) client.Object {
	if id.Kind == kindTarget {
		return &lsv1alpha1.Target{}
	}
	return &lsv1alpha1.DataObject{}
}

// restore rewrites the objects that another client has deleted, if the result of the last job or update is still possible. Otherwise it
// reports the loss.
func (k *kind) restore(ctx context.Context, inst *lsv1alpha1.Installation, e installation.Restore) error {
	err := k.rewrite(ctx, inst, e)
	if err != nil && failure.KindOf(err) != failure.Terminal {
		return err
	}
	k.losses.forget(client.ObjectKeyFromObject(inst), e.Objects)
	for _, id := range e.Objects {
		switch {
		case err == nil && !plans(e, id): // The installation itself has deleted it, because it no longer wants it.
		case err == nil:
			k.recorder.Eventf(
				inst,
				nil,
				corev1.EventTypeNormal,
				"Restored",
				"Restore",
				"%s %s was deleted and has been restored",
				id.Kind,
				id.Name,
			)
		default:
			k.recorder.Eventf(inst, nil, corev1.EventTypeWarning, "NotRestored", "Restore",
				"%s %s was deleted, and spec, imports or objects below have changed since the last job: start a new job of the root to "+
					"restore it (espalier reconcile)", id.Kind, id.Name)
		}
	}
	return nil
}

func (k *kind) rewrite(ctx context.Context, inst *lsv1alpha1.Installation, e installation.Restore) error {
	if e.Plan.Err != nil {
		return e.Plan.Err
	}
	for _, write := range k.contextWrites(among(e.Plan.Context, e.Objects)) {
		if err := write(ctx); err != nil {
			return err
		}
	}
	switch {
	case e.Exports == nil:
		return nil
	case e.Exports.Err != nil:
		return e.Exports.Err
	default:
		return k.writeExports(ctx, inst, e.Exports)
	}
}

// plans reports whether the plan of an installation contains an object.
func plans(e installation.Restore, id dataflow.ObjectID) bool {
	wanted := func(all installation.ContextWrites) bool {
		found := among(all, []dataflow.ObjectID{id})
		return len(found.DataObjects)+len(found.Targets) > 0
	}
	return wanted(e.Plan.Context) || e.Exports != nil && wanted(e.Exports.Exports)
}

// among returns the writes that concern certain objects.
func among(all installation.ContextWrites, ids []dataflow.ObjectID) installation.ContextWrites {
	return installation.ContextWrites{
		DataObjects: slices.DeleteFunc(slices.Clone(all.DataObjects), func(w installation.DataObjectWrite) bool {
			return !slices.Contains(ids, dataflow.ObjectID{Kind: kindDataObject, Name: w.Wanted.Name})
		}),
		Targets: slices.DeleteFunc(slices.Clone(all.Targets), func(w installation.TargetWrite) bool {
			return !slices.Contains(ids, dataflow.ObjectID{Kind: kindTarget, Name: w.Wanted.Name})
		}),
	}
}
