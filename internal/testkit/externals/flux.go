// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/subprocess"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/program"
)

// fluxNamespace is the namespace that the controllers are configured with.
const fluxNamespace = "flux-system"

// fluxControllers are the controllers of Flux, with their specific arguments.
var fluxControllers = []struct {
	program   program.Program
	arguments []string
}{
	{program: program.SourceController, arguments: []string{"--storage-addr=127.0.0.1:0"}},
	{program: program.KustomizeController},
	{program: program.HelmController, arguments: []string{"--graceful-shutdown-timeout=5s"}},
}

// Flux installs the kinds of Flux in an API server, runs the source-, kustomize- and helm-controller for all its namespaces, and returns
// when they are ready. They end with the test.
func Flux(t testing.TB, server *testkit.APIServer) {
	t.Helper()
	installFluxKinds(t, server)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fluxNamespace}}
	if err := server.Client().Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create the namespace of Flux: %v", err)
	}
	home := t.TempDir()
	storage := filepath.Join(home, "storage")
	if err := os.Mkdir(storage, 0o755); err != nil {
		t.Fatalf("make the artifact storage of Flux: %v", err)
	}
	// The source-controller could serve its artifacts itself, but needs to know in advance at which address others find them.
	artifacts := httptest.NewServer(http.FileServer(http.Dir(storage)))
	t.Cleanup(artifacts.Close)
	var starting sync.WaitGroup
	for _, controller := range fluxControllers {
		arguments := controller.arguments
		if controller.program.Name == program.SourceController.Name {
			arguments = slices.Concat(arguments, []string{"--storage-path=" + storage, "--storage-adv-addr=" + artifacts.Listener.Addr().String()})
		}
		running := startController(t, server, controller.program, arguments)
		starting.Go(func() {
			if err := running.process.While(t.Context(), running.awaitReady); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// installFluxKinds reads the CRDs from each controller's own module.
func installFluxKinds(t testing.TB, server *testkit.APIServer) {
	t.Helper()
	for _, controller := range fluxControllers {
		module, err := controller.program.Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		paths, err := filepath.Glob(filepath.Join(module, "config", "crd", "bases", "*.yaml"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("find the custom resource definitions of %s: %v", controller.program.Title, err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var definition apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal(content, &definition); err != nil {
				t.Fatalf("read %s: %v", filepath.Base(path), err)
			}
			server.InstallCRD(t, &definition)
		}
	}
}

// fluxController is a running controller of Flux.
type fluxController struct {
	process *subprocess.Process
	health  chan string // the address of its probes, once it serves them
}

func startController(t testing.TB, server *testkit.APIServer, p program.Program, arguments []string) *fluxController {
	t.Helper()
	binary, err := p.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	c := &fluxController{health: make(chan string, 1)}
	c.process, err = subprocess.Start(subprocess.Command{
		Title: p.Title, Binary: binary, Dir: home, Notice: c.read,
		Arguments: append([]string{
			"--enable-leader-election=false", "--log-encoding=json", "--metrics-addr=0", "--health-addr=127.0.0.1:0", "--requeue-dependency=1s",
		}, arguments...),
		Env: []string{"KUBECONFIG=" + server.Kubeconfig(), "RUNTIME_NAMESPACE=" + fluxNamespace, "HOME=" + home, "TMPDIR=" + home},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-c.process.Exited():
			t.Errorf("%s has ended on its own\n%s", p.Title, c.process.Output())
		default:
			c.process.Kill() // a regular end would wait for what is in progress
		}
	})
	showOutput(t, p.Title, c.process)
	return c
}

// read finds the line of the log with the port that the controller has chosen for its probes.
func (c *fluxController) read(line string) {
	var entry struct{ Msg, Name, Addr string }
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "starting server" || entry.Name != "health probe" {
		return
	}
	select {
	case c.health <- entry.Addr:
	default:
	}
}

func (c *fluxController) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, testkit.Patience)
	defer cancel()
	var address string
	select {
	case address = <-c.health:
	case <-ctx.Done():
		return fmt.Errorf("it did not serve its probes: %w", ctx.Err())
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("read the address of its probes: %w", err)
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := probe(ctx, "http://"+address+"/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("it did not become ready: %w", err)
		}
	}
}

func probe(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	closeQuietly(response.Body)
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
