// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// stand is a test stand: an API server of its own with the controllers beside it, each a process.
type stand struct {
	server     *testkit.APIServer
	client     client.WithWatch
	dynamic    dynamic.Interface
	kubernetes kubernetes.Interface
	requests   *counter // of this process
	controller *exec.Cmd
}

const (
	namespace       = "bench"
	targetNamespace = "bench-target"
	targetName      = "cluster"
)

// newStand starts everything and creates the namespaces, the Context and the Target.
func newStand(b *testing.B, arguments ...string) *stand {
	b.Helper()
	s := newServer(b)
	s.run(b, s.server.Kubeconfig(), arguments...)
	return s
}

// newServer is a stand without controllers.
func newServer(b *testing.B) *stand {
	b.Helper()
	s := &stand{server: testkit.NewServer(b, testkit.ProjectCRDs()), requests: newCounter()}
	config := s.server.Config()
	config.Wrap(s.requests.wrap)
	config.WarningHandler = rest.NoWarnings{}
	scheme, err := testkit.Scheme()
	check(b, err)
	s.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	check(b, err)
	s.dynamic, err = dynamic.NewForConfig(config)
	check(b, err)
	s.kubernetes, err = kubernetes.NewForConfig(config)
	check(b, err)
	text, err := os.ReadFile(s.server.Kubeconfig())
	check(b, err)
	s.prepare(b, namespace, string(text))
	return s
}

// prepare creates a namespace whose installations deploy to the cluster of a kubeconfig.
func (s *stand) prepare(b *testing.B, name, kubeconfig string) {
	b.Helper()
	for _, object := range []client.Object{
		namespaceNamed(name), namespaceNamed(name + "-target"),
		testkit.Context(name, lsv1alpha1.DefaultContextName).Build(), testkit.Target(name, targetName).Kubeconfig(kubeconfig).Build(),
	} {
		check(b, s.client.Create(b.Context(), object))
	}
}

// run starts the controllers and ends them with the benchmark.
func (s *stand) run(b *testing.B, kubeconfig string, arguments ...string) {
	b.Helper()
	arguments = append([]string{
		"--kubeconfig", kubeconfig, "--leader-elect=false", "--metrics-address=0", "--health-probe-address=0", "--log-level=error",
	}, arguments...)
	s.controller = exec.Command(controllerBinary(b), arguments...)
	var output bytes.Buffer
	s.controller.Stdout, s.controller.Stderr = &output, &output
	check(b, s.controller.Start())
	b.Cleanup(func() {
		_ = s.controller.Process.Signal(syscall.SIGTERM)
		if err := s.controller.Wait(); err != nil {
			b.Logf("the controllers ended with %v:\n%s", err, output.String())
		}
	})
}

var built struct {
	once sync.Once
	path string
	err  error
}

// controllerBinary builds espalier-controller once.
func controllerBinary(b *testing.B) string {
	b.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "espalier-bench-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "espalier-controller")
		output, err := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", built.path, "espalier.dev/cmd/espalier-controller").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build the controllers: %w\n%s", err, output)
		}
	})
	check(b, built.err)
	return built.path
}

// memory is what the controllers occupy, in MiB.
func (s *stand) memory(b *testing.B) float64 {
	b.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.controller.Process.Pid))
	check(b, err)
	for line := range strings.Lines(string(content)) {
		var kilobytes float64
		if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &kilobytes); err == nil {
			return kilobytes / 1024
		}
	}
	b.Fatal("the system does not say how much memory the controllers occupy")
	return 0
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
