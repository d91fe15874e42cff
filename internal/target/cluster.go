// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is a target cluster together with the credential of a Target. Its methods may be called from several goroutines.
type Cluster struct {
	id     string
	config *rest.Config
	client client.WithWatch
	mapper meta.RESTMapper
}

// Client returns an uncached client for typed and unstructured objects.
func (c *Cluster) Client() client.WithWatch { return c.client }

// Config returns a configuration for further clients. They share the connections and everything that protects them.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Mapper knows the kinds of the cluster.
func (c *Cluster) Mapper() meta.RESTMapper { return c.mapper }

// ID names the cluster, independent of the credential.
func (c *Cluster) ID() string { return c.id }

// Watch calls wake when the object may have changed since the call of Watch. It wakes from any goroutine and possibly more often than
// needed; wake must not block. Read the object after Watch has returned, so that no change is missed. stop may be called repeatedly.
func (c *Cluster) Watch(gvk schema.GroupVersionKind, key client.ObjectKey, wake func()) (stop func(), err error) {
	return nil, errors.New("not built yet")
}
