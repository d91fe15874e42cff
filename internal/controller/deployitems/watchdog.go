// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitems

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/controller/requests"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/deployitem/watchdog"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/run"
)

// Name is the name of the controller.
const Name = "deployitems"

// Options configure the watchdog.
type Options struct {
	// PickupTimeout is how long an item may wait for a deployer. Empty means 5 minutes, "none" means no limit.
	PickupTimeout lsv1alpha1.Duration
	// Workers is how many items are reconciled concurrently.
	Workers int
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
}

//espalier:rights deployitems
//	list,watch deployitems: the objects that it supervises

// Setup adds the watchdog to a manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	limit, _, err := opts.PickupTimeout.Limit(deployitem.DefaultPickupTimeout)
	if err != nil {
		return fmt.Errorf("set up controller %s: the pick-up timeout: %w", Name, err)
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	recorder := mgr.GetEventRecorder(Name)
	l := &loop.Loop[*lsv1alpha1.DeployItem, watchdog.Observed, lsv1alpha1.Phase, watchdog.Effect]{
		Name:     Name,
		Kind:     &kind{client: mgr.GetClient(), live: mgr.GetAPIReader(), namespaces: ending.Of(mgr), recorder: recorder, pickupTimeout: limit},
		New:      func() *lsv1alpha1.DeployItem { return &lsv1alpha1.DeployItem{} },
		Reader:   mgr.GetClient(),
		Writer:   mgr.GetClient(),
		Clock:    opts.Clock,
		Announce: loop.EventsTo[*lsv1alpha1.DeployItem, lsv1alpha1.Phase](recorder),
	}
	b := l.Controller(mgr, opts.Workers).WithEventFilter(filter())
	err = ending.Watch(b, mgr.GetClient(), &lsv1alpha1.DeployItemList{}).Complete(l)
	if err == nil {
		err = requests.Setup(mgr, requests.Kind[*lsv1alpha1.DeployItem]{
			Name: Name, New: func() *lsv1alpha1.DeployItem { return &lsv1alpha1.DeployItem{} },
			Obeys:  func(i *lsv1alpha1.DeployItem) bool { return deployitem.FlowOf(i) == lsv1alpha1.FlowContinuous },
			Status: func(i *lsv1alpha1.DeployItem) *lsv1alpha1.RunStatus { return &i.Status.RunStatus },
		})
	}
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", Name, err)
	}
	return nil
}

// filter passes the events that concern the watchdog, and every deletion, so that the loop drops its state of the item.
func filter() predicate.Predicate {
	filter := predicate.NewPredicateFuncs(func(object client.Object) bool {
		item, ok := object.(*lsv1alpha1.DeployItem)
		return !ok || watchdog.Concerns(item)
	})
	filter.DeleteFunc = func(event.DeleteEvent) bool { return true }
	return filter
}

// kind is the shell of the watchdog.
type kind struct {
	client        client.Client
	live          client.Reader
	namespaces    ending.Namespaces
	recorder      events.EventRecorder
	pickupTimeout time.Duration
}

func (k *kind) Phase(item *lsv1alpha1.DeployItem) lsv1alpha1.Phase { return item.Status.Phase }

func (k *kind) Status(item *lsv1alpha1.DeployItem) any { return &item.Status }

// Decide delegates to the pure package.
func (k *kind) Decide(o watchdog.Observed) watchdog.Decision { return watchdog.Decide(o) }

// Settle delegates to the pure package.
func (k *kind) Settle(item *lsv1alpha1.DeployItem, o watchdog.Observed, d watchdog.Decision, err error) watchdog.Observed {
	return watchdog.Settle(item, o, d, err)
}

// Observe reads only the item and, if the item is being deleted, its namespace.
func (k *kind) Observe(ctx context.Context, item *lsv1alpha1.DeployItem, now time.Time) (watchdog.Observed, error) {
	s := watchdog.Snapshot{Item: item, PickupTimeout: k.pickupTimeout, NewJobID: uuid.NewString(), Now: now}
	var err error
	if !item.DeletionTimestamp.IsZero() {
		s.NamespaceEnds, err = k.namespaces.Ends(ctx, item.Namespace)
	}
	return watchdog.NewObserved(s), err
}

//espalier:rights deployitems
//	patch deployitems,deployitems/status: it ends deploy items that time out, and starts those that are deleted without their execution
//	get,delete secrets: exports of a deploy item that is deleted without uninstalling

// Act executes one effect.
func (k *kind) Act(
	ctx context.Context,
	item *lsv1alpha1.DeployItem,
	o watchdog.Observed,
	effect watchdog.Effect,
) (watchdog.Observed, error) {
	switch e := effect.(type) {
	case watchdog.RemoveOperation:
		err := loop.PatchMetadata(ctx, k.client, item, removeOperation)
		o.Idle = ""
		return o, err
	case watchdog.Grant:
		err := loop.PatchMetadata(ctx, k.client, item, func(m metav1.Object) {
			removeOperation(m)
			m.GetAnnotations()[run.GrantAnnotation] = run.FormatGrant(o.NewJobID, string(item.UID))
		})
		o.Request = run.Request{GrantedID: o.NewJobID}
		return o, err
	case watchdog.DropExports:
		return o, deployer.DropExports(ctx, k.live, k.client, item)
	case watchdog.TellNamespace:
		k.tellNamespace(item)
		return o, nil
	case watchdog.AddFinalizer:
		o.Finalizer = true
		return o, loop.PatchMetadata(ctx, k.client, item, func(m metav1.Object) {
			m.SetFinalizers(append(m.GetFinalizers(), lsv1alpha1.Finalizer))
		})
	case watchdog.RemoveFinalizer:
		return o, loop.PatchMetadata(ctx, k.client, item, func(m metav1.Object) {
			m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(s string) bool { return s == lsv1alpha1.Finalizer }))
		})
	case watchdog.TimeOut:
		return o, e.Err
	case watchdog.Announce, watchdog.Adopt, watchdog.NoteJob, watchdog.Tell, watchdog.TellUnasked: // the status write does it
		return o, nil
	default:
		return o, fmt.Errorf("unknown effect %T: this is a bug in the controller", effect)
	}
}

// tellNamespace records an event about the namespace. An event about the item is impossible: it belongs to the namespace itself, which
// rejects new objects and takes its events with it. An event about a namespace is stored in another one.
func (k *kind) tellNamespace(item *lsv1alpha1.DeployItem) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: item.Namespace}}
	where := ""
	if item.Spec.Target != nil {
		where = " to Target " + item.Spec.Target.Name
	}
	k.recorder.Eventf(namespace, item, corev1.EventTypeWarning, watchdog.CodeNamespaceEnds, "Delete",
		"deploy item %s is deleted with its namespace, without uninstalling: what it deployed%s may stay", item.Name, where)
}

func removeOperation(m metav1.Object) { delete(m.GetAnnotations(), lsv1alpha1.OperationAnnotation) }
