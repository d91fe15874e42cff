// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/target"
)

// connection is a connection to a cluster.
type connection struct {
	client client.WithWatch
	mapper meta.RESTMapper
	// server identifies the cluster, regardless of the credential.
	server string
	// cluster is nil for the management cluster.
	cluster *target.Cluster
}

// session is the use of one connection by a link: from reading a kubeconfig until its replacement or the last reference. Feeds use its
// identity to decide who may write to them.
type session struct {
	connection
	link   *link
	place  fingerprint // of what led to the connection
	ctx    context.Context
	cancel context.CancelFunc

	followers sync.WaitGroup
	refused   bool // the cluster rejected the credential
}

func (l *link) newSessionLocked(to connection, content fingerprint) *session {
	s := &session{connection: to, link: l, place: content}
	s.ctx, s.cancel = context.WithCancel(l.fleet.ctx)
	if to.cluster != nil {
		l.fleet.uses[to.cluster]++
	}
	return s
}

// followLocked starts to fill a feed.
func (s *session) followLocked(feed *feed) {
	feed.quitLocked()
	ctx, cancel := context.WithCancel(s.ctx)
	feed.session, feed.stop = s, cancel
	follower := &follower{session: s, feed: feed, key: feed.key, timing: s.link.fleet.timing}
	s.followers.Go(func() {
		defer cancel()
		follower.run(ctx)
	})
}

// quitLocked ends the follower of a feed, if there is one.
func (f *feed) quitLocked() {
	if f.stop != nil {
		f.stop()
	}
	f.session, f.stop = nil, nil
}

// refuse records that the credential was rejected, and makes the link read it again, with backoff.
func (s *session) refuse(ctx context.Context) {
	s.link.fleet.mutex.Lock()
	if !s.refused {
		s.refused = true
		s.link.refusals++
	}
	pause := s.link.fleet.timing.pause(s.link.refusals)
	s.link.fleet.mutex.Unlock()
	if wait(ctx, pause, nil) {
		s.link.reconnect()
	}
}

// synced records that the cluster has accepted the credential.
func (s *session) synced() {
	s.link.fleet.mutex.Lock()
	defer s.link.fleet.mutex.Unlock()
	s.link.refusals = 0
}

// close ends all followers, waits for them, and then closes the connection, if no other session uses it.
func (s *session) close() {
	s.cancel()
	s.followers.Wait()
	if s.cluster == nil {
		return
	}
	fleet := s.link.fleet
	fleet.mutex.Lock()
	fleet.uses[s.cluster]--
	last := fleet.uses[s.cluster] == 0
	if last {
		delete(fleet.uses, s.cluster)
	}
	fleet.mutex.Unlock()
	if last {
		fleet.resolver.clusters.Drop(s.cluster)
	}
}
