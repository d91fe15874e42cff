// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package clitest runs commands of the command line in the process of a test, against a real API server, and builds
// trees of objects with statuses for them to look at.
package clitest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/testkit"
)

// Call is one use of a command.
type Call struct {
	// Command makes the command.
	Command func(cli.Environment) *cobra.Command
	// Args are the arguments and flags behind the command's name. Those that lead to the test's API server and
	// namespace are added, if there is one.
	Args []string
	// Stdin is what the command reads from standard input.
	Stdin string
	// Variables is the environment.
	Variables map[string]string
	// Terminal is the size of the terminal; nil for none.
	Terminal *Terminal
}

// Terminal is the size of one.
type Terminal struct{ Width, Height int }

// Result is what a call left behind.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Now is the time of all calls. Objects that a test creates seem to be twenty hours old.
func Now() time.Time { return started.Add(20*time.Hour + 30*time.Minute) }

var started = time.Now()

// Ago returns a time before Now.
func Ago(d time.Duration) time.Time { return Now().Add(-d) }

// Run runs a command to its end.
func Run(t testing.TB, server *testkit.APIServer, namespace string, call Call) Result {
	t.Helper()
	return Start(t, server, namespace, call).Wait(t)
}

// Running is a command that is running.
type Running struct {
	stderr *listener
	ended  chan Result
	cancel context.CancelFunc
}

// Start runs a command beside the test.
func Start(t testing.TB, server *testkit.APIServer, namespace string, call Call) *Running {
	t.Helper()
	call.Args = append([]string{"--kubeconfig=" + server.Kubeconfig(), "-n", namespace}, call.Args...)
	return call.start(t, strings.NewReplacer(namespace, "<namespace>", server.Kubeconfig(), "<kubeconfig>", server.Config().Host, "<server>",
		Now().UTC().Format(time.RFC3339), "<now>"))
}

// RunAlone runs a command that needs no cluster to its end.
func RunAlone(t testing.TB, call Call) Result {
	t.Helper()
	return StartAlone(t, call).Wait(t)
}

// StartAlone runs a command that needs no cluster beside the test.
func StartAlone(t testing.TB, call Call) *Running {
	t.Helper()
	return call.start(t, strings.NewReplacer())
}

func (c Call) start(t testing.TB, hide *strings.Replacer) *Running {
	t.Helper()
	streams, in, stdout, _ := genericiooptions.NewTestIOStreams()
	in.WriteString(c.Stdin)
	r := &Running{stderr: &listener{wrote: make(chan struct{}, 1)}, ended: make(chan Result, 1)}
	streams.ErrOut = r.stderr
	root := cli.NewRoot(streams, c.Command(c.environment(streams)))
	root.SetArgs(append([]string{root.Commands()[0].Name()}, c.Args...))
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	t.Cleanup(r.cancel)
	go func() {
		code := cli.Run(ctx, root)
		r.ended <- Result{Code: code, Stdout: hide.Replace(stdout.String()), Stderr: hide.Replace(r.stderr.String())}
	}()
	return r
}

// Interrupt does what Ctrl-C does.
func (r *Running) Interrupt() { r.cancel() }

// patience is for broken tests; no assertion depends on it.
const patience = 5 * time.Minute

// Wait returns when the command has ended.
func (r *Running) Wait(t testing.TB) Result {
	t.Helper()
	select {
	case result := <-r.ended:
		return result
	case <-time.After(patience):
		t.Fatalf("the command has not ended within %s; it said:\n%s", patience, r.stderr.String())
		return Result{}
	}
}

// Until returns when the command has written a text to standard error.
func (r *Running) Until(t testing.TB, text string) {
	t.Helper()
	timeout := time.After(patience)
	for !strings.Contains(r.stderr.String(), text) {
		select {
		case <-r.stderr.wrote:
		case result := <-r.ended:
			t.Fatalf("the command has ended with code %d before it said %q; it said:\n%s%s", result.Code, text, result.Stdout, result.Stderr)
		case <-timeout:
			t.Fatalf("the command has not said %q within %s; it said:\n%s", text, patience, r.stderr.String())
		}
	}
}

func (c Call) environment(streams genericiooptions.IOStreams) cli.Environment {
	env := cli.NewEnvironment(streams)
	env.Now = Now
	env.Getenv = func(name string) string { return c.Variables[name] }
	env.Size = func(io.Writer) (int, int, bool) {
		if c.Terminal == nil {
			return 0, 0, false
		}
		return c.Terminal.Width, c.Terminal.Height, true
	}
	return env
}

// listener is a stream that is listened to.
type listener struct {
	mutex sync.Mutex
	text  bytes.Buffer
	wrote chan struct{}
}

func (l *listener) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	defer func() {
		select {
		case l.wrote <- struct{}{}:
		default:
		}
	}()
	return l.text.Write(text)
}

func (l *listener) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}
