// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit/faults"
)

// process is one process of espalier-controller.
type process struct {
	transport *faults.Transport
	manager   ctrl.Manager
	cancel    context.CancelFunc
	ended     chan struct{}
}

// options are those of the binary, for one namespace.
func (s *scene) options() manager.Options {
	options := manager.DefaultOptions()
	options.Controllers = []string{"pipelines"}
	options.Namespaces = []string{s.namespace}
	options.MetricsAddress, options.ProbeAddress = manager.Disabled, manager.Disabled
	options.Pipelines.ApprovalAddress = manager.Disabled
	if s.approval != "" {
		options.Pipelines.ApprovalAddress = s.approval
	}
	options.Pipelines.EventsAddress = s.events
	options.Pipelines.PollInterval = time.Second
	options.LeaderElection.Enabled = false
	return options
}

// electing are the options of a replica. A leader that a busy machine keeps from renewing its lease would end for no reason.
func (s *scene) electing() manager.Options {
	options := s.options()
	options.LeaderElection = manager.LeaderElection{
		Enabled:       true,
		Namespace:     s.namespace,
		LeaseDuration: 10 * time.Second,
		RenewDeadline: 8 * time.Second,
		RetryPeriod:   500 * time.Millisecond,
	}
	return options
}

// start begins a process over a transport.
func (s *scene) start(transport *faults.Transport, options manager.Options) *process {
	s.t.Helper()
	mgr, err := newManager(transport.Config(s.Config()), options)
	if err != nil && !isDown(transport) {
		s.t.Errorf("build the manager: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{transport: transport, manager: mgr, cancel: cancel, ended: make(chan struct{})}
	s.processes.add(p)
	go func() {
		defer close(p.ended)
		if mgr == nil {
			return
		}
		// One that was cut off may end with an error: that is what a crash looks like from inside. So does the loss of a lease.
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil && !isDown(transport) && !options.LeaderElection.Enabled {
			s.t.Errorf("a process ended: %v", err)
		}
	}()
	s.t.Cleanup(p.stop)
	return p
}

func newManager(config *rest.Config, options manager.Options) (ctrl.Manager, error) {
	config.UserAgent = "espalier-controller"
	mgr, err := manager.New(config, options, log.Log)
	if err != nil {
		return nil, err
	}
	return mgr, nil
}

func isDown(transport *faults.Transport) bool {
	select {
	case <-transport.Crashed():
		return true
	default:
		return false
	}
}

// stop ends the process and returns when it has ended.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// processes are all that have run in a scene.
type processes struct {
	mutex sync.Mutex
	all   []*process
}

func (p *processes) add(one *process) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all = append(p.all, one)
}

func (p *processes) list() []*process {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.all)
}

// log is what the first process has sent to the API server: the one that plans are about.
func (p *processes) log() faults.Log {
	all := p.list()
	if len(all) == 0 {
		return nil
	}
	return all[0].transport.Log()
}

// serve lets a process call what is outside; nobody else may then.
func (s *scene) serve(transport *faults.Transport) {
	s.provider.serve(transport)
	s.sink.serve(transport)
}

// succession is a process that is followed by another one if it crashes.
type succession struct {
	transport *faults.Transport
	// followed is closed when the next one has come to rest.
	followed chan struct{}
}

// operate keeps a process running, as a Deployment does: one that crashes is followed by a healthy one. between is done while none runs.
func (s *scene) operate(plan faults.Plan, between func()) *process {
	s.t.Helper()
	transport := faults.New(plan)
	s.serve(transport)
	first := s.start(transport, s.options())
	followed := make(chan struct{})
	s.succession = &succession{transport: transport, followed: followed}
	over, restarted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(restarted)
		select {
		case <-transport.Crashed():
			first.stop()
			between()
			s.comesToRest(s.followUp())
			close(followed)
		case <-over:
		}
	}()
	s.t.Cleanup(func() { close(over); <-restarted })
	return first
}

// steady waits, if the process has crashed, until the one that follows has come to rest, however long a busy machine takes for that. It
// reports whether there was a crash.
func (s *scene) steady() bool {
	if s.succession == nil || !isDown(s.succession.transport) {
		return false
	}
	select {
	case <-s.succession.followed:
	case <-s.t.Context().Done():
	}
	return true
}

// followUp starts a healthy process without any memory.
func (s *scene) followUp() *process {
	transport := faults.New(faults.Plan{})
	s.serve(transport)
	return s.start(transport, s.options())
}

// relieve ends all processes and starts another one, which is to find nothing to write and nothing to do outside.
func (s *scene) relieve(t *testing.T) {
	t.Helper()
	for _, p := range s.processes.list() {
		p.stop()
	}
	before, outside := s.recorder.History(), len(s.ledger.list())
	fresh := s.followUp()
	<-fresh.manager.Elected()
	if !fresh.manager.GetCache().WaitForCacheSync(t.Context()) {
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

// comesToRest waits until a process has asked the API server for nothing new for a while, or the test has ended.
func (s *scene) comesToRest(p *process) bool {
	tick := time.NewTicker(restLength)
	defer tick.Stop()
	for last := -1; ; {
		select {
		case <-tick.C:
		case <-s.t.Context().Done():
			return false
		}
		entries := p.transport.Log().Where(func(e faults.Entry) bool { return e.Verb != "watch" })
		if len(entries) == last {
			return true
		}
		last = len(entries)
	}
}
