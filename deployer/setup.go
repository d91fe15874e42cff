// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/freshness"
	"espalier.dev/internal/loop"
)

// TargetSelector selects Targets by name, labels and annotations; a Target must match every part.
type TargetSelector = deployitem.TargetSelector

// Options identify a deployer and select its items.
type Options struct {
	// Name is the name of the controller, and of the deployer in the status of its items.
	Name string
	// Version of the deployer, for the status.
	Version string
	// Identity distinguishes several deployers of one type. Empty means "default".
	Identity string
	// TargetSelectors select the items by their Target; none means all.
	TargetSelectors []TargetSelector
	// Clusters connects to the target clusters, see NewClusters. Deployers that need none omit it; Work.Cluster is nil
	// then.
	Clusters *Clusters
	// Workers is the number of items processed in parallel.
	Workers int
	// CallTimeout is how long one call of the deployer may take; default 2 minutes.
	CallTimeout time.Duration
	// Clock is the source of time; default the real clock.
	Clock clock.PassiveClock
}

const (
	defaultIdentity    = "default"
	defaultCallTimeout = 2 * time.Minute
)

//espalier:rights deployer-*
//	list,watch deployitems,targets: the objects that it works on, and where

//espalier:rights deployer-manifest,deployer-helm
//	list,watch secrets: a new kubeconfig is used at once; only metadata is cached

// Setup adds a deployer to a manager. The deployer is called only for items of its type.
func Setup(mgr ctrl.Manager, d Deployer, opts Options) error {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return fmt.Errorf("set up deployer %s: %w", opts.Name, err)
	}
	mgr = freshness.Of(mgr)
	k := newKind(mgr, d, opts)
	l := &loop.Loop[*lsv1alpha1.DeployItem, deployitem.Observed, lsv1alpha1.Phase, deployitem.Effect]{
		Name: opts.Name, Kind: k, New: func() *lsv1alpha1.DeployItem { return &lsv1alpha1.DeployItem{} },
		Reader: mgr.GetClient(), Writer: mgr.GetClient(), Clock: opts.Clock, Announce: k.announce(),
		Confidential: k.confidential,
	}
	if err := k.index(mgr); err != nil {
		return fmt.Errorf("set up deployer %s: %w", opts.Name, err)
	}
	if err := k.follow(mgr.GetCache()); err != nil {
		return fmt.Errorf("set up deployer %s: %w", opts.Name, err)
	}
	b := l.Controller(mgr, opts.Workers).
		Watches(&lsv1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(k.itemsOf)).
		WatchesRawSource(source.Func(k.queue.start)).
		WithEventFilter(k.filter())
	if opts.Clusters != nil {
		b = b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(k.itemsOfSecret), builder.OnlyMetadata)
	}
	if err := b.Complete(l); err != nil {
		return fmt.Errorf("set up deployer %s: %w", opts.Name, err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Identity == "" {
		o.Identity = defaultIdentity
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

func (o Options) validate() error {
	if o.Name == "" {
		return errors.New("a deployer needs a name")
	}
	for i, s := range o.TargetSelectors {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("target selector %d: %w", i, err)
		}
	}
	return nil
}

// index indexes items by their Target, and Targets by the Secret that holds their content. Each deployer has separate indexes; its index of
// items contains only those that a change of a Target can affect.
func (k *kind) index(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().
		IndexField(context.Background(), &lsv1alpha1.Target{}, k.secretIndexName(), func(object client.Object) []string {
			if t, ok := object.(*lsv1alpha1.Target); ok && t.Spec.SecretRef != nil {
				return []string{t.Spec.SecretRef.Name}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return mgr.GetFieldIndexer().
		IndexField(context.Background(), &lsv1alpha1.DeployItem{}, k.indexName(), func(object client.Object) []string {
			item, ok := object.(*lsv1alpha1.DeployItem)
			if !ok || item.Spec.Target == nil || !k.concerns(item) {
				return nil
			}
			return []string{item.Spec.Target.Name}
		})
}

func (k *kind) indexName() string { return "target of " + k.opts.Name }

func (k *kind) secretIndexName() string { return "secret of " + k.opts.Name }

// concerns reports whether an event of an object is relevant: items of this type that have work to do or that the
// deployer repairs.
func (k *kind) concerns(object client.Object) bool {
	item, ok := object.(*lsv1alpha1.DeployItem)
	if !ok {
		return true
	}
	return item.Spec.Type == k.deployer.Type() && (deployitem.HasWork(item) || k.repairs(item))
}

// filter admits the events that concern this deployer, and every deletion, so that the loop drops its state of the item.
func (k *kind) filter() predicate.Predicate {
	filter := predicate.NewPredicateFuncs(k.concerns)
	filter.DeleteFunc = func(event.DeleteEvent) bool { return true }
	return filter
}

// itemsOf returns the items that use a Target.
func (k *kind) itemsOf(ctx context.Context, object client.Object) []reconcile.Request {
	var items lsv1alpha1.DeployItemList
	err := k.client.List(ctx, &items, client.InNamespace(object.GetNamespace()),
		client.MatchingFields{k.indexName(): object.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the deploy items of a Target", "target", client.ObjectKeyFromObject(object))
		return nil
	}
	requests := make([]reconcile.Request, 0, len(items.Items))
	for i := range items.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&items.Items[i])})
	}
	return requests
}

// itemsOfSecret returns the items that use a Target whose content is in a Secret.
func (k *kind) itemsOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	var targets lsv1alpha1.TargetList
	err := k.client.List(ctx, &targets, client.InNamespace(secret.GetNamespace()),
		client.MatchingFields{k.secretIndexName(): secret.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the Targets of a Secret", "secret", client.ObjectKeyFromObject(secret))
		return nil
	}
	var requests []reconcile.Request
	for i := range targets.Items {
		requests = append(requests, k.itemsOf(ctx, &targets.Items[i])...)
	}
	return requests
}

// follow cancels running calls that a change of their item makes obsolete.
func (k *kind) follow(informers cache.Informers) error {
	informer, err := informers.GetInformer(context.Background(), &lsv1alpha1.DeployItem{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch deploy items: %w", err)
	}
	if _, err := informer.AddEventHandler(&follower{kind: k}); err != nil {
		return fmt.Errorf("watch deploy items: %w", err)
	}
	return nil
}
