// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package managed runs the controllers of the product in a test.
package managed

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/manager"
)

// Options are those of a manager that listens nowhere, asks for no lease and works in the given namespaces; none means all.
func Options(namespaces ...string) manager.Options {
	options := manager.DefaultOptions()
	options.Namespaces = namespaces
	options.MetricsAddress, options.ProbeAddress = manager.Disabled, manager.Disabled
	options.Pipelines.ApprovalAddress = manager.Disabled
	options.LeaderElection.Enabled = false
	return options
}

// Run runs a manager until the test ends, or until stop is called. stop may be called more than once.
func Run(t testing.TB, config *rest.Config, options manager.Options) (stop func()) {
	t.Helper()
	mgr, err := manager.New(config, options, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}
