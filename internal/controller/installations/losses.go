// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
)

// losses records which objects written by installations another client has deleted or marred, until the installation has handled that. It
// is only a reason to check: an object that exists again, or is whole again, is no loss. The zero value is ready.
type losses struct {
	mu sync.Mutex
	of map[client.ObjectKey][]loss
}

// loss is an object that an installation has written.
type loss struct {
	dataflow.ObjectID
	// uid is that of the object, so that an object of another client with the same name does not count as marred.
	uid types.UID
}

func (l *losses) note(key client.ObjectKey, lost loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[client.ObjectKey][]loss{}
	}
	if !slices.Contains(l.of[key], lost) {
		l.of[key] = append(l.of[key], lost)
	}
}

func (l *losses) get(key client.ObjectKey) []loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.of[key])
}

// forget removes losses that the installation has handled. Others may have been noted meanwhile.
func (l *losses) forget(key client.ObjectKey, handled []dataflow.ObjectID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := slices.DeleteFunc(l.of[key], func(lost loss) bool { return slices.Contains(handled, lost.ObjectID) })
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

// ownLabels are those by which an installation finds what it has written.
var ownLabels = []string{
	lsv1alpha1.DataObjectSourceLabel, lsv1alpha1.DataObjectContextLabel, lsv1alpha1.DataObjectKeyLabel, lsv1alpha1.DataObjectJobIDLabel,
}

// mars reports whether a change takes one of its own labels or its owner from a context object.
func mars(before, after client.Object) bool {
	return len(before.GetOwnerReferences()) > 0 && len(after.GetOwnerReferences()) == 0 ||
		slices.ContainsFunc(ownLabels, func(l string) bool { return before.GetLabels()[l] != "" && after.GetLabels()[l] == "" })
}

// isMarred reports whether a context object lacks one of its own labels or its owner. Only an object of the root scope, which its key
// names, has no context.
func isMarred(object client.Object) bool {
	labels := object.GetLabels()
	return len(object.GetOwnerReferences()) == 0 || slices.ContainsFunc(ownLabels, func(label string) bool {
		ofRoot := label == lsv1alpha1.DataObjectContextLabel &&
			object.GetName() == dataflow.ObjectName("", labels[lsv1alpha1.DataObjectKeyLabel])
		return labels[label] == "" && !ofRoot
	})
}

// confirmLost returns the noted losses that the API server confirms. If something else is more urgent, it returns none, and they stay
// noted.
func (k *kind) confirmLost(ctx context.Context, inst *lsv1alpha1.Installation) ([]dataflow.ObjectID, error) {
	key := client.ObjectKeyFromObject(inst)
	noted := k.losses.get(key)
	if !inst.DeletionTimestamp.IsZero() {
		k.losses.forget(key, idsOf(noted))
		return nil, nil
	}
	if len(noted) == 0 || !installation.MayRestore(inst) {
		return nil, nil
	}
	var lost []dataflow.ObjectID
	for _, each := range noted {
		object := emptyOf(each.ObjectID)
		err := k.live.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: each.Name}, object)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read %s %s: %w", each.Kind, each.Name, err)
		}
		marred := object.GetUID() == each.uid && isMarred(object)
		if (err != nil || marred) && !slices.Contains(lost, each.ObjectID) {
			lost = append(lost, each.ObjectID)
		}
	}
	if len(lost) == 0 {
		k.losses.forget(key, idsOf(noted))
	}
	return lost, nil
}

func idsOf(noted []loss) []dataflow.ObjectID {
	ids := make([]dataflow.ObjectID, len(noted))
	for i := range noted {
		ids[i] = noted[i].ObjectID
	}
	return ids
}

// emptyOf returns an object to read into.
func emptyOf(id dataflow.ObjectID) client.Object {
	if id.Kind == kindTarget {
		return &lsv1alpha1.Target{}
	}
	return &lsv1alpha1.DataObject{}
}

// restore rewrites the objects that another client has deleted or marred, if the result of the last job or update is still possible.
// Otherwise it reports the loss.
func (k *kind) restore(ctx context.Context, inst *lsv1alpha1.Installation, e installation.Restore) error {
	err := k.rewrite(ctx, inst, e)
	if err != nil && failure.KindOf(err) != failure.Terminal {
		return err
	}
	k.losses.forget(client.ObjectKeyFromObject(inst), e.Objects)
	for _, id := range e.Objects {
		// Events that differ only in their note are counted as one, so each names its object.
		object := emptyOf(id)
		object.SetNamespace(inst.Namespace)
		object.SetName(id.Name)
		switch {
		case err == nil && !plans(e, id): // The installation itself has deleted it, because it no longer wants it.
		case err == nil:
			k.recorder.Eventf(inst, object, corev1.EventTypeNormal, "Restored", "Restore",
				"%s %s was deleted or has lost its labels or its owner, and has been restored", id.Kind, id.Name)
		default:
			k.recorder.Eventf(inst, object, corev1.EventTypeWarning, "NotRestored", "Restore",
				"%s %s was deleted or has lost its labels or its owner, and spec, imports or objects below have changed since the last job: "+
					"start a new job of the root to restore it (espalier reconcile)", id.Kind, id.Name)
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
