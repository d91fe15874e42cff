// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	serviceaccounts "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

const (
	// kindRefresh is how soon the garbage collector discovers a new kind.
	kindRefresh = 2 * time.Second

	controllerWorkers = 5
)

// clusterControllers are the controllers of kube-controller-manager that make deletion and service accounts work as they do in a cluster.
type clusterControllers struct {
	client    kubernetes.Interface
	metadata  metadata.Interface
	informers informers.SharedInformerFactory

	// tokens lists only Secrets with tokens: there may be many large Secrets of other types.
	tokens informers.SharedInformerFactory

	running sync.WaitGroup
}

// startClusterControllers returns a function that stops them and waits for their end.
// Tokens of service accounts are signed with the key in signingKeyFile.
func startClusterControllers(config *rest.Config, signingKeyFile string) (stop func() error, err error) {
	config = rest.AddUserAgent(config, "cluster-controllers")
	c := &clusterControllers{}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("start the cluster controllers: %w", err)
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("start the cluster controllers: %w", err)
	}
	c.informers = informers.NewSharedInformerFactory(c.client, 0)
	c.tokens = informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithTweakListOptions(onlyTokens))

	ctx, cancel := context.WithCancel(context.Background())
	stop = func() error {
		cancel()
		c.running.Wait()
		c.informers.Shutdown()
		c.tokens.Shutdown()
		return nil
	}
	if err := c.start(ctx, config.CAData, signingKeyFile); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func (c *clusterControllers) start(ctx context.Context, rootCA []byte, signingKeyFile string) error {
	c.startNamespaces(ctx)
	c.startClusterRoles(ctx)
	if err := c.startGarbageCollector(ctx); err != nil {
		return err
	}
	if err := c.startServiceAccounts(ctx); err != nil {
		return err
	}
	if err := c.startTokens(ctx, rootCA, signingKeyFile); err != nil {
		return err
	}
	c.informers.Start(ctx.Done())
	c.tokens.Start(ctx.Done())
	return nil
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

// startServiceAccounts gives each namespace its service account "default".
func (c *clusterControllers) startServiceAccounts(ctx context.Context) error {
	controller, err := serviceaccounts.NewServiceAccountsController(klog.FromContext(ctx),
		c.informers.Core().V1().ServiceAccounts(), c.informers.Core().V1().Namespaces(),
		c.client, serviceaccounts.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return fmt.Errorf("start the controller of service accounts: %w", err)
	}
	c.running.Go(func() { controller.Run(ctx, 1) })
	return nil
}

// startTokens fills Secrets of type kubernetes.io/service-account-token.
func (c *clusterControllers) startTokens(ctx context.Context, rootCA []byte, signingKeyFile string) error {
	key, err := keyutil.PrivateKeyFromFile(signingKeyFile)
	if err != nil {
		return fmt.Errorf("read the key that signs tokens of service accounts: %w", err)
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return fmt.Errorf("sign tokens of service accounts: %w", err)
	}
	controller, err := serviceaccounts.NewTokensController(klog.FromContext(ctx),
		c.informers.Core().V1().ServiceAccounts(), c.tokens.Core().V1().Secrets(),
		c.client, serviceaccounts.TokensControllerOptions{TokenGenerator: generator, RootCA: rootCA})
	if err != nil {
		return fmt.Errorf("start the controller of tokens: %w", err)
	}
	c.running.Go(func() { controller.Run(ctx, 1) })
	return nil
}

func onlyTokens(options *metav1.ListOptions) {
	options.FieldSelector = fields.OneTermEqualSelector("type", string(corev1.SecretTypeServiceAccountToken)).String()
}

// metadataInformers let the garbage collector watch metadata only.
type metadataInformers struct {
	metadatainformer.SharedInformerFactory
}

func (f metadataInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return f.SharedInformerFactory.ForResource(resource), nil
}
