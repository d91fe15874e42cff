// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	// kindRefresh is how soon the garbage collector learns about a new kind.
	kindRefresh = 2 * time.Second

	controllerWorkers = 5
)

// clusterControllers are those of kube-controller-manager that make deletion work as
// it does in a cluster.
type clusterControllers struct {
	client    kubernetes.Interface
	metadata  metadata.Interface
	informers informers.SharedInformerFactory
	running   sync.WaitGroup
}

// startClusterControllers returns a function that stops them and waits for their end.
func startClusterControllers(config *rest.Config) (stop func() error, err error) {
	config = rest.AddUserAgent(config, "cluster-controllers")
	c := &clusterControllers{}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("start the cluster controllers: %w", err)
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("start the cluster controllers: %w", err)
	}
	c.informers = informers.NewSharedInformerFactory(c.client, 0)

	ctx, cancel := context.WithCancel(context.Background())
	c.startNamespaces(ctx)
	c.startClusterRoles(ctx)
	if err := c.startGarbageCollector(ctx); err != nil {
		cancel()
		return nil, err
	}
	c.informers.Start(ctx.Done())
	return func() error {
		cancel()
		c.running.Wait()
		c.informers.Shutdown()
		return nil
	}, nil
}

func (c *clusterControllers) startNamespaces(ctx context.Context) {
	controller := namespace.NewNamespaceController(ctx, c.client, c.metadata,
		c.client.Discovery().ServerPreferredNamespacedResources,
		c.informers.Core().V1().Namespaces(), time.Minute, corev1.FinalizerKubernetes)
	c.running.Go(func() { controller.Run(ctx, controllerWorkers) })
}

func (c *clusterControllers) startClusterRoles(ctx context.Context) {
	controller := clusterroleaggregation.NewClusterRoleAggregation(
		c.informers.Rbac().V1().ClusterRoles(), c.client.RbacV1())
	c.running.Go(func() { controller.Run(ctx, 1) })
}

func (c *clusterControllers) startGarbageCollector(ctx context.Context) error {
	started := make(chan struct{})
	close(started)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	factory := metadataInformers{metadatainformer.NewSharedInformerFactory(c.metadata, 0)}
	controller, err := garbagecollector.NewGarbageCollector(ctx, c.client, c.metadata, mapper,
		garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		return fmt.Errorf("start the garbage collector: %w", err)
	}
	c.running.Go(func() { controller.Run(ctx, controllerWorkers, time.Minute) })
	c.running.Go(func() { controller.Sync(ctx, c.client.Discovery(), kindRefresh) })
	return nil
}

// metadataInformers spare the garbage collector the bodies of the objects.
type metadataInformers struct {
	metadatainformer.SharedInformerFactory
}

func (f metadataInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return f.SharedInformerFactory.ForResource(resource), nil
}
