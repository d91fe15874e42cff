// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/shard"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
	writes "espalier.dev/test/faults/invariant"
)

// While the number of processes that share the work changes, each promotion is carried out once, and one process at a time works on the
// pipeline.
func TestResharding(t *testing.T) {
	t.Parallel()
	for number, name := range []string{"supersede", "notify"} {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workloadNamed(t, name)
			made := reference(t, w).log.Writes()
			var all []disturbance
			for i, entry := range made {
				if *full || i == len(made)*(number+1)/4 {
					all = append(all, disturbance{processFault: reshard, at: entry.Write})
				}
			}
			sweep(t, w, all)
		})
	}
}

// arrangeShards starts two processes that share the work, and three that wait for them to end. There is one pipeline, so of each group, one
// process writes.
func (d disturbance) arrangeShards(s *scene) {
	s.t.Helper()
	const before, after = 2, 3
	var old, waiting []*managed.Process
	begun, followed := make(chan struct{}), make(chan struct{})
	change := sync.OnceFunc(func() {
		close(begun)
		for _, process := range old {
			process.Cancel()
		}
	})
	for number := 1; number <= before; number++ {
		old = append(old, s.sharing(number, before))
	}
	for _, process := range old {
		process.Transport.Before(d.at, change)
	}
	s.shared(before)
	for number := 1; number <= after; number++ {
		waiting = append(waiting, s.sharing(number, after))
	}
	s.succession = &succession{ended: func() bool { return isClosed(begun) }, followed: followed}
	s.follow(begun, waiting)
}

// follow closes the channel of the succession when the processes that waited are at rest.
func (s *scene) follow(begun <-chan struct{}, waiting []*managed.Process) {
	over := s.t.Context().Done()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-begun:
		case <-over:
			return
		}
		for _, process := range waiting {
			select {
			case <-process.Manager.Elected():
			case <-over:
				return
			}
			if !s.comesToRest(process) {
				return
			}
		}
		close(s.succession.followed)
	}()
	s.t.Cleanup(func() { <-done })
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sharing starts a process that shares the work. None loses its shard: those that end give it up.
func (s *scene) sharing(number, of int) *managed.Process {
	s.t.Helper()
	options := s.electing(5 * time.Minute)
	options.Shard = shard.Shard{Number: number, Of: of}.String()
	return s.start(faults.New(faults.Plan{}), options)
}

// shared waits until the given number of processes share the work.
func (s *scene) shared(processes int) {
	s.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: manager.LeaseName}}
	testkit.Eventually(s.t, s.APIServer, lease, testkit.Is(fmt.Sprintf("held by %d processes", processes), func(l *coordinationv1.Lease) bool {
		if l.Spec.HolderIdentity == nil {
			return false
		}
		holders, err := shard.Read(*l.Spec.HolderIdentity, l.Annotations[shard.Annotation])
		return err == nil && len(holders) == processes
	}))
}

// doubled returns the writes with which several processes that share the work have worked on the pipeline at once.
func (d disturbance) doubled(s *scene) []writes.Violation {
	if d.processFault != reshard {
		return nil
	}
	var all []writes.Write
	for number, log := range s.processes.Logs() {
		for _, entry := range log {
			if entry.Resource == "pipelines" && entry.IsWrite() && entry.Status != 0 {
				id := testkit.ObjectID{Kind: "Pipeline", Namespace: entry.Namespace, Name: entry.Name}
				all = append(all, writes.Write{Process: number + 1, At: entry.At, Object: id})
			}
		}
	}
	return writes.OneWorksOnEach(all)
}
