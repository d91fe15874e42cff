// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is a target cluster together with the credential of a Target. Its methods may be called from several goroutines. Do not keep it
// for longer than one pass, except for a watch: Clusters.For returns it again at no cost, and notices when the credential has changed.
type Cluster struct {
	id      string
	config  *rest.Config
	client  client.WithWatch
	mapper  meta.RESTMapper
	breaker *breaker
	watches *watches
	// credential is what requests carry.
	credential credential
}

// Client returns an uncached client for typed and unstructured objects.
func (c *Cluster) Client() client.WithWatch { return c.client }

// Config returns a configuration for further clients. It contains no credential: its transport adds it, as it is at the time of the
// request. All clients made of it share the connections and everything that protects them.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Mapper knows the kinds of the cluster. It asks for the same unknown kind only every few seconds; whoever has added kinds
// calls meta.MaybeResetRESTMapper.
func (c *Cluster) Mapper() meta.RESTMapper { return c.mapper }

// ID names the API server: it is the same for all credentials and after a restart. It says nothing about the credential.
func (c *Cluster) ID() string { return c.id }

// Watch calls wake when the object may have changed since the call of Watch, from any goroutine and possibly more often than needed; wake
// must not block. Read the object after Watch has returned, so that no change is missed. stop may be called repeatedly; a wake that is
// under way may still arrive after it. A key without a name means all objects of the kind, in the namespace or, without one, in
// the cluster.
//
// Watches are shared per kind and namespace and carry metadata only. While the cluster cannot be watched, because it is out of reach,
// the kind unknown or the watch forbidden, wake is called twice a minute. It is also called when the credential is no longer the
// Target's: then stop, and ask Clusters.For again.
func (c *Cluster) Watch(gvk schema.GroupVersionKind, key client.ObjectKey, wake func()) (stop func(), err error) {
	return c.watches.add(watchKey{gvk: gvk, namespace: key.Namespace}, key.Name, wake)
}

// ready returns why a request would fail without reaching the cluster.
func (c *Cluster) ready(ctx context.Context) error {
	if err := c.breaker.open(); err != nil {
		return err
	}
	_, err := c.credential.header(ctx)
	return err
}
