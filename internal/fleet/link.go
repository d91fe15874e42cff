// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// link keeps the connection to one referenced cluster. Its goroutine reads the location of the cluster, and starts a new session when that
// changes. The lock of the fleet protects it.
type link struct {
	fleet  *Fleet
	key    ClusterKey
	cancel context.CancelFunc
	poke   chan struct{} // there is a reason to read again
	begun  time.Time

	feeds map[feedKey]*feed
	// narrow are the kinds that are followed per namespace, because the credential does not permit more.
	narrow  map[schema.GroupVersionKind]bool
	session *session // nil while there is no connection
	problem Problem  // why there is none, or why it has returned nothing yet
	// server is the cluster of the last session. State from a different cluster does not apply.
	server string
	// refusals is the number of consecutive rejections of the credential.
	refusals int
}

func (f *Fleet) newLinkLocked(key ClusterKey) *link {
	ctx, cancel := context.WithCancel(f.ctx)
	l := &link{
		fleet: f, key: key, cancel: cancel, poke: make(chan struct{}, 1), begun: f.clock.Now(),
		feeds: map[feedKey]*feed{}, narrow: map[schema.GroupVersionKind]bool{}, problem: starting(key),
	}
	f.links[key] = l
	f.group.Go(func() {
		defer cancel()
		l.run(ctx)
	})
	return l
}

// feedKeyLocked returns the key of the feed for an application.
func (l *link) feedKeyLocked(application Application) feedKey {
	key := feedKey{cluster: l.key, gvk: application.GVK}
	if l.narrow[application.GVK] {
		key.namespace = application.Namespace
	}
	return key
}

// newFeedLocked adds a feed, and starts to fill it if there is a connection.
func (l *link) newFeedLocked(key feedKey, problem Problem) *feed {
	feed := newFeed(key, problem)
	l.feeds[key] = feed
	if l.session != nil {
		l.session.followLocked(feed)
	}
	return feed
}

// narrow replaces a feed of all namespaces, which the credential does not permit, by one per referenced namespace. It returns false if the
// feed is already one of those.
func (f *Fleet) narrow(wide *feed, from *session) bool {
	if wide.key.namespace != "" {
		return false
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if wide.session != from {
		return true
	}
	l := from.link
	wide.quitLocked()
	delete(l.feeds, wide.key)
	l.narrow[wide.key.gvk] = true
	problem := wide.problem
	if wide.synced() {
		problem = starting(l.key)
	}
	for name := range wide.wanted {
		key := feedKey{cluster: l.key, gvk: wide.key.gvk, namespace: name.Namespace}
		feed := l.feeds[key]
		if feed == nil {
			feed = l.newFeedLocked(key, problem)
		}
		feed.wanted[name] = wide.last(name, f.clock.Now())
	}
	return true
}

// reconnect never blocks.
func (l *link) reconnect() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// run connects and reconnects until the context ends.
func (l *link) run(ctx context.Context) {
	defer l.disconnect()
	watched := &names{host: l.fleet.resolver.host, timing: l.fleet.timing, changed: l.reconnect}
	defer watched.close()
	failures := 0
	for {
		place, err := l.look(ctx)
		if ctx.Err() != nil {
			return
		}
		watched.follow(ctx, place.objects)
		pause := jitter(l.fleet.timing.recheck)
		if failures++; err == nil {
			failures = 0
		} else {
			pause = min(pause, l.fleet.timing.pause(failures))
		}
		if !wait(ctx, pause, l.poke) {
			return
		}
	}
}

// look reads the location of the cluster and connects to it, unless it is connected. It returns an error if there is no connection, or if
// it is unknown whether the existing one is still valid.
func (l *link) look(ctx context.Context) (place, error) {
	limited, cancel := context.WithTimeout(ctx, l.fleet.timing.answer)
	defer cancel()
	found, err := l.fleet.resolver.find(limited, l.key)
	outdated := isVerdict(err)
	if err == nil {
		if l.has(found) {
			_, _ = found.connect(limited) // shows that the client is still needed
			return found, nil
		}
		var to connection
		if to, err = found.connect(limited); err == nil {
			l.begin(to, found.content)
			return found, nil
		}
		outdated = true
	}
	if ctx.Err() == nil {
		l.fail(clusterProblem(l.key, err), outdated)
	}
	return found, err
}

// has reports whether the session is connected to that place.
func (l *link) has(found place) bool {
	l.fleet.mutex.Lock()
	defer l.fleet.mutex.Unlock()
	return l.session != nil && l.session.place == found.content && !l.session.refused
}

// begin replaces the session. Feeds are not current until the new session has read everything.
func (l *link) begin(to connection, content fingerprint) {
	l.fleet.mutex.Lock()
	before := l.session
	if before == nil || before.place != content {
		l.refusals = 0
	}
	l.session = l.newSessionLocked(to, content)
	l.problem = starting(l.key)
	for _, feed := range l.feeds {
		l.renewLocked(feed, l.server != to.server)
	}
	l.server = to.server
	l.retireLocked(before)
	l.fleet.mutex.Unlock()
}

// renewLocked starts to fill a feed from a new session. It wakes no pipeline: the result follows soon. A feed that could not be read
// because of a rejected credential keeps this problem until it is read, since the new credential may be the same.
func (l *link) renewLocked(feed *feed, elsewhere bool) {
	if elsewhere || feed.problem.Reason != ReasonUnauthorized {
		feed.fail(l.problem, l.fleet.clock.Now())
	}
	if elsewhere {
		feed.forgetAll()
	}
	l.session.followLocked(feed)
}

// fail records why there is no connection. An existing connection that is not known to be outdated continues.
func (l *link) fail(problem Problem, outdated bool) {
	l.fleet.mutex.Lock()
	if l.session != nil && !outdated {
		l.fleet.mutex.Unlock()
		return
	}
	l.retireLocked(l.session)
	l.session, l.problem = nil, problem
	var concerned []types.NamespacedName
	for _, feed := range l.feeds {
		feed.quitLocked()
		if !feed.fail(problem, l.fleet.clock.Now()) {
			continue
		}
		for key := range feed.wanted {
			concerned = l.fleet.index.appendUsers(concerned, feed.application(key))
		}
	}
	l.fleet.mutex.Unlock()
	l.fleet.alarm.ring(concerned)
}

// disconnect ends the session when the cluster has no references left.
func (l *link) disconnect() {
	l.fleet.mutex.Lock()
	before := l.session
	l.session = nil
	l.fleet.mutex.Unlock()
	if before != nil {
		before.close()
	}
}

// retireLocked ends a session in a separate goroutine: a hanging request must not delay the next session.
func (l *link) retireLocked(before *session) {
	if before != nil {
		before.cancel()
		l.fleet.group.Go(before.close) // called by a goroutine of the group, so Close waits for it in any case
	}
}
