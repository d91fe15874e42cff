// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Newest remembers the newest version of each object that was written or that the API server itself has shown. What a cache shows of
// before that must not be decided on. The zero value is ready.
type Newest struct {
	mu       sync.Mutex
	versions map[types.UID]string
}

// Note records that an object has been in this version.
func (n *Newest) Note(object client.Object) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, ok := n.versions[object.GetUID()]; ok && older(object.GetResourceVersion(), known) {
		return
	}
	n.versions = keep(n.versions, object.GetUID(), object.GetResourceVersion())
}

// Unknown reports whether nothing was noted of an object.
func (n *Newest) Unknown(object client.Object) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.versions[object.GetUID()]
	return !known
}

// Behind reports whether an object is shown in a version of before the noted one.
func (n *Newest) Behind(object client.Object) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.versions[object.GetUID()]
	return ok && older(object.GetResourceVersion(), known)
}

func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
