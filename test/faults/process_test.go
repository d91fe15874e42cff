// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// process is one process of espalier-controller, as far as the API server can tell: everything it sends passes its transport.
type process struct {
	transport *faults.Transport
	manager   ctrl.Manager
	cancel    context.CancelFunc
	ended     chan struct{}
	err       error // of the end; to be read after it
}

// options are those of the binary, for one namespace and without servers of its own.
func options(namespace string) manager.Options {
	options := manager.DefaultOptions()
	options.Controllers = []string{"-contexts"}
	options.Namespaces = []string{namespace}
	options.MetricsAddress, options.ProbeAddress, options.Pipelines.ApprovalAddress = manager.Disabled, manager.Disabled, manager.Disabled
	options.Pipelines.ApprovalAddress = manager.Disabled
	options.LeaderElection.Enabled = false
	return options
}

// start begins a process over a transport. Until it ends, the target is reached over the same transport.
func (s *scene) start(t testing.TB, transport *faults.Transport, options manager.Options) *process {
	t.Helper()
	mgr, err := newManager(transport.Config(s.Config()), options)
	if err != nil && !isDown(transport) {
		t.Fatalf("build the manager: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{transport: transport, manager: mgr, cancel: cancel, ended: make(chan struct{})}
	s.target.connect(t, s.namespace, transport.Config(s.Config()))
	s.processes.add(p)
	go func() {
		defer close(p.ended)
		if mgr == nil {
			p.err = errors.New("crashed at the start")
			return
		}
		p.err = mgr.Start(ctx)
	}()
	t.Cleanup(p.stop)
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

// stop ends the process and returns when it has ended. One that was cut off from the API server may end with an error: that is
// what a crash looks like from inside.
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

// log is what the first process has sent: the one that plans are about.
func (p *processes) log() faults.Log {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.all) == 0 {
		return nil
	}
	return p.all[0].transport.Log()
}

// operate keeps a process running, as a Deployment does: one that crashes is followed by a healthy one. It returns the first.
func (s *scene) operate(t testing.TB, plan faults.Plan) *process {
	t.Helper()
	transport := faults.New(plan)
	first := s.start(t, transport, options(s.namespace))
	over, restarted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(restarted)
		select {
		case <-transport.Crashed():
			first.stop()
			s.start(t, faults.New(faults.Plan{}), options(s.namespace))
		case <-over:
		}
	}()
	t.Cleanup(func() { close(over); <-restarted })
	return first
}

// relieve ends all processes and starts another one, which is to find nothing to write.
func (s *scene) relieve(t *testing.T) {
	t.Helper()
	for _, p := range s.processes.list() {
		p.stop()
	}
	before := s.recorder.History()
	fresh := s.start(t, faults.New(faults.Plan{}), options(s.namespace))
	<-fresh.manager.Elected()
	if !fresh.manager.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the caches of a new process are not filled")
	}
	// Something is written, so that the rest that is waited for begins now.
	now := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: "now-"}}
	s.create(t, now)
	s.recorder.Quiet(t, 2*restLength)
	if err := s.Client().Delete(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	writes := s.recorder.Since(before).Where(func(r testkit.Revision) bool { return r.Object.GetName() != now.Name })
	if len(writes) > 0 {
		t.Errorf("everything was at rest, and yet a new process has written:\n%s", writes)
	}
}

// restLength is how long nothing must happen for a world to count as being at rest.
const restLength = 400 * time.Millisecond
