// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

// disturbance is what goes wrong for the controller in one run. Its printed form is a list of faults, or FAULT@WRITE.
type disturbance struct {
	plan         faults.Plan
	outside      []outsideFault
	processFault processFault
	at           int
	gitea        bool // it takes place at a real Gitea; not part of the printed form
}

// processFault is something that is done to the processes at a write of the first one.
type processFault string

const (
	// stopLeader ends the leader regularly; the other replica takes over.
	stopLeader processFault = "stop"
	// crashLeader cuts it off from the API server at once, so that its lease must expire.
	crashLeader processFault = "crash"
	// freezeLeader cuts it off from the API server, but not from the Git server, until the other replica has taken over and worked.
	freezeLeader processFault = "freeze"
	// splitBrain lets two processes work at once, as if both believed to be the leader. It takes no write.
	splitBrain processFault = "splitBrain"
	// relieve ends the process at each rest, and starts another. It takes no write.
	relieve processFault = "relieve"
	// wipe crashes the process and empties the status of the pipeline before another one starts.
	wipe processFault = "wipe"
	// lose empties the status of the pipeline, and the process lives on.
	lose processFault = "lose"
	// reshard makes two processes share the work, and then three others: those start when the two end.
	reshard processFault = "reshard"
)

var processFaults = []processFault{stopLeader, crashLeader, freezeLeader, splitBrain, relieve, wipe, lose, reshard}

func (d disturbance) String() string {
	if d.processFault != "" {
		return fmt.Sprintf("%s@%d", d.processFault, d.at)
	}
	var parts []string
	if text := d.plan.String(); text != "" {
		parts = append(parts, text)
	}
	for _, fault := range d.outside {
		parts = append(parts, fault.String())
	}
	return strings.Join(parts, ";")
}

func parseDisturbance(text string) (disturbance, error) {
	var d disturbance
	name, write, found := strings.Cut(text, "@")
	if found && !strings.Contains(text, ":") {
		at, err := strconv.Atoi(write)
		if d = (disturbance{processFault: processFault(name), at: at}); err != nil || !slices.Contains(processFaults, d.processFault) {
			return d, fmt.Errorf("%q is not FAULT@WRITE with one of the processFaults %v", text, processFaults)
		}
		return d, nil
	}
	var rest []string
	for part := range strings.SplitSeq(text, ";") {
		if !strings.HasPrefix(part, "provider:") && !strings.HasPrefix(part, "sink:") {
			rest = append(rest, part)
			continue
		}
		fault, err := parseOutsideFault(part)
		if err != nil {
			return d, err
		}
		d.outside = append(d.outside, fault)
	}
	var err error
	d.plan, err = faults.Parse(strings.Join(rest, ";"))
	return d, err
}

// arrange starts the processes of a scene.
func (d disturbance) arrange(s *scene, w workload) {
	s.t.Helper()
	switch d.processFault {
	case "", relieve:
		s.operate(d.plan, func() {
			if w.meanwhile != nil {
				w.meanwhile(s)
			}
		})
	case wipe:
		p := s.operate(faults.Plan{}, s.wipe)
		p.Transport.Before(d.at, p.Transport.Crash)
	case lose:
		s.operate(faults.Plan{}, func() {}).Transport.Before(d.at, s.wipe)
	case splitBrain:
		s.start(faults.New(faults.Plan{}), s.options())
		s.start(faults.New(faults.Plan{}), s.options())
	case reshard:
		d.arrangeShards(s)
	default:
		d.arrangeReplicas(s)
	}
}

// wipe empties the status of the pipeline, like a restore from a backup without status. What the process had sent may still be executed
// meanwhile.
func (s *scene) wipe() {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p, ctx := s.stub(), context.Background()
		if err := s.Client().Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return client.IgnoreNotFound(err)
		}
		p.Status = pipelines.PipelineStatus{}
		return s.Client().Status().Update(ctx, p)
	})
	if err != nil {
		s.t.Errorf("wipe the status: %v", err)
	}
}

// isOver reports whether everything that is planned has happened. What lasts as long as the story is never over.
func (d disturbance) isOver(s *scene) bool {
	log := s.processes.Log()
	switch {
	case d.processFault == splitBrain || d.processFault == relieve || d.isNone():
		return false
	case d.processFault == reshard:
		return s.succession.ended()
	case d.processFault != "":
		return len(log.Writes()) >= d.at
	}
	struck, written := len(log.Where(func(e faults.Entry) bool { return e.Fault != "" })), len(log.Writes())
	if slices.ContainsFunc(d.plan.Watches, func(f faults.WatchFault) bool { return written < max(f.From, f.To) }) {
		return false
	}
	return struck >= len(d.plan.Requests) && s.provider.struck()+s.sink.struck() >= len(d.outside)
}

func (d disturbance) isNone() bool {
	return d.processFault == "" && len(d.plan.Requests)+len(d.plan.Watches)+len(d.outside) == 0
}

// worked is how many writes of the new leader a frozen one misses.
const worked = 2

func (d disturbance) arrangeReplicas(s *scene) {
	s.t.Helper()
	leader, other := faults.New(faults.Plan{}), faults.New(faults.Plan{})
	lease := 10 * time.Second // Another process works when it has expired.
	if d.processFault == stopLeader {
		lease = 5 * time.Minute // It gives it up.
	}
	process := s.replica(leader, lease)
	<-process.Manager.Elected()
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
	other.Before(worked, leader.Thaw)
	s.replica(other, lease)
	// No process may stay frozen, or it could not end.
	context.AfterFunc(s.t.Context(), leader.Thaw)
}

// replica runs a process with leader election. One that has lost its lease ends, and is replaced, as by a Deployment.
func (s *scene) replica(transport *faults.Transport, lease time.Duration) *managed.Process {
	s.t.Helper()
	first := s.start(transport, s.electing(lease))
	managed.Relieve(s.t, first, func() *managed.Process { return s.start(faults.New(faults.Plan{}), s.electing(lease)) })
	return first
}

func mergePatch(format string, args ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
}
