// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"context"
	"fmt"
	"slices"

	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Manager is a manager whose client, live reader and indexes are those of this package. All controllers of a manager share them.
type Manager struct {
	ctrl.Manager
	client *Client
}

// Of returns a manager whose reads are fresh: mgr itself, if they already are. more are additional API groups whose objects are recorded.
func Of(mgr ctrl.Manager, more ...string) ctrl.Manager {
	if _, fresh := mgr.GetClient().(*Client); fresh {
		return mgr
	}
	m := over(mgr, &Informers{})
	m.client.groups = slices.Concat(served, more)
	return m
}

// Leading is like Of, for a manager that may take over from another process, and whose cache contains certain namespaces; none means all.
// informers must have created the cache's informers.
func Leading(mgr ctrl.Manager, informers *Informers, namespaces []string) ctrl.Manager {
	m := over(mgr, informers)
	m.client.handover = &handover{elected: mgr.Elected(), namespaces: namespaces}
	return m
}

func over(mgr ctrl.Manager, informers *Informers) *Manager {
	c := New(mgr.GetClient(), mgr.GetAPIReader())
	c.follow = func(ctx context.Context, object client.Object, handler toolscache.ResourceEventHandler) (Store, error) {
		informer, err := mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(handler)
		}
		if err != nil {
			return nil, fmt.Errorf("follow the cache of %T: %w", object, err)
		}
		return informers.store(informer, object), nil
	}
	return &Manager{Manager: mgr, client: c}
}

// GetClient implements ctrl.Manager.
func (m *Manager) GetClient() client.Client { return m.client }

// GetAPIReader implements ctrl.Manager.
func (m *Manager) GetAPIReader() client.Reader { return m.client.Live() }

// GetFieldIndexer implements ctrl.Manager.
func (m *Manager) GetFieldIndexer() client.FieldIndexer {
	return indexer{m.Manager.GetFieldIndexer(), m.client}
}

type indexer struct {
	client.FieldIndexer
	client *Client
}

// IndexField implements client.FieldIndexer.
func (i indexer) IndexField(ctx context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	gvk, err := apiutil.GVKForObject(object, i.client.Scheme())
	if err != nil {
		return err
	}
	i.client.mu.Lock()
	i.client.indexes[index{gvk, field}] = extract
	i.client.mu.Unlock()
	return i.FieldIndexer.IndexField(ctx, object, field, extract)
}
