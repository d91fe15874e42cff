// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/definitions"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
)

// runMain makes this test binary behave as the command itself.
const runMain = "ESPALIER_CONTROLLER_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	testkit.Main(m)
}

// process is the command in a separate process.
type process struct {
	cmd     *exec.Cmd
	log     safeBuffer
	probes  string
	metrics string
}

// safeBuffer may be read while the process writes.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{probes: testkit.FreeAddress(t), metrics: testkit.FreeAddress(t)}
	if !slices.Contains(args, "--kubeconfig") {
		args = append(args, "--kubeconfig", testkit.Server(t).Kubeconfig())
	}
	args = append(
		args,
		"--health-probe-address",
		p.probes,
		"--metrics-address",
		p.metrics,
		"--approval-address=0",
	)
	p.cmd = exec.Command(os.Args[0], args...) // It outlives the test's context, up to the cleanup.
	p.cmd.Env = append(os.Environ(), runMain+"=1")
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t) })
	return p
}

// stop ends the process, which must succeed. It may be called more than once.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("it has ended by itself: %v\n%s", err, p.log.String())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it did not end well: %v\n%s", err, p.log.String())
	}
}

// awaitReady polls, as a kubelet does.
func (p *process) awaitReady(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		status, _, err := fetch("http://" + p.probes + "/readyz")
		return err == nil && status == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("it does not become ready: %v\n%s", err, p.log.String())
	}
}

func fetch(url string) (status int, body string, err error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

func defaultContext(namespace string) *landscaper.Context {
	return &landscaper.Context{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: landscaper.DefaultContextName}}
}

var exists = testkit.Is("there", func(*landscaper.Context) bool { return true })

func TestController(t *testing.T) {
	server := testkit.Server(t)
	p := launch(t, "--concurrent", "contexts=3", "--leader-elect-namespace", "default")
	namespace := server.Namespace(t)
	testkit.Eventually(t, server, defaultContext(namespace), exists)
	p.awaitReady(t)

	t.Run("holds the lease", func(t *testing.T) {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: manager.LeaseName}}
		testkit.Eventually(t, server, lease, testkit.Is("held", isHeld))
	})
	t.Run("is alive", func(t *testing.T) {
		if status, body, err := fetch("http://" + p.probes + "/healthz"); status != http.StatusOK {
			t.Errorf("status %d, %s, %v", status, body, err)
		}
	})
	t.Run("serves metrics", func(t *testing.T) {
		_, body, err := fetch("http://" + p.metrics + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`controller_runtime_reconcile_total{controller="contexts",result="success"}`,
			`controller_runtime_max_concurrent_reconciles{controller="contexts"} 3`,
			"rest_client_requests_total", "workqueue_depth", "leader_election_master_status",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
	})
	t.Run("logs JSON", func(t *testing.T) {
		for _, line := range strings.Split(strings.TrimSpace(p.log.String()), "\n") {
			if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}") {
				t.Errorf("not JSON: %s", line)
			}
		}
	})
	t.Run("spares excluded namespaces", func(t *testing.T) {
		// The namespace of this test was created later and has its Context, so these were processed.
		for _, name := range []string{"kube-system", "kube-public"} {
			object := defaultContext(name)
			if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				t.Errorf("%s has a default Context: %v", name, err)
			}
		}
	})
	t.Run("gives the lease up when it stops", func(t *testing.T) {
		p.stop(t)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: manager.LeaseName}}
		if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
			t.Fatal(err)
		}
		if isHeld(lease) {
			t.Errorf("the lease is still held by %s", *lease.Spec.HolderIdentity)
		}
	})
}

func isHeld(lease *coordinationv1.Lease) bool {
	return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
}

func TestOnlyTheLeaderWorks(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	args := []string{ // A busy machine must not cost the leader its lease.
		"--leader-elect-namespace",
		namespace,
		"--leader-elect-lease-duration=5m",
		"--leader-elect-renew-deadline=4m",
		"--leader-elect-retry-period=500ms",
	}
	leader := launch(t, args...)
	testkit.Eventually(t, server, defaultContext(namespace), exists)
	standby := launch(t, args...)
	standby.awaitReady(t)
	if strings.Contains(standby.log.String(), "Starting workers") {
		t.Errorf("the standby works beside the leader:\n%s", standby.log.String())
	}
	leader.stop(t)
	testkit.Eventually(t, server, defaultContext(server.Namespace(t)), exists)
}

