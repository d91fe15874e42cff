// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

// disturbance is what goes wrong in one run: faults of the controllers' connection, or something that is done to their processes at a
// write, or a fault of the registry at a request to it. Its printed form is a plan of package faults, or FAULT@WRITE, or, if the end comes
// later, FAULT@WRITE+WRITE.
type disturbance struct {
	plan         faults.Plan
	processFault processFault
	at           int
	until        int // the write of the other process at which it ends
}

// processFault is something that is done to the processes at a write of the first one.
type processFault string

const (
	// stopLeader ends the leader regularly; the other replica takes over.
	stopLeader processFault = "stop"
	// crashLeader ends it at once, so that its lease must expire.
	crashLeader processFault = "crash"
	// freezeLeader stops it in the middle of the write, which it sends after the other replica has taken over and worked.
	freezeLeader processFault = "freeze"
	// splitBrain lets two processes work at once, as if both believed to be the leader. It takes no write.
	splitBrain processFault = "splitBrain"
	// relieve ends the process after each act, regularly, and starts another. It takes no write.
	relieve processFault = "relieve"
	// reshard makes two processes share the work, and then three others: those start when the two, which count their writes together, end
	// regularly. In the next variants the one that makes the write crashes, or freezes and sends it later. In the others all end regularly,
	// and three processes become two, or one that does not share the work becomes two.
	reshard       processFault = "reshard"
	reshardCrash  processFault = "reshardCrash"
	reshardFreeze processFault = "reshardFreeze"
	reshardFewer  processFault = "reshardFewer"
	reshardFirst  processFault = "reshardFirst"
)

// shardFaults are those of processes that share the work.
var shardFaults = []processFault{reshard, reshardCrash, reshardFreeze, reshardFewer, reshardFirst}

func planned(plans []faults.Plan) []disturbance {
	var all []disturbance
	for _, plan := range plans {
		all = append(all, disturbance{plan: plan})
	}
	return all
}

func (d disturbance) String() string {
	if d.processFault == "" {
		return d.plan.String()
	}
	if d.until > 0 {
		return fmt.Sprintf("%s@%d+%d", d.processFault, d.at, d.until)
	}
	return fmt.Sprintf("%s@%d", d.processFault, d.at)
}

func parseDisturbance(text string) (disturbance, error) {
	name, write, found := strings.Cut(text, "@")
	if !found || strings.Contains(text, ":") {
		plan, err := faults.Parse(text)
		return disturbance{plan: plan}, err
	}
	begin, end, ends := strings.Cut(write, "+")
	at, err := strconv.Atoi(begin)
	until := 0
	if ends && err == nil {
		until, err = strconv.Atoi(end)
	}
	if err != nil {
		return disturbance{}, fmt.Errorf("%q is not the number of a write, or two with a plus between them", write)
	}
	d := disturbance{processFault: processFault(name), at: at, until: until}
	if !d.isOfRegistry() && !slices.Contains(
		slices.Concat(userFaults, continuousFaults, shardFaults, []processFault{stopLeader, crashLeader, freezeLeader, splitBrain, relieve, userEnds}),
		d.processFault,
	) {
		return d, fmt.Errorf("there is no processFault %q", name)
	}
	return d, nil
}

// arrange starts the processes of a scene.
func (d disturbance) arrange(t *testing.T, s *scene) {
	t.Helper()
	if d.isOfRegistry() {
		commonShelves().plan(s.namespace, d)
		s.operate(t, d.plan)
		return
	}
	if slices.Contains(shardFaults, d.processFault) {
		d.arrangeShards(t, s)
		return
	}
	switch d.processFault {
	case "", relieve:
		s.operate(t, d.plan)
	case splitBrain:
		s.start(t, faults.New(faults.Plan{}), options(s.namespace))
		s.start(t, faults.New(faults.Plan{}), options(s.namespace))
	case stopLeader, crashLeader, freezeLeader:
		d.arrangeReplicas(t, s)
	default:
		s.operate(t, d.plan).Transport.Before(d.at, func() { d.interfere(t, s) })
	}
}

// isOver reports whether everything that is planned has happened. What lasts as long as the story is never over.
func (d disturbance) isOver(s *scene) bool {
	log := s.processes.Log()
	struck, written := len(log.Where(func(e faults.Entry) bool { return e.Fault != "" })), len(log.Writes())
	switch {
	case d.processFault == splitBrain || d.processFault == relieve || d.until > 0:
		return false
	case d.isOfRegistry():
		return commonShelves().requests(s.namespace) >= d.at
	case slices.Contains(shardFaults, d.processFault):
		return s.written() >= d.at
	case d.processFault != "":
		return written >= d.at
	case len(d.plan.Requests)+len(d.plan.Watches) == 0 || struck < len(d.plan.Requests):
		return false
	}
	return !slices.ContainsFunc(d.plan.Watches, func(f faults.WatchFault) bool { return written < f.To })
}

// electing returns the options of a replica. A leader that cannot renew its lease on a busy machine would end for no reason.
func electing(namespace string, lease time.Duration) manager.Options {
	o := options(namespace)
	o.LeaderElection = manager.LeaderElection{
		Enabled: true, Namespace: namespace, LeaseDuration: lease, RenewDeadline: lease * 4 / 5, RetryPeriod: 500 * time.Millisecond,
	}
	return o
}

// shortLease is for leaders that fall silent: another process works when it has expired.
const shortLease = 10 * time.Second

// lease returns how long the lease of a leader is valid. One that stops gives it up.
func (d disturbance) lease() time.Duration {
	if d.processFault == stopLeader {
		return 5 * time.Minute
	}
	return shortLease
}

// worked is how many writes of the new leader a frozen one misses, unless the plan says otherwise.
const worked = 3

func (d disturbance) arrangeReplicas(t *testing.T, s *scene) {
	t.Helper()
	leader, other := faults.New(faults.Plan{}), faults.New(faults.Plan{})
	process := s.replica(t, leader, d.lease())
	leads(t, s)
	leader.Before(d.at, func() {
		switch d.processFault {
		case stopLeader:
			process.Cancel()
		case crashLeader:
			leader.Crash()
			process.Cancel()
		case freezeLeader:
			leader.Freeze()
		}
	})
	other.Before(cmp.Or(d.until, worked), leader.Thaw)
	s.replica(t, other, d.lease())
	// No process may stay frozen, or it could not end.
	context.AfterFunc(t.Context(), leader.Thaw)
}

// replica runs a process with leader election. One that has lost its lease ends, and is replaced, as by a Deployment.
func (s *scene) replica(t *testing.T, transport *faults.Transport, lease time.Duration) *managed.Process {
	t.Helper()
	first := s.start(t, transport, electing(s.namespace, lease))
	managed.Relieve(t, first, func() *managed.Process { return s.start(t, faults.New(faults.Plan{}), electing(s.namespace, lease)) })
	return first
}
