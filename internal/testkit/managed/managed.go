// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package managed runs the controllers of the product in a test.
package managed

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
)

// Options returns the options of a manager that listens nowhere, uses no lease and works in the given namespaces; none means all.
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
	return testkit.Run(t, Manager(t, config, options).Start)
}

// Manager builds a manager that logs nothing.
func Manager(t testing.TB, config *rest.Config, options manager.Options) *manager.Manager {
	t.Helper()
	mgr, err := manager.New(config, options, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// World is a namespace in which managers work.
type World struct {
	*testkit.World
	// Options are the options of all managers that the world runs: Options for its namespace, as changed by the test.
	Options manager.Options
}

// NewWorld returns a world on the shared server. No manager runs in it yet.
func NewWorld(t *testing.T, change ...func(*manager.Options)) *World {
	t.Helper()
	return In(testkit.NewWorld(t), change...)
}

// In returns a world in which no manager runs yet.
func In(world *testkit.World, change ...func(*manager.Options)) *World {
	w := &World{World: world, Options: Options(world.Namespace)}
	w.Options.Registries.CacheDirectory = world.TempDir()
	for _, f := range change {
		f(&w.Options)
	}
	return w
}

// Controllers selects controllers.
func Controllers(names ...string) func(*manager.Options) {
	return func(o *manager.Options) { o.Controllers = names }
}

// SystemNamespace makes the world's namespace the system namespace, too.
func SystemNamespace(o *manager.Options) { o.SystemNamespace = o.Namespaces[0] }

// Manage runs a manager until the test ends, or until stop is called. stop may be called more than once.
func (w *World) Manage() (stop func()) {
	w.Helper()
	return w.ManageOver(w.Config())
}

// ManageOver is Manage with a connection that the test has prepared.
func (w *World) ManageOver(connection *rest.Config) (stop func()) {
	w.Helper()
	return Run(w.T, connection, w.Options)
}
