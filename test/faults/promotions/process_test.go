// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"testing"
	"time"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

// options returns those of the binary, for one namespace.
func (s *scene) options() manager.Options {
	options := managed.Options(s.namespace)
	options.Controllers = []string{"pipelines"}
	if s.approval != "" {
		options.Pipelines.ApprovalAddress = s.approval
	}
	options.Pipelines.EventsAddress = s.events
	options.Pipelines.PollInterval = time.Second
	return options
}

// electing returns the options of a replica. A leader that cannot renew its lease on a busy machine would end for no reason.
func (s *scene) electing(lease time.Duration) manager.Options {
	options := s.options()
	options.LeaderElection = manager.LeaderElection{
		Enabled:       true,
		Namespace:     s.namespace,
		LeaseDuration: lease,
		RenewDeadline: lease * 4 / 5,
		RetryPeriod:   500 * time.Millisecond,
	}
	return options
}

// start starts a process over a transport.
func (s *scene) start(transport *faults.Transport, options manager.Options) *managed.Process {
	s.t.Helper()
	return s.processes.Start(s.t, s.Config(), transport, options)
}

// serve permits only this process to call external systems.
func (s *scene) serve(transport *faults.Transport) {
	s.provider.serve(transport)
	s.sink.serve(transport)
}

// succession is that of processes that end within a story.
type succession struct {
	// ended reports whether the first ones have ended, or will.
	ended func() bool
	// followed is closed when those after them are at rest.
	followed chan struct{}
}

// operate keeps a process running, as a Deployment does: after a crash, it starts a healthy one. It calls between while none runs.
func (s *scene) operate(plan faults.Plan, between func()) *managed.Process {
	s.t.Helper()
	transport := faults.New(plan)
	s.serve(transport)
	first := s.start(transport, s.options())
	followed := make(chan struct{})
	s.succession = &succession{ended: transport.IsCrashed, followed: followed}
	s.t.Cleanup(transport.AfterCrash(func() {
		_ = first.Stop()
		between()
		s.comesToRest(s.followUp())
		close(followed)
	}))
	return first
}

// steady waits, if a process has ended, until its successors are at rest, however long a busy machine takes for that. It reports whether one
// has ended.
func (s *scene) steady() bool {
	if s.succession == nil || !s.succession.ended() {
		return false
	}
	select {
	case <-s.succession.followed:
	case <-s.t.Context().Done():
	}
	return true
}

// followUp starts a healthy process without any state.
func (s *scene) followUp() *managed.Process {
	transport := faults.New(faults.Plan{})
	s.serve(transport)
	return s.start(transport, s.options())
}

// relieve ends all processes and starts another one, which must find nothing to write and nothing to do outside.
func (s *scene) relieve(t *testing.T) {
	t.Helper()
	s.processes.Stop()
	before, outside := s.recorder.History(), len(s.ledger.list())
	fresh := s.followUp()
	<-fresh.Manager.Elected()
	if !fresh.Manager.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the caches of a new process are not filled")
	}
	if !s.comesToRest(fresh) {
		t.Fatal("a new process does not come to rest")
	}
	if writes := s.recorder.Since(before); len(writes) > 0 {
		t.Errorf("I14: everything was at rest, and yet a new process has written:\n%s", writes)
	}
	if news := s.ledger.list()[outside:]; len(news) > 0 {
		t.Errorf("I14: everything was at rest, and yet a new process has done: %v", news)
	}
}

// comesToRest waits until a process has sent the API server no new request for a while, or the test has ended. Renewing a lease is none.
func (s *scene) comesToRest(p *managed.Process) bool {
	tick := time.NewTicker(restLength)
	defer tick.Stop()
	for last := -1; ; {
		select {
		case <-tick.C:
		case <-s.t.Context().Done():
			return false
		}
		entries := p.Transport.Log().Where(func(e faults.Entry) bool { return e.Verb != "watch" && e.Resource != "leases" })
		if len(entries) == last {
			return true
		}
		last = len(entries)
	}
}
