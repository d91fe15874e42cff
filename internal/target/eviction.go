// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import "time"

// sweepEvery is the minimum interval between two searches for idle clients.
const sweepEvery = time.Minute

// sweep drops clients that are idle and have no watches, drops owners that no longer use a client, and drops the least recently used
// clients if there are too many.
func (c *Clusters) sweep() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.options.Clock.Now()
	if len(c.clients) <= c.limit && now.Sub(c.swept) < sweepEvery {
		return
	}
	c.swept = now
	for key, entry := range c.clients {
		switch {
		case entry.cluster.watches.any():
		case now.Sub(entry.used) >= idleAfter:
			c.dropLocked(key)
		default:
			c.forgetIdleOwnersLocked(entry, now)
		}
	}
	for len(c.clients) > c.limit {
		c.dropLocked(c.dispensableLocked())
	}
}

// useLocked records that the owner uses the client. The caller holds the lock, here and in the functions below.
func (c *Clusters) useLocked(owner string, key fingerprint) *Cluster {
	entry := c.clients[key]
	entry.used = c.options.Clock.Now()
	entry.owners[owner] = entry.used
	return entry.cluster
}

// releaseLocked ends an owner's use of a client. The client is dropped if that was the last use.
func (c *Clusters) releaseLocked(owner string, key fingerprint) {
	delete(c.owners, owner)
	entry := c.clients[key]
	if entry == nil {
		return
	}
	delete(entry.owners, owner)
	if len(entry.owners) == 0 {
		c.dropLocked(key)
	}
}

// dropLocked removes a client and its owners. Its watchers are woken in another goroutine, because the caller may hold a lock that
// they need.
func (c *Clusters) dropLocked(key fingerprint) {
	entry := c.clients[key]
	for owner := range entry.owners {
		if c.owners[owner].client == key {
			delete(c.owners, owner)
		}
	}
	delete(c.clients, key)
	c.tasks.Go(entry.cluster.watches.retire)
}

func (c *Clusters) forgetIdleOwnersLocked(entry *record, now time.Time) {
	for owner, asked := range entry.owners {
		if now.Sub(asked) >= idleAfter {
			delete(entry.owners, owner)
			delete(c.owners, owner)
		}
	}
}

// dispensableLocked returns the least recently used client, preferably one without watches. A client that is dropped while watched
// continues to serve its watches.
func (c *Clusters) dispensableLocked() fingerprint {
	var found fingerprint
	var best *record
	for key, entry := range c.clients {
		if best == nil || moreDispensable(entry, best) {
			found, best = key, entry
		}
	}
	return found
}

func moreDispensable(a, b *record) bool {
	if watchedA, watchedB := a.cluster.watches.any(), b.cluster.watches.any(); watchedA != watchedB {
		return watchedB
	}
	return a.used.Before(b.used)
}
