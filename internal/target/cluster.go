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
// longer than one pass, except for a watch: another call of Clusters.For costs nothing, and uses a changed credential.
type Cluster struct {
	id      string
	config  *rest.Config
	client  client.WithWatch
	mapper  meta.RESTMapper
	breaker *breaker
	watches *watches
	// credential is the credential that requests carry.
	credential credential
}

// Client returns an uncached client for typed and unstructured objects.
func (c *Cluster) Client() client.WithWatch { return c.client }

// Config returns a configuration for further clients. It contains no credential: its transport adds the current one to each
// request. All clients created from it share the connections and their protection.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Mapper returns the mapper for the kinds of the cluster. It asks for the same unknown kind only every few seconds; after
// adding kinds, call meta.MaybeResetRESTMapper.
func (c *Cluster) Mapper() meta.RESTMapper { return c.mapper }

// ID identifies the API server: it is the same for all credentials and after a restart. It does not depend on the
// credential.
func (c *Cluster) ID() string { return c.id }

// Watch calls wake when the object may have changed since the call of Watch, from any goroutine and possibly more often than needed; wake
// must not block. Read the object after Watch has returned, so that no change is missed. stop may be called repeatedly; a call of wake that
// has already started may still follow it. A key without a name means all objects of the kind, in the namespace or, without one, in
// the cluster.
//
// Watches are shared per kind and namespace and carry metadata only. While the cluster cannot be watched, because it is unreachable,
// the kind is unknown or the watch is forbidden, wake is called twice a minute. It is also called when the Target has another
// credential: then stop, and call Clusters.For again.
func (c *Cluster) Watch(gvk schema.GroupVersionKind, key client.ObjectKey, wake func()) (stop func(), err error) {
	return c.watches.add(watchKey{gvk: gvk, namespace: key.Namespace}, key.Name, wake)
}

// ready returns the error with which a request fails without reaching the cluster.
func (c *Cluster) ready(ctx context.Context) error {
	if err := c.breaker.open(); err != nil {
		return err
	}
	_, err := c.credential.header(ctx)
	return err
}
