// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/masking"
)

// kind is the shell of deploy items from the view of one deployer: all reads and writes of the contract.
type kind struct {
	deployer Deployer
	// repairer is the deployer, nil if it does not implement Repairer.
	repairer Repairer
	opts     Options
	role     deployitem.Role
	client   client.Client
	live     client.Reader
	recorder events.EventRecorder
	// confidential returns the values that an error about an item must not show.
	confidential func(context.Context, *lsv1alpha1.DeployItem) *masking.Values

	queue  queue
	calls  calls
	memory memory
}

func newKind(mgr ctrl.Manager, d Deployer, opts Options) *kind {
	repairer, _ := d.(Repairer)
	return &kind{
		deployer: d, repairer: repairer, opts: opts,
		role: deployitem.Role{
			Type: d.Type(), Selectors: opts.TargetSelectors,
			Info: lsv1alpha1.DeployerInformation{Identity: opts.Identity, Name: opts.Name, Version: opts.Version},
		},
		client: mgr.GetClient(), live: mgr.GetAPIReader(), recorder: mgr.GetEventRecorder(opts.Name),
		confidential: confidential.Reader{Live: mgr.GetAPIReader()}.OfDeployItem,
	}
}

// Phase returns the phase in the status.
func (k *kind) Phase(item *lsv1alpha1.DeployItem) lsv1alpha1.Phase { return item.Status.Phase }

// Status returns the status.
func (k *kind) Status(item *lsv1alpha1.DeployItem) any { return &item.Status }

// Decide delegates to the pure package.
func (k *kind) Decide(o deployitem.Observed) deployitem.Decision { return deployitem.Decide(o) }

// Settle delegates to the pure package, and schedules the next repair of an item that has just finished. The event about a missing
// Target contains no secret: Observe has masked the name.
func (k *kind) Settle(item *lsv1alpha1.DeployItem, o deployitem.Observed, d deployitem.Decision, err error) deployitem.Observed {
	ran := o.Running()
	if ran && err == nil {
		k.tellOfMissingTarget(item, d)
	}
	o = deployitem.Settle(item, o, d, err)
	if ran && !o.Running() {
		k.memory.forget(item.UID)
		o.RepairAt = k.repairAt(item)
	}
	return o
}

// Observe reads the item's Target and the facts that this process has cached about the item.
func (k *kind) Observe(ctx context.Context, item *lsv1alpha1.DeployItem, now time.Time) (deployitem.Observed, error) {
	s := deployitem.Snapshot{Item: item, Role: k.role, Intended: k.memory.intended(item), RepairAt: k.repairAt(item), Now: now}
	var err error
	matters := deployitem.HasWork(item) || !s.RepairAt.IsZero()
	if matters {
		s.Target, err = k.targetOf(ctx, item)
	}
	o := deployitem.NewObserved(s)
	if matters && o.Target == deployitem.TargetMissing {
		o.TargetName = k.shown(ctx, item, o.TargetName)
		if o.Deleting {
			o.Root = k.rootOf(ctx, item)
		}
	}
	return o, err
}

// shown masks secrets in a text about what an item waits for. Items often wait long for the same object, so the last result is
// cached.
func (k *kind) shown(ctx context.Context, item *lsv1alpha1.DeployItem, text string) string {
	if text == "" {
		return ""
	}
	if shown, known := k.memory.told(item.UID, text); known {
		return shown
	}
	secrets := k.confidential(ctx, item)
	shown := secrets.Text(text)
	if secrets.Known() {
		k.memory.tell(item.UID, text, shown)
	}
	return shown
}

// targetOf returns the item's Target, nil if it does not exist. If its absence releases the item, targetOf reads from the API server,
// because the cache may be stale.
func (k *kind) targetOf(ctx context.Context, item *lsv1alpha1.DeployItem) (*lsv1alpha1.Target, error) {
	ref := item.Spec.Target
	if ref == nil || ref.Namespace != "" && ref.Namespace != item.Namespace {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: item.Namespace, Name: ref.Name}
	t, err := readTarget(ctx, k.client, key)
	if t == nil && err == nil && deployitem.InDeletionFlow(!item.DeletionTimestamp.IsZero(), item.Status.Phase) {
		t, err = readTarget(ctx, k.live, key)
	}
	return t, err
}

func readTarget(ctx context.Context, reader client.Reader, key client.ObjectKey) (*lsv1alpha1.Target, error) {
	t := &lsv1alpha1.Target{}
	err := reader.Get(ctx, key, t)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Target %s: %w", key, err)
	}
	return t, nil
}

//espalier:rights deployer-*
//	patch deployitems,deployitems/status: finalizers, annotations and status of what it works on

// Act executes one effect.
func (k *kind) Act(
	ctx context.Context,
	item *lsv1alpha1.DeployItem,
	o deployitem.Observed,
	effect deployitem.Effect,
) (deployitem.Observed, error) {
	var err error
	switch e := effect.(type) {
	case deployitem.Intend:
		o.Remember, err = k.intend(ctx, item, o)
		err = o.Overtaken(err, unreachable(err))
	case deployitem.Deploy:
		k.memory.intend(item)
		k.answer(ctx, item, &o, call{name: "Deploy", make: k.deployer.Deploy})
	case deployitem.Delete:
		k.remove(ctx, item, &o)
	case deployitem.Repair:
		err = k.repair(ctx, item, &o)
	case deployitem.StoreExports:
		err = k.storeExports(ctx, item, o.Answer.Exports)
		o.ExportsStored = err == nil
	case deployitem.DropExports:
		err = DropExports(ctx, k.live, k.client, item)
		o.ExportsDropped = err == nil
	case deployitem.AddFinalizer:
		err = loop.PatchMetadata(ctx, k.client, item, func(m metav1.Object) {
			m.SetFinalizers(append(m.GetFinalizers(), lsv1alpha1.Finalizer))
		})
		o.Finalizer = true
	case deployitem.DropOperation:
		err = loop.PatchMetadata(ctx, k.client, item, func(m metav1.Object) { delete(m.GetAnnotations(), lsv1alpha1.OperationAnnotation) })
	case deployitem.RemoveFinalizer:
		k.memory.forget(item.UID)
		err = loop.PatchMetadata(ctx, k.client, item, func(m metav1.Object) {
			m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(s string) bool { return s == lsv1alpha1.Finalizer }))
		})
	case deployitem.Fail:
		err = e.Err
	}
	return o, err
}

// announce reports only the end of a job, because each event costs a request. The success of an item of an execution is
// reported by the installation above it.
func (k *kind) announce() func(context.Context, loop.News[*lsv1alpha1.DeployItem, lsv1alpha1.Phase]) {
	tell := loop.EventsTo[*lsv1alpha1.DeployItem, lsv1alpha1.Phase](k.recorder)
	return func(ctx context.Context, news loop.News[*lsv1alpha1.DeployItem, lsv1alpha1.Phase]) {
		phase := news.Transitions[len(news.Transitions)-1].To
		if phase == lsv1alpha1.PhaseSucceeded && metav1.GetControllerOfNoCopy(news.Object) != nil {
			return
		}
		if phase.IsFinal() {
			tell(ctx, news)
		}
	}
}
