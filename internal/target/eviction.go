// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import "time"

// sweepEvery spares most calls the search for idle clients.
const sweepEvery = time.Minute

// useLocked notes that the owner uses the client. The caller holds the lock, here and in all functions of this file.
func (c *Clusters) useLocked(owner string, key fingerprint) *Cluster {
	entry := c.clients[key]
	entry.used = c.options.Clock.Now()
	entry.owners[owner] = entry.used
	return entry.cluster
}

// releaseLocked ends an owner's use of a client and returns the client if that was the last one.
func (c *Clusters) releaseLocked(owner string, key fingerprint) []*Cluster {
	delete(c.owners, owner)
	entry := c.clients[key]
	if entry == nil {
		return nil
	}
	delete(entry.owners, owner)
	if len(entry.owners) > 0 {
		return nil
	}
	c.forgetLocked(key)
	return []*Cluster{entry.cluster}
}

// forgetLocked removes a client and what is known of its owners.
func (c *Clusters) forgetLocked(key fingerprint) {
	for owner := range c.clients[key].owners {
		if c.owners[owner].client == key {
			delete(c.owners, owner)
		}
	}
	delete(c.clients, key)
}

// sweepLocked removes clients that nobody has used for long and whose watches have ended, owners that no longer ask, and, if there are
// too many clients, those that were used least recently. It returns the clients that it removed.
func (c *Clusters) sweepLocked() []*Cluster {
	now := c.options.Clock.Now()
	if len(c.clients) <= c.limit && now.Sub(c.swept) < sweepEvery {
		return nil
	}
	c.swept = now
	var removed []*Cluster
	for key, entry := range c.clients {
		if entry.cluster.watches.any() {
			continue
		}
		if now.Sub(entry.used) >= idleAfter {
			removed = append(removed, entry.cluster)
			c.forgetLocked(key)
			continue
		}
		c.forgetIdleOwnersLocked(entry, now)
	}
	for len(c.clients) > c.limit {
		key := c.dispensableLocked()
		removed = append(removed, c.clients[key].cluster)
		c.forgetLocked(key)
	}
	return removed
}

func (c *Clusters) forgetIdleOwnersLocked(entry *record, now time.Time) {
	for owner, asked := range entry.owners {
		if now.Sub(asked) >= idleAfter {
			delete(entry.owners, owner)
			delete(c.owners, owner)
		}
	}
}

// dispensableLocked returns the client that was used least recently; one without watches if there is any. What is removed while it is
// watched goes on to serve its watches.
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
