// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/freshness"
	"espalier.dev/internal/loop"
)

// Setup adds the deployer and its janitor to a manager.
func Setup(mgr ctrl.Manager, options Options, common deployer.Options) error {
	mgr = freshness.Of(mgr)
	options.Identity = common.Identity
	options = options.withDefaults()
	clusters, err := deployer.NewClusters(mgr)
	if err != nil {
		return err
	}
	pods, err := newPods(mgr, options)
	if err != nil {
		return fmt.Errorf("set up deployer %s: watch pods: %w", Name, err)
	}
	d := &Deployer{options: options, client: mgr.GetClient(), live: mgr.GetAPIReader(), pods: pods, targets: clusters.Content}
	if err := d.follow(pods); err != nil {
		return fmt.Errorf("set up deployer %s: watch pods: %w", Name, err)
	}
	if err := deployer.Setup(mgr, d, common); err != nil {
		return err
	}
	return d.addJanitor(mgr, pods, common.Workers)
}

// podCache contains only the pods of deploy items.
type podCache struct{ cache.Cache }

// GetCache makes the manager fill the cache before any controller works.
func (p podCache) GetCache() cache.Cache { return p.Cache }

//espalier:rights deployer-container
//	list,watch pods: it waits for the pods that it created

func newPods(mgr ctrl.Manager, options Options) (podCache, error) {
	selector := labels.SelectorFromSet(labels.Set{labelManaged: managed, labelIdentity: options.Identity})
	settings := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: selector}},
	}
	for _, namespace := range (&Deployer{options: options}).podNamespaces() {
		if namespace != "" {
			if settings.DefaultNamespaces == nil {
				settings.DefaultNamespaces = map[string]cache.Config{}
			}
			settings.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	made, err := cache.New(mgr.GetConfig(), settings)
	if err != nil {
		return podCache{}, err
	}
	pods := podCache{made}
	return pods, mgr.Add(pods)
}

// follow queues items when their pods change.
func (d *Deployer) follow(pods cache.Cache) error {
	informer, err := pods.GetInformer(context.Background(), &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	wake := func(object any) {
		if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if pod, ok := object.(*corev1.Pod); ok {
			if _, uid, ours := itemOf(pod); ours {
				d.wakers.call(uid)
			}
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake, UpdateFunc: func(_, object any) { wake(object) }, DeleteFunc: wake,
	})
	return err
}

func (d *Deployer) addJanitor(mgr ctrl.Manager, pods cache.Cache, workers int) error {
	j := &janitor{d}
	name := Name + "-janitor"
	ofPod := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
		key, _, ours := itemOf(pod)
		if !ours {
			return nil
		}
		return []reconcile.Request{{NamespacedName: key}}
	})
	mine := predicate.NewPredicateFuncs(func(object client.Object) bool {
		item, ok := object.(*lsv1alpha1.DeployItem)
		return ok && item.Spec.Type == d.Type()
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&lsv1alpha1.DeployItem{}, builder.WithPredicates(mine)).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{}, ofPod)).
		WithOptions(loop.OptionsFor(mgr, &lsv1alpha1.DeployItem{}, workers)).
		Complete(j)
	if err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return j.rounds(ctx, func(err error) {
			mgr.GetLogger().Error(err, "Look for objects without a deploy item", "controller", name)
		})
	}))
}
