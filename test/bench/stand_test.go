// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/measure"
)

// stand is a test stand: a separate API server with the controllers beside it, each in its own process.
type stand struct {
	flow        lsv1alpha1.Flow
	deploys     func(installation string) (configMap string)
	server      *testkit.APIServer
	client      client.WithWatch
	meter       *measure.Meter
	controllers *measure.Controllers
}

const (
	namespace       = "bench"
	targetNamespace = "bench-target"
	targetName      = "cluster"
)

// newStand starts everything and creates the namespaces, the Context and the Target. Installations on it follow one flow.
func newStand(b testing.TB, flow lsv1alpha1.Flow, arguments ...string) *stand {
	b.Helper()
	s := newServer(b, flow)
	s.run(b, s.server.Kubeconfig(), arguments...)
	return s
}

// newServer returns a stand without controllers.
func newServer(b testing.TB, flow lsv1alpha1.Flow) *stand {
	b.Helper()
	s := &stand{flow: flow, server: testkit.NewServer(b, testkit.ProjectCRDs())}
	s.deploys = func(installation string) string { return installation }
	s.meter = measure.NewMeter(b, s.server)
	scheme, err := testkit.Scheme()
	check(b, err)
	s.client, err = client.NewWithWatch(s.meter.Config(), client.Options{Scheme: scheme})
	check(b, err)
	text, err := os.ReadFile(s.server.Kubeconfig())
	check(b, err)
	s.prepare(b, namespace, string(text))
	return s
}

// prepare creates a namespace whose installations deploy to the cluster of a kubeconfig.
func (s *stand) prepare(b testing.TB, name, kubeconfig string) {
	b.Helper()
	for _, object := range []client.Object{
		namespaceNamed(name), namespaceNamed(name + "-target"),
		testkit.Context(name, lsv1alpha1.DefaultContextName).Build(), testkit.Target(name, targetName).Kubeconfig(kubeconfig).Build(),
	} {
		check(b, s.client.Create(b.Context(), object))
	}
}

// run starts the controllers and ends them with the benchmark.
func (s *stand) run(b testing.TB, kubeconfig string, arguments ...string) {
	b.Helper()
	s.controllers = measure.StartControllers(b, kubeconfig, append(arguments, "--approval-address=0")...)
}

// served returns the requests to the API server since it started, except those of this process.
func (s *stand) served(b testing.TB) measure.Requests {
	b.Helper()
	return s.meter.Requests(b)
}

func check(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
