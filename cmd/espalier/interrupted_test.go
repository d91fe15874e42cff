// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// signalled is a world in which signals end commands. No controller runs there.
type signalled struct {
	*testkit.World
	user
}

// running is a command that has not ended.
type running struct {
	*testing.T
	cmd    *exec.Cmd
	stderr *bufio.Scanner
	said   []string
}

// start starts a command for the API server of a kubeconfig.
func (s signalled) start(t *testing.T, kubeconfig string, args ...string) *running {
	t.Helper()
	r := &running{T: t, cmd: s.command(t, append(args, "--kubeconfig="+kubeconfig, "--namespace="+s.Namespace)...)}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stderr = bufio.NewScanner(stderr)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// until returns when the command has written a line with a text to standard error.
func (r *running) until(text string) {
	r.Helper()
	timer := time.AfterFunc(testkit.Patience, func() { _ = r.cmd.Process.Kill() }) // if it hangs
	defer timer.Stop()
	for r.stderr.Scan() {
		r.said = append(r.said, r.stderr.Text())
		if strings.Contains(r.stderr.Text(), text) {
			return
		}
	}
	r.Fatalf("it ended before it said %q: %v\n%s", text, r.cmd.Wait(), strings.Join(r.said, "\n"))
}

func (r *running) signal(signal os.Signal) {
	r.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		r.Fatal(err)
	}
}

// end waits for the end, and returns what the command has said.
func (r *running) end() (status syscall.WaitStatus, said string) {
	r.Helper()
	timer := time.AfterFunc(testkit.Patience, func() { _ = r.cmd.Process.Kill() }) // if it hangs
	defer timer.Stop()
	for r.stderr.Scan() {
		r.said = append(r.said, r.stderr.Text())
	}
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	return r.cmd.ProcessState.Sys().(syscall.WaitStatus), strings.Join(r.said, "\n")
}

// detached waits for the end as it is after Ctrl-C.
func (r *running) detached(says string) {
	r.Helper()
	if status, said := r.end(); status.ExitStatus() != cli.ExitDetached || !strings.Contains(said, says) {
		r.Errorf("it ended with %v and said:\n%s", r.cmd.ProcessState, said)
	}
}

// A signal ends commands in order, which tidy up before. The second signal does not wait for that.
func TestSignalsEndCommandsInOrder(t *testing.T) {
	s := signalled{testkit.WorldOn(t, testkit.NewServer(t, testkit.ProjectCRDs())), newUser(t)}
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String()+" while a decision is awaited", func(t *testing.T) { s.awaitDecision(t, signal) })
		t.Run(signal.String()+" while a target is created", func(t *testing.T) { s.createTarget(t, signal) })
		t.Run(signal.String()+" while a rule is tried", func(t *testing.T) { s.tryRule(t, signal) })
		t.Run(signal.String()+" while another program shows differences", func(t *testing.T) { s.showDifferences(t, signal) })
	}
	t.Run("a second signal", s.signalTwice)
}

func (s signalled) awaitDecision(t *testing.T, signal os.Signal) {
	line := clitest.Line(t, s.APIServer, s.Namespace)
	defer s.Delete(line)
	r := s.start(t, s.Kubeconfig(), "approve", line.Name, "production", "--wait")
	r.until("request sent")
	r.signal(signal)
	r.detached("Detached; the request remains")
}

// creating is a "target create" whose Secret is on the way to the API server until it is let through.
func (s signalled) creating(t *testing.T) (r *running, letThrough func()) {
	t.Helper()
	sent, gate := make(chan struct{}), make(chan struct{})
	front := clitest.Front(t, s.APIServer, func(request *http.Request) *http.Response {
		if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/secrets") && !request.URL.Query().Has("dryRun") {
			close(sent)
			<-gate
		}
		return nil
	})
	letThrough = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letThrough) // The front waits for it.
	r = s.start(t, front, "target", "create", "production", "--from-kubeconfig="+front)
	select {
	case <-sent:
	case <-time.After(testkit.Patience):
		_ = r.cmd.Process.Kill()
		_, said := r.end()
		t.Fatalf("no Secret is created:\n%s", said)
	}
	return r, letThrough
}

func (s signalled) createTarget(t *testing.T, signal os.Signal) {
	r, letThrough := s.creating(t)
	r.signal(signal)
	r.until("Interrupted; waiting for the API server to answer.")
	letThrough()
	r.detached("error: cannot create target production: interrupted")
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = s.Namespace, "production-access"
	if s.Read(secret) {
		t.Error("the Secret of the Target stays")
	}
}

func (s signalled) signalTwice(t *testing.T) {
	r, _ := s.creating(t)
	r.signal(syscall.SIGINT)
	r.until("Press Ctrl-C again to end at once")
	r.signal(syscall.SIGINT)
	if status, said := r.end(); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v and said:\n%s", r.cmd.ProcessState, said)
	}
}

func (s signalled) tryRule(t *testing.T, signal os.Signal) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: example.org/v1\nkind: Nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	created := s.awaitJob(t)
	r := s.start(t, s.Kubeconfig(), "deployer", "conformance", "--type=example.org/nobody", "--rule=pick-up", "--config="+file)
	created()
	r.signal(signal)
	r.detached("error: cannot try the rules: interrupted")
	var left lsv1alpha1.DeployItemList
	if err := s.Client().List(t.Context(), &left, client.InNamespace(s.Namespace)); err != nil || len(left.Items) > 0 {
		t.Errorf("%d deploy items are left: %v", len(left.Items), err)
	}
}

// awaitJob returns a function that waits until a deploy item has a job.
func (s signalled) awaitJob(t *testing.T) func() {
	t.Helper()
	items, err := s.Client().Watch(t.Context(), &lsv1alpha1.DeployItemList{}, client.InNamespace(s.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer items.Stop()
		for limit := time.After(testkit.Patience); ; {
			select {
			case event := <-items.ResultChan():
				if item, known := event.Object.(*lsv1alpha1.DeployItem); known && item.Status.JobID != "" {
					return
				}
			case <-limit:
				t.Fatal("no deploy item gets a job")
			}
		}
	}
}

// planting is a blueprint that puts a ConfigMap into a cluster.
const planting = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports: [{name: place, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: planted
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: place}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - policy: manage
          manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: planted, namespace: default}}
`

func (s signalled) showDifferences(t *testing.T, signal os.Signal) {
	shop := testkit.Installation(s.Namespace, "shop").Blueprint(planting).ImportTarget("place", "place").Build()
	place := testkit.Target(s.Namespace, "place").Cluster(t, s.APIServer).Build()
	s.Create(shop, place)
	defer s.Delete(shop)
	defer s.Delete(place)
	script := filepath.Join(t.TempDir(), "show.sh")
	if err := os.WriteFile(script, []byte("echo showing >&2\nexec tail -f /dev/null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"KUBECTL_EXTERNAL_DIFF=sh " + script}
	r := s.start(t, s.Kubeconfig(), "diff", "shop")
	r.until("showing")
	r.signal(signal)
	r.detached("error: interrupted")
	if left, err := os.ReadDir(s.temp); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
