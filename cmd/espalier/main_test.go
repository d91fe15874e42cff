// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"espalier.dev/cmd/espalier/internal/kubeversion"
	"espalier.dev/internal/testkit"
)

// runMain makes this test binary behave as espalier itself.
const runMain = "ESPALIER_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// user is a user with an empty home directory.
type user struct {
	home string
	temp string
	// env is additional environment variables.
	env []string
}

func newUser(t *testing.T) user {
	t.Helper()
	return user{home: t.TempDir(), temp: t.TempDir()}
}

func (u user) dataDir() string { return filepath.Join(u.home, ".local", "share", "espalier") }

func (u user) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append([]string{
		runMain + "=1", "HOME=" + u.home, "TMPDIR=" + u.temp, "PATH=" + os.Getenv("PATH"),
		"ESPALIER_NODE_PROGRAMS=" + os.Getenv("ESPALIER_NODE_PROGRAMS"),
	}, u.env...)
	return cmd
}

// run executes espalier and waits for its end.
func (u user) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := u.command(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// mustRun executes espalier, which must succeed.
func (u user) mustRun(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := u.run(t, args...)
	if code != 0 {
		t.Fatalf("espalier %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// instance is a running "espalier up".
type instance struct {
	cmd    *exec.Cmd
	facts  map[string]string
	stdout *bufio.Scanner
	stderr *bufio.Scanner
}

// up returns when espalier has printed its whole summary.
func (u user) up(t *testing.T, args ...string) *instance {
	t.Helper()
	i := &instance{cmd: u.command(t, append([]string{"up"}, args...)...), facts: map[string]string{}}
	stdout, err := i.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := i.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	i.stdout, i.stderr = bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	if err := i.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i.facts["Stop"] == "" {
		if !i.stdout.Scan() {
			t.Fatalf("it ended before it was up: %s", i.rest(t))
		}
		title, value, _ := strings.Cut(strings.TrimSpace(i.stdout.Text()), "   ")
		i.facts[title] = strings.TrimSpace(value)
	}
	return i
}

// rest waits for the end and returns the remaining output.
func (i *instance) rest(t *testing.T) string {
	t.Helper()
	timer := time.AfterFunc(testkit.Patience, func() { _ = i.cmd.Process.Kill() }) // if it hangs
	defer timer.Stop()
	var lines []string
	for _, scanner := range []*bufio.Scanner{i.stdout, i.stderr} {
		for scanner.Scan() {
			lines = append(lines, scanner.Text())
		}
	}
	err := i.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func (i *instance) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := i.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// stop ends the instance regularly.
func (i *instance) stop(t *testing.T, signal os.Signal) {
	t.Helper()
	i.signal(t, signal)
	rest := i.rest(t)
	if code := i.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, rest)
	}
	if !strings.HasSuffix(rest, "Stopping ...") {
		t.Errorf("its last words are: %s", rest)
	}
}

// A closed terminal ends espalier regularly, and leaves nothing half done.
func TestUpEndsInOrderWhenItsTerminalIsGone(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := newUser(t).command(t, "up", "--ui-addr", "")
	cmd.Stdout, cmd.Stderr = write, write
	if err := errors.Join(cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for output := bufio.NewScanner(read); ; {
		if !output.Scan() {
			t.Fatalf("it ended before it was up: %v", cmd.Wait())
		}
		if strings.HasPrefix(strings.TrimSpace(output.Text()), "Stop ") {
			break
		}
	}
	if err := errors.Join(read.Close(), cmd.Process.Signal(syscall.SIGHUP), cmd.Wait()); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestUp(t *testing.T) {
	u := newUser(t)
	i := u.up(t, "--example", "hello", "--ui-addr", "127.0.0.1:0")
	t.Cleanup(func() { _ = i.cmd.Process.Kill() })

	t.Run("writes a kubeconfig for the owner only", func(t *testing.T) {
		info, err := os.Stat(i.facts["Kubeconfig"])
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || i.facts["Kubeconfig"] != filepath.Join(u.dataDir(), "kubeconfig") {
			t.Errorf("%s has mode %v", i.facts["Kubeconfig"], info.Mode())
		}
	})
	t.Run("saves memory", func(t *testing.T) { u.checkMemory(t) })
	t.Run("explains the custom resources", func(t *testing.T) {
		out := u.mustRun(t, "kubectl", "explain", "installation.spec.flow")
		for _, want := range []string{"landscaper.gardener.cloud", "flow <string>", "Continuous"} {
			if !strings.Contains(out, want) {
				t.Errorf("the explanation lacks %q:\n%s", want, out)
			}
		}
	})
	t.Run("runs the controllers", func(t *testing.T) {
		u.mustRun(t, "kubectl", "wait", "--for=create", "--timeout=6m", "-n", "hello", "contexts/default")
	})
	t.Run("creates the example", func(t *testing.T) {
		u.mustRun(t, "kubectl", "get", "-n", "hello", "installation/hello", "target/here", "dataobject/whom-to-greet")
	})
	t.Run("runs a job of the example", func(t *testing.T) {
		if out := u.mustRun(t, "reconcile", "hello", "-n", "hello", "--wait"); out != "installation hello has succeeded\n" {
			t.Errorf("got:\n%s", out)
		}
	})
	t.Run("shows the tree of the example", func(t *testing.T) {
		for _, args := range [][]string{{"get", "-A"}, {"tree", "-n", "hello"}, {"why", "-n", "hello", "hello"}} {
			if out := u.mustRun(t, args...); !strings.Contains(out, "hello") {
				t.Errorf("%v prints:\n%s", args, out)
			}
		}
	})
	t.Run("shows it in the web UI", func(t *testing.T) {
		if overview := firstDocument(t, i.facts["Web UI"]); !strings.Contains(overview, "hello") {
			t.Errorf("the overview is:\n%s", overview)
		}
	})
	t.Run("tells the version on both sides", func(t *testing.T) {
		out := u.mustRun(t, "kubectl", "version")
		if strings.Count(out, kubeversion.Version) != 2 {
			t.Errorf("got:\n%s", out)
		}
	})
	t.Run("suggests a command that works", func(t *testing.T) {
		args, ok := strings.CutPrefix(i.facts["Try"], "espalier ")
		if !ok {
			t.Fatalf("it suggests: %s", i.facts["Try"])
		}
		if out := u.mustRun(t, strings.Fields(args)...); !strings.Contains(out, "hello") {
			t.Errorf("got:\n%s", out)
		}
	})
	t.Run("refuses a second one politely", func(t *testing.T) {
		code, stdout, stderr := u.run(t, "up")
		if code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
		}
		for _, want := range []string{u.dataDir(), fmt.Sprintf("kill %d", i.cmd.Process.Pid)} {
			if !strings.Contains(stderr, want) {
				t.Errorf("the message lacks %q: %s", want, stderr)
			}
		}
	})
	t.Run("completes the names of objects", func(t *testing.T) {
		out := u.mustRun(t, "__complete", "kubectl", "get", "-n", "hello", "dataobjects", "")
		if !strings.Contains(out, "whom-to-greet") {
			t.Errorf("got:\n%s", out)
		}
		if out := u.mustRun(t, "__complete", "reconcile", "-n", "hello", "hel"); !strings.Contains(out, "hello\n") {
			t.Errorf("got:\n%s", out)
		}
	})
	t.Run("asks who may approve", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pipeline.yaml")
		if err := os.WriteFile(file, []byte(forgedRequest), 0o600); err != nil {
			t.Fatal(err)
		}
		// The API server takes a moment to load the policy.
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
			code, _, stderr := u.run(t, "kubectl", "create", "-f", file, "--dry-run=server")
			return code != 0 && strings.Contains(stderr, "a request must name the user who makes it"), nil
		})
		if err != nil {
			t.Errorf("whoever may change a pipeline can approve in the name of others: %v", err)
		}
	})
	t.Run("removes deleted namespaces", func(t *testing.T) {
		u.mustRun(t, "kubectl", "create", "namespace", "doomed")
		u.mustRun(t, "kubectl", "wait", "--for=create", "--timeout=6m", "-n", "doomed", "contexts/default")
		u.mustRun(t, "kubectl", "delete", "namespace", "doomed", "--timeout=6m")
	})
	u.mustRun(t, "kubectl", "create", "configmap", "kept", "--from-literal=a=b")
	u.mustRun(t, "kubectl", "delete", "-n", "hello", "dataobject/whom-to-greet")
	i.stop(t, syscall.SIGTERM)

	t.Run("does not reach for another cluster when stopped", func(t *testing.T) {
		for _, args := range [][]string{{"kubectl", "get", "namespaces"}, {"get"}} {
			if code, _, stderr := u.run(t, args...); code != 1 || !strings.Contains(stderr, "127.0.0.1") {
				t.Errorf("%v: exit code %d: %s", args, code, stderr)
			}
		}
	})
	again := u.up(t, "--example", "hello", "--ui-addr", "")
	if again.facts["API server"] != i.facts["API server"] {
		t.Errorf("the server moved from %s to %s", i.facts["API server"], again.facts["API server"])
	}
	if again.facts["Web UI"] != "" {
		t.Errorf("there is an unwanted web UI at %s", again.facts["Web UI"])
	}
	u.mustRun(t, "kubectl", "get", "configmap/kept")
	u.mustRun(t, "kubectl", "get", "-n", "hello", "dataobject/whom-to-greet")
	again.stop(t, syscall.SIGINT)
	if left, err := os.ReadDir(u.temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// checkMemory checks that less garbage accumulates than by default, and that what only the start needed is returned to the system, which
// takes a forced garbage collection.
func (u user) checkMemory(t *testing.T) {
	t.Helper()
	var lines []string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		served := strings.Split(u.mustRun(t, "kubectl", "get", "--raw", "/metrics"), "\n")
		lines = slices.DeleteFunc(served, func(line string) bool {
			return !strings.HasPrefix(line, "go_gc_gogc_percent ") && !strings.HasPrefix(line, "go_gc_cycles_forced_gc_cycles_total ")
		})
		forced := slices.ContainsFunc(lines, func(line string) bool {
			count, found := strings.CutPrefix(line, "go_gc_cycles_forced_gc_cycles_total ")
			return found && count != "0"
		})
		return forced && slices.Contains(lines, "go_gc_gogc_percent 50"), nil
	})
	if err != nil {
		t.Errorf("want a garbage collection at 50 %% and a forced one, got\n%s", strings.Join(lines, "\n"))
	}
}

// forgedRequest is a pipeline with a decision in the name of a user who has not made it.
const forgedRequest = `apiVersion: pipelines.weave.works/v1alpha1
kind: Pipeline
metadata:
  name: shop
  namespace: default
  annotations:
    request.pipelines.espalier.dev/forged: '{"id": "1", "action": "approve", "environment": "production", "revision": "1.0.0", "by": "ann"}'
    requester.pipelines.espalier.dev/forged: ann
spec:
  appRef: {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Installation, name: shop}
  environments:
  - name: staging
    targets: [{namespace: staging}]
  - name: production
    targets: [{namespace: production}]
`

// collector accepts traces as an OpenTelemetry collector does, and keeps them unparsed.
type collector struct {
	*httptest.Server
	mutex sync.Mutex
	taken bytes.Buffer
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if r.URL.Path == "/v1/traces" {
			_, _ = c.taken.ReadFrom(r.Body) // A truncated body shows in the final check.
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) has(text string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return bytes.Contains(c.taken.Bytes(), []byte(text))
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// firstDocument opens the web UI by its address, as a browser does, and returns the first document of the overview.
func firstDocument(t *testing.T, address string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	opened, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	opened.Body.Close()
	place, _, _ := strings.Cut(address, "/open?")
	stream, err := browser.Get(place + "/api/v1/stream/overview")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			return data
		}
	}
	t.Fatalf("the stream is answered with %s, and ends: %v", stream.Status, lines.Err())
	return ""
}

func TestUpEphemeral(t *testing.T) {
	u, traces := newUser(t), newCollector(t)
	u.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + traces.URL}
	kubeconfig := filepath.Join(u.home, "kubeconfig")
	approvals := freeAddress(t)
	i := u.up(
		t,
		"--ephemeral",
		"--kubeconfig",
		kubeconfig,
		"--verbose",
		"--approval-address",
		approvals,
		"--workers",
		"2",
		"--controllers=*,-deployer-mock",
		"--example",
		"hello",
	)
	t.Cleanup(func() { _ = i.cmd.Process.Kill() })
	if got := i.facts["Kubeconfig"]; got != kubeconfig {
		t.Errorf("the kubeconfig is %s", got)
	}
	if want := "KUBECONFIG=" + kubeconfig + " espalier "; !strings.HasPrefix(i.facts["Try"], want) {
		t.Errorf("it suggests: %s", i.facts["Try"])
	}
	u.mustRun(t, "kubectl", "--kubeconfig", kubeconfig, "get", "installations")
	u.mustRun(t, "kubectl", "--kubeconfig", kubeconfig, "wait", "--for=create", "contexts.landscaper.gardener.cloud/default", "--timeout=6m")
	u.mustRun(t, "reconcile", "--kubeconfig", kubeconfig, "hello", "-n", "hello", "--wait")
	if page := fetch(t, "http://"+approvals+"/"); i.facts["Approvals"] != approvals || page == "" {
		t.Errorf("approvals are at %q, where %q is said", i.facts["Approvals"], page)
	}
	i.signal(t, syscall.SIGINT)
	rest := i.rest(t)
	if code := i.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !traces.has("espalier-up") || !traces.has("hello") {
		t.Errorf("the traces of the job do not arrive, of which it says:\n%s", rest)
	}
	if strings.Contains(rest, `"controller": "deployer-mock"`) || !strings.Contains(rest, `"worker count": 2`) {
		t.Errorf("the flags of the controllers do not matter:\n%s", rest)
	}
	if !strings.Contains(rest, "Created the default Context") {
		t.Errorf("the log of the controllers is missing:\n%s", rest)
	}
	if err := os.RemoveAll(filepath.Join(u.home, ".kube")); err != nil { // the cache of kubectl
		t.Fatal(err)
	}
	for _, dir := range []string{u.home, u.temp} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("files are left in %s: %v, %v", dir, left, err)
		}
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	u := newUser(t)
	i := u.up(t, "--ephemeral", "--ui-addr", "127.0.0.1:0")
	t.Cleanup(func() { _ = i.cmd.Process.Kill() })
	// A request that never ends delays the shutdown of the web UI by some seconds.
	address, _, _ := strings.Cut(strings.TrimPrefix(i.facts["Web UI"], "http://"), "/")
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	i.signal(t, syscall.SIGTERM)
	for i.stderr.Scan() && i.stderr.Text() != "Stopping ..." {
	}
	i.signal(t, syscall.SIGTERM)
	i.rest(t)
	status, ok := i.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", i.cmd.ProcessState)
	}
}