func TestExcludedControllersDoNotRun(t *testing.T) {
	server := testkit.Server(t)
	p := launch(t, "--controllers=-contexts", "--leader-elect=false", "--log-format=console", "--log-level=debug")
	p.awaitReady(t)
	namespace := server.Namespace(t)
	p.stop(t)
	object := defaultContext(namespace)
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
		t.Errorf("there is a default Context: %v", err)
	}
	if strings.Contains(p.log.String(), `"controller": "contexts"`) || strings.HasPrefix(p.log.String(), "{") {
		t.Errorf("the log is:\n%s", p.log.String())
	}
}

func TestRefusals(t *testing.T) {
	kubeconfig := testkit.Server(t).Kubeconfig()
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown controller":  {[]string{"--controllers=nope"}, `error: --controllers: unknown controller "nope": the controllers are contexts`},
		"no cluster":          {nil, "--kubeconfig FILE"},
		"missing kubeconfig":  {[]string{"--kubeconfig=/nowhere"}, "error: --kubeconfig: stat /nowhere"},
		"unknown flag":        {[]string{"--nope"}, "error: unknown flag: --nope\nSee 'espalier-controller --help'"},
		"an argument":         {[]string{"now"}, `unknown command "now"`},
		"a rate, no burst":    {[]string{"--kube-api-qps=5"}, "--kube-api-burst"},
		"unknown log format":  {[]string{"--log-format=xml"}, "--log-format"},
		"unknown log level":   {[]string{"--log-level=loud"}, "--log-level"},
		"an address in use":   {[]string{"--kubeconfig", kubeconfig, "--health-probe-address", "256.0.0.1:1"}, "256.0.0.1"},
		"nonsensical workers": {[]string{"--workers=0"}, "--workers is 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], test.args...)
			cmd.Env = append(os.Environ(), runMain+"=1", "KUBERNETES_SERVICE_HOST=")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("it ended with: %v", err)
			}
			if !strings.Contains(string(out), test.want) {
				t.Errorf("the message lacks %q: %s", test.want, out)
			}
		})
	}
}

// ofHelm are the parts of kubectl and of the API server's library that Helm cannot do without: its client consists of those of kubectl.
// They include neither a command of kubectl nor a server.
var ofHelm = []string{
	"k8s.io/apiserver/pkg/endpoints/deprecation",
	"k8s.io/kubectl/pkg/cmd/util", "k8s.io/kubectl/pkg/scheme", "k8s.io/kubectl/pkg/validation",
	"k8s.io/kubectl/pkg/util/i18n", "k8s.io/kubectl/pkg/util/interrupt", "k8s.io/kubectl/pkg/util/openapi",
	"k8s.io/kubectl/pkg/util/templates", "k8s.io/kubectl/pkg/util/term",
}

// The image for clusters must stay small, and must not contain a second API server.
func TestLinksNeitherEtcdNorTheAPIServer(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, name := range packages {
		for _, forbidden := range []string{"go.etcd.io/", "k8s.io/kubernetes", "k8s.io/apiserver", "k8s.io/kubectl", "espalier.dev/cmd/espalier/", "espalier.dev/internal/testkit"} {
			if strings.HasPrefix(name, forbidden) && !slices.Contains(ofHelm, name) {
				t.Errorf("it links %s", name)
			}
		}
	}
}

// With --install-crds, it creates its CRDs in an empty cluster, and does not downgrade those of a newer version.
func TestItInstallsDefinitions(t *testing.T) {
	server := testkit.NewServer(t)
	kubeconfig := []string{"--kubeconfig", server.Kubeconfig(), "--install-crds", "--leader-elect-namespace=default"}
	replicas := []*process{launch(t, kubeconfig...), launch(t, kubeconfig...)}
	for _, p := range replicas {
		p.awaitReady(t)
	}
	testkit.Eventually(t, server, defaultContext("default"), exists)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := server.Client().Get(t.Context(), client.ObjectKey{Name: "installations.landscaper.gardener.cloud"}, definition); err != nil {
		t.Fatal(err)
	}
	for _, p := range replicas {
		p.stop(t)
	}
	definition.Annotations[definitions.VersionAnnotation] = "a-newer-one"
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	if err := server.Client().Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], kubeconfig...)
	cmd.Env = append(os.Environ(), runMain+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "such as spec.later") {
		t.Errorf("it ended with %v:\n%s", err, out)
	}
}
