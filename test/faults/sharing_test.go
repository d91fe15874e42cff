// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/shard"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/test/faults/invariant"
)

// While the number of processes that share the work changes, nothing is lost and nothing is done twice, even if one of them crashes or
// freezes meanwhile.
func TestResharding(t *testing.T) {
	t.Parallel()
	for number, name := range []string{"life", "dependents", "growth"} {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workloadNamed(t, name)
			writes := reference(t, w).log.Writes()
			var all []disturbance
			for i, entry := range writes {
				for j, fault := range shardFaults {
					if *full || i == len(writes)*(2*j+1+number)/(2*len(shardFaults)+2) {
						all = append(all, disturbance{processFault: fault, at: entry.Write})
					}
				}
			}
			sweep(t, w, all)
		})
	}
}

// sharing returns the options of a process that shares the work, unless it is the only one.
func sharing(namespace string, number, of int) manager.Options {
	o := electing(namespace, shortLease)
	if of > 1 {
		o.Shard = shard.Shard{Number: number, Of: of}.String()
	}
	return o
}

// shares returns how many processes share the work before and after the fault.
func (d disturbance) shares() (before, after int) {
	switch d.processFault {
	case reshardFewer:
		return 3, 2
	case reshardFirst:
		return 1, 2
	}
	return 2, 3
}

// arrangeShards starts some processes that share the work, and others that wait for them to end.
func (d disturbance) arrangeShards(t *testing.T, s *scene) {
	t.Helper()
	before, after := d.shares()
	var old []*managed.Process
	var once sync.Once
	var made atomic.Int32
	// change ends the old processes; the one that makes the write ends as planned.
	change := func(writer *managed.Process) {
		once.Do(func() {
			for _, process := range old {
				d.end(process, process == writer)
			}
		})
	}
	for number := 1; number <= before; number++ {
		old = append(old, s.start(t, faults.New(faults.Plan{}), sharing(s.namespace, number, before)))
	}
	for _, process := range old {
		for write := 1; write <= d.at; write++ {
			process.Transport.Before(write, func() {
				if int(made.Add(1)) == d.at {
					change(process)
				}
			})
		}
		// No process may stay frozen, or it could not end.
		context.AfterFunc(t.Context(), process.Transport.Thaw)
		// A process that loses its lease on a busy machine is no problem: the others take over at once.
		go func() {
			<-process.Ended()
			change(nil)
		}()
	}
	s.shared(t, before)
	var waiting []*managed.Process
	for number := 1; number <= after; number++ {
		next := func() *managed.Process {
			return s.start(t, faults.New(faults.Plan{}), sharing(s.namespace, number, after))
		}
		first := next()
		for _, process := range old {
			first.Transport.Before(worked, process.Transport.Thaw)
		}
		managed.Relieve(t, first, next)
		waiting = append(waiting, first)
	}
	for _, process := range waiting {
		looks(t, process)
	}
}

// looks waits until a process has seen who holds the lease: from then on it works, or waits for the holders.
func looks(t *testing.T, process *managed.Process) {
	t.Helper()
	seen := func(context.Context) (bool, error) {
		answered := func(e faults.Entry) bool { return e.Resource == "leases" && e.Status == http.StatusOK }
		return len(process.Transport.Log().Where(answered)) > 1, nil
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, testkit.Patience, true, seen); err != nil {
		t.Fatalf("a process does not look at the lease: %v", err)
	}
}

// end ends a process that shares the work.
func (d disturbance) end(process *managed.Process, isWriter bool) {
	switch {
	case isWriter && d.processFault == reshardFreeze:
		process.Transport.Freeze()
		return // it ends when it notices that it has lost its lease
	case isWriter && d.processFault == reshardCrash:
		process.Transport.Crash()
	}
	process.Cancel()
}

// shared waits until the given number of processes share the work.
func (s *scene) shared(t *testing.T, processes int) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: manager.LeaseName}}
	testkit.Eventually(t, s.APIServer, lease, testkit.Is(fmt.Sprintf("held by %d processes", processes), func(l *coordinationv1.Lease) bool {
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			return false
		}
		if processes == 1 {
			return !shard.IsSummary(*l.Spec.HolderIdentity)
		}
		holders, err := shard.Read(*l.Spec.HolderIdentity, l.Annotations[shard.Annotation])
		return err == nil && len(holders) == processes
	}))
}

// written returns how many writes all processes have made together.
func (s *scene) written() int {
	sum := 0
	for _, log := range s.processes.Logs() {
		sum += len(log.Writes())
	}
	return sum
}

// kindsOfTrees are the resources that trees consist of.
var kindsOfTrees = map[string]string{"installations": "Installation", "executions": "Execution", "deployitems": "DeployItem"}

// doubled returns on which trees several processes that share the work have worked at once. A process that was frozen cannot know that it
// has lost its lease until it has asked; what it does until then is fenced like everything that a former leader does.
func (d disturbance) doubled(s *scene) []invariant.Violation {
	if !slices.Contains(shardFaults, d.processFault) || d.processFault == reshardFreeze {
		return nil
	}
	var writes []invariant.Write
	for number, log := range s.processes.Logs() {
		for _, entry := range log {
			kind, ofTree := kindsOfTrees[entry.Resource]
			if ofTree && entry.IsWrite() && entry.Status != 0 {
				id := testkit.ObjectID{Kind: kind, Namespace: entry.Namespace, Name: entry.Name}
				writes = append(writes, invariant.Write{Process: number + 1, At: entry.At, Object: id})
			}
		}
	}
	return invariant.OneWorksAtATime(s.recorder.History(), writes)
}