func TestUpRefuses(t *testing.T) {
	u := newUser(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
		env  []string
	}{
		"another exporter":     {nil, `OTEL_TRACES_EXPORTER is "zipkin": set it to otlp or none`, []string{"OTEL_TRACES_EXPORTER=zipkin"}},
		"a taken port":         {[]string{"--port", port}, "port " + port + " on 127.0.0.1 is in use", nil},
		"a taken web UI":       {[]string{"--ui-addr", taken.Addr().String()}, "--ui-addr: listen tcp " + taken.Addr().String(), nil},
		"somebody's directory": {[]string{"--data-dir", filepath.Dir(os.Args[0])}, "not an espalier data directory", nil},
		"an unknown example":   {[]string{"--example", "nope"}, `unknown example "nope": known examples are chart, gitops, hello`, nil},
		"no Gitea for an example": {
			[]string{"--example", "gitops"}, "--example gitops: no Gitea found: put gitea on the PATH, name it with --gitea PATH or ESPALIER_GITEA",
			[]string{"PATH=" + t.TempDir()},
		},
		"a contradiction":       {[]string{"--ephemeral", "--data-dir", "x"}, "use one of them", nil},
		"an unknown flag":       {[]string{"--nope"}, "unknown flag: --nope\nSee 'espalier up --help'", nil},
		"an argument":           {[]string{"now"}, `unknown command "now"`, nil},
		"a port that cannot be": {[]string{"--port", "65536"}, "--port is 65536", nil},
		"a public web UI":       {[]string{"--ui-addr", "0.0.0.0:0"}, "nothing is encrypted there", nil},
		"too few workers":       {[]string{"--workers", "0"}, "--workers is 0", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			u := u
			u.env = test.env
			code, stdout, stderr := u.run(t, append([]string{"up"}, test.args...)...)
			if code != 1 || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
			if !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, test.want) {
				t.Errorf("stderr %q, want an error with %q", stderr, test.want)
			}
		})
	}
}

