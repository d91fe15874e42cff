// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

// options returns those of the binary, for one namespace and without its servers.
func options(namespace string) manager.Options {
	options := managed.Options(namespace)
	options.Controllers = []string{"-contexts"}
	return options
}

// start starts a process over a transport. Until it ends, the target is reached over the same transport.
func (s *scene) start(t testing.TB, transport *faults.Transport, options manager.Options) *managed.Process {
	t.Helper()
	s.target.connect(t, s.namespace, transport.Config(s.Config()))
	options.Registries.CacheDirectory = s.cache
	return s.processes.Start(t, s.Config(), transport, options)
}

// operate keeps a process running, as a Deployment does: after a crash, it starts a healthy one. It returns the first.
func (s *scene) operate(t testing.TB, plan faults.Plan) *managed.Process {
	t.Helper()
	transport := faults.New(plan)
	first := s.start(t, transport, options(s.namespace))
	t.Cleanup(transport.AfterCrash(func() {
		_ = first.Stop()
		s.start(t, faults.New(faults.Plan{}), options(s.namespace))
	}))
	return first
}

// relieve ends all processes and starts another one, which must find nothing to write.
func (s *scene) relieve(t *testing.T) {
	t.Helper()
	s.processes.Stop()
	before := s.recorder.History()
	fresh := s.start(t, faults.New(faults.Plan{}), options(s.namespace))
	<-fresh.Manager.Elected()
	if !fresh.Manager.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the caches of a new process are not filled")
	}
	// Write something, so that the awaited rest starts now.
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

// restLength is how long nothing must happen for a world to count as at rest.
const restLength = 400 * time.Millisecond
