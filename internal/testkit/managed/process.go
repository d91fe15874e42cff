// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// Process is one process of espalier-controller, as seen by the API server: all its requests go through its transport.
type Process struct {
	*testkit.Process
	Transport *faults.Transport
	Manager   *manager.Manager // nil if the process crashed before there was one
}

// Processes are all that have run in a test. Their methods may be called from several goroutines.
type Processes struct {
	mutex sync.Mutex
	all   []*Process
}

// Start starts a process over a transport. It runs until it is stopped, at the latest in the test's cleanup. The test fails if it ends
// before that, unless its connection was cut, which is what a crash looks like from inside, or its lease was lost.
func (p *Processes) Start(t testing.TB, config *rest.Config, transport *faults.Transport, options manager.Options) *Process {
	t.Helper()
	connection := transport.Config(config)
	connection.UserAgent = "espalier-controller"
	mgr, err := manager.New(connection, options, log.Log)
	if err != nil && !transport.IsCrashed() {
		t.Errorf("build the manager: %v", err)
	}
	one := &Process{Transport: transport, Manager: mgr}
	one.Process = testkit.Start(context.Background(), func(ctx context.Context) error {
		if err != nil {
			return err
		}
		err := mgr.Start(ctx)
		if err != nil && ctx.Err() == nil && !transport.IsCrashed() && !options.LeaderElection.Enabled {
			t.Errorf("a process ended: %v", err)
		}
		return err
	})
	t.Cleanup(func() { _ = one.Stop() })
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all = append(p.all, one)
	return one
}

func (p *Processes) list() []*Process {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.all)
}

// Stop stops all of them.
func (p *Processes) Stop() {
	for _, one := range p.list() {
		_ = one.Stop()
	}
}

// Log returns the requests of the first process, to which plans apply.
func (p *Processes) Log() faults.Log {
	all := p.list()
	if len(all) == 0 {
		return nil
	}
	return all[0].Transport.Log()
}

// Logs returns the requests of all processes, in the order of their starts.
func (p *Processes) Logs() []faults.Log {
	var logs []faults.Log
	for _, one := range p.list() {
		logs = append(logs, one.Transport.Log())
	}
	return logs
}

// Relieve starts another process whenever one ends, as a Deployment does.
func Relieve(t testing.TB, first *Process, next func() *Process) {
	t.Helper()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for p := first; ; {
			select {
			case <-p.Ended():
				p = next()
			case <-over:
				return
			}
		}
	}()
	t.Cleanup(func() { close(over); <-done })
}