// freeAddress returns an address with a port that nobody gets by chance: Linux gives those from 32768 on to programs that take any.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestVersion(t *testing.T) {
	u := newUser(t)
	if out := u.mustRun(t, "version"); !strings.Contains(out, "kubernetes "+kubeversion.Version) {
		t.Errorf("got:\n%s", out)
	}
	if out := u.mustRun(t, "--version"); !strings.HasPrefix(out, "espalier version ") {
		t.Errorf("got:\n%s", out)
	}
}

func TestKubectlKeepsItsExitCode(t *testing.T) {
	u := newUser(t)
	file := filepath.Join(u.home, "kubeconfig")
	if code, _, stderr := u.run(t, "kubectl", "--kubeconfig", file, "config", "get-contexts", "nope"); code != 1 ||
		!strings.HasPrefix(stderr, "error: ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if out := u.mustRun(t, "kubectl", "version", "--client"); !strings.Contains(out, "Client Version: "+kubeversion.Version) {
		t.Errorf("got:\n%s", out)
	}
	if out := u.mustRun(t, "kubectl", "--help"); !strings.Contains(out, "Basic Commands") {
		t.Errorf("got:\n%s", out)
	}
}

func TestHelpOffersOnlyOurFlags(t *testing.T) {
	out := newUser(t).mustRun(t, "up", "--help")
	if strings.Contains(out, "Global Flags") {
		t.Errorf("flags of libraries show through:\n%s", out)
	}
	if !strings.Contains(out, "hello") {
		t.Errorf("the help does not list the examples:\n%s", out)
	}
}
