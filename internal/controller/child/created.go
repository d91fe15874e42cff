// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Created remembers which sub-objects were created until the cache shows them, or the API server says that they are gone. Without it, a
// pass that comes too early, after one that could not be finished, creates them again, which the API server refuses. The zero value is
// ready.
type Created struct {
	mu    sync.Mutex
	names map[types.UID][]string
}

// Note records that a sub-object of the owner was created.
func (c *Created) Note(owner types.UID, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.names[owner], name) {
		c.names = keep(c.names, owner, append(c.names[owner], name))
	}
}

// Forget drops the sub-objects of an owner of which the function says that they need not be remembered, and returns the others.
func (c *Created) Forget(owner types.UID, needless func(name string) bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(c.names[owner]), needless)
	if len(left) == 0 {
		delete(c.names, owner)
	} else {
		c.names[owner] = left
	}
	return left
}
