// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Informers records the informers that a cache creates, because a cache of certain namespaces does not expose them. The zero value is
// ready.
type Informers struct {
	mu   sync.Mutex
	made map[reflect.Type][]toolscache.SharedIndexInformer
}

// New creates an informer. Use it as cache.Options.NewInformer.
func (i *Informers) New(
	source toolscache.ListerWatcher,
	example runtime.Object,
	resync time.Duration,
	indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	informer := toolscache.NewSharedIndexInformer(source, example, resync, indexers)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.made == nil {
		i.made = map[reflect.Type][]toolscache.SharedIndexInformer{}
	}
	i.made[reflect.TypeOf(example)] = append(i.made[reflect.TypeOf(example)], informer)
	return informer
}

// store returns the only store behind an informer of a cache. It returns nil if there are several, one per namespace, because their
// namespaces are unknown.
func (i *Informers) store(of cache.Informer, object client.Object) Store {
	if single, ok := of.(toolscache.SharedIndexInformer); ok {
		return single.GetStore()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if made := i.made[reflect.TypeOf(object)]; len(made) == 1 {
		return made[0].GetStore()
	}
	return nil
}
