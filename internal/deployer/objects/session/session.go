// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package session keeps in memory what one pass over a deploy item leaves for the next pass of the same job: completed work,
// and the watches that wake the item. Nothing depends on it: after a restart, a pass compares objects instead.
//
// An unused session ends after a while, because a deployer is not notified when an item that it waits for is interrupted or deleted.
package session

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/cluster"
)

// Sessions are the sessions of all items that a deployer works on. Its methods may be called from several goroutines.
type Sessions[M any] struct {
	lease time.Duration
	fresh func() M

	mutex sync.Mutex
	open  map[types.UID]*Session[M]
}

// New returns an empty set. An unused session ends after lease; fresh creates the memory of a new one.
func New[M any](lease time.Duration, fresh func() M) *Sessions[M] {
	return &Sessions[M]{lease: lease, fresh: fresh, open: map[types.UID]*Session[M]{}}
}

// Session belongs to one job of one item. It is used by one goroutine at a time.
type Session[M any] struct {
	// Memory is the deployer's state for the job.
	Memory M

	id      identity
	expiry  *time.Timer
	mutex   sync.Mutex
	ended   bool
	watches map[cluster.Subject]func()
}

type identity struct {
	job        string
	generation int64
	deleting   bool
}

// Of returns the session of an item's current job, a new one if there is none. It renews the lease.
func (s *Sessions[M]) Of(item *lsv1alpha1.DeployItem) *Session[M] {
	id := identity{job: item.Status.JobID, generation: item.Generation, deleting: item.DeletionTimestamp != nil}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	current := s.open[item.UID]
	if current != nil && current.id == id && current.expiry.Stop() {
		current.expiry.Reset(s.lease)
		return current
	}
	if current != nil {
		current.end()
	}
	created := &Session[M]{Memory: s.fresh(), id: id, watches: map[cluster.Subject]func(){}}
	created.expiry = time.AfterFunc(s.lease, func() { s.close(item.UID, created) })
	s.open[item.UID] = created
	return created
}

// End ends the session of an item, if there is one.
func (s *Sessions[M]) End(item *lsv1alpha1.DeployItem) {
	s.mutex.Lock()
	current := s.open[item.UID]
	s.mutex.Unlock()
	if current != nil {
		s.close(item.UID, current)
	}
}

func (s *Sessions[M]) close(uid types.UID, session *Session[M]) {
	s.mutex.Lock()
	if s.open[uid] == session {
		delete(s.open, uid)
	}
	s.mutex.Unlock()
	session.end()
}

// Len returns the number of open sessions.
func (s *Sessions[M]) Len() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.open)
}

func (s *Session[M]) end() {
	s.expiry.Stop()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ended = true
	for subject, stop := range s.watches {
		stop()
		delete(s.watches, subject)
	}
}

// Follow watches exactly the given objects. It reports whether some of the watches are new; those objects may
// have changed after they were last read.
func (s *Session[M]) Follow(subjects []cluster.Subject, wake func()) (fresh bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wanted := map[cluster.Subject]bool{}
	var errs []error
	for _, subject := range subjects {
		wanted[subject] = true
		if s.watches[subject] != nil || s.ended {
			continue
		}
		stop, err := subject.Cluster.Watch(subject.GVK, subject.Key, wake)
		if err != nil {
			errs = append(errs, cluster.Refused("watch", subject, err))
			continue
		}
		s.watches[subject] = stop
		fresh = true
	}
	for subject, stop := range s.watches {
		if !wanted[subject] {
			stop()
			delete(s.watches, subject)
		}
	}
	return fresh, cluster.Join(errs)
}
