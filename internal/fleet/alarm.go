// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// alarm passes on the pipelines that must be rechecked. It queues them until there is a listener.
type alarm struct {
	mutex   sync.Mutex
	listen  func(types.NamespacedName)
	pending map[types.NamespacedName]bool
}

// ring passes on pipelines. It must be called without holding the lock of the fleet.
func (a *alarm) ring(pipelines []types.NamespacedName) {
	if len(pipelines) == 0 {
		return
	}
	a.mutex.Lock()
	listen := a.listen
	if listen == nil {
		if a.pending == nil {
			a.pending = map[types.NamespacedName]bool{}
		}
		for _, pipeline := range pipelines {
			a.pending[pipeline] = true
		}
	}
	a.mutex.Unlock()
	if listen == nil {
		return
	}
	for _, pipeline := range pipelines {
		listen(pipeline)
	}
}

func (a *alarm) onRing(listen func(types.NamespacedName)) {
	a.mutex.Lock()
	a.listen = listen
	pending := a.pending
	a.pending = nil
	a.mutex.Unlock()
	for pipeline := range pending {
		listen(pipeline)
	}
}
