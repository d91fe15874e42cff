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

// Call is one call of a command.
type Call struct {
	// Command creates the command.
	Command func(cli.Environment) *cobra.Command
	// Args are the arguments and flags after the command's name. Flags for the test's API server and namespace are added, if there is one.
	Args []string
	// Stdin is the standard input.
	Stdin string
	// Variables is the environment.
	Variables map[string]string
	// Terminal is the size of the terminal; nil for none.
	Terminal *Terminal
}

// Terminal is the size of a terminal.
type Terminal struct{ Width, Height int }

// Result is the result of a call.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Now returns the time of all calls. Objects that a test creates appear to be twenty hours old.
func Now() time.Time { return started.Add(20*time.Hour + 30*time.Minute) }

var started = time.Now()

// Ago returns a time before Now.
func Ago(d time.Duration) time.Time { return Now().Add(-d) }

// Run runs a command and waits for its end.
func Run(t testing.TB, server *testkit.APIServer, namespace string, call Call) Result {
	t.Helper()
	return Start(t, server, namespace, call).Wait(t)
}

// Running is a command that is running.
type Running struct {
	stderr *listener
	ended  chan Result

	mutex sync.Mutex
	// listening are the parts of the command that end when it is interrupted.
	listening   []context.CancelFunc
	interrupted bool
}

// Start starts a command beside the test.
func Start(t testing.TB, server *testkit.APIServer, namespace string, call Call) *Running {
	t.Helper()
	call.Args = append([]string{"--kubeconfig=" + server.Kubeconfig(), "-n", namespace}, call.Args...)
	return call.start(t, strings.NewReplacer(namespace, "<namespace>", server.Kubeconfig(), "<kubeconfig>", server.Config().Host, "<server>",
		Now().UTC().Format(time.RFC3339), "<now>"))
}

// RunAlone runs a command that needs no cluster and waits for its end.
func RunAlone(t testing.TB, call Call) Result {
	t.Helper()
	return StartAlone(t, call).Wait(t)
}

// StartAlone starts a command that needs no cluster beside the test.
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
	env := c.environment(streams)
	env.UntilInterrupted = r.untilInterrupted
	root := cli.NewRoot(streams, c.Command(env))
	root.SetArgs(append([]string{root.Commands()[0].Name()}, c.Args...))
	ctx := t.Context()
	go func() {
		code := cli.Run(ctx, root)
		r.ended <- Result{Code: code, Stdout: hide.Replace(stdout.String()), Stderr: hide.Replace(r.stderr.String())}
	}()
	return r
}

// Interrupt interrupts the command, as Ctrl-C does. When it returns, the context of what the command does has ended, if it listens to
// signals. A command that does not, whose process would be killed, goes on.
func (r *Running) Interrupt() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.interrupted = true
	for _, end := range r.listening {
		end()
	}
}

// untilInterrupted is what commands listen with. They hear of an interrupt that came before as well.
func (r *Running) untilInterrupted(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.interrupted {
		cancel()
	}
	r.listening = append(r.listening, cancel)
	return ctx, cancel
}

// Wait returns when the command has ended.
func (r *Running) Wait(t testing.TB) Result {
	t.Helper()
	select {
	case result := <-r.ended:
		return result
	case <-time.After(testkit.Patience):
		t.Fatalf("the command has not ended within %s; it said:\n%s", testkit.Patience, r.stderr.String())
		return Result{}
	}
}

// Until returns when the command has written a text to standard error.
func (r *Running) Until(t testing.TB, text string) {
	t.Helper()
	timeout := time.After(testkit.Patience)
	for !strings.Contains(r.stderr.String(), text) {
		select {
		case <-r.stderr.wrote:
		case result := <-r.ended:
			t.Fatalf("the command has ended with code %d before it said %q; it said:\n%s%s", result.Code, text, result.Stdout, result.Stderr)
		case <-timeout:
			t.Fatalf("the command has not said %q within %s; it said:\n%s", text, testkit.Patience, r.stderr.String())
		}
	}
}

func (c Call) environment(streams genericiooptions.IOStreams) cli.Environment {
	env := cli.NewEnvironment(streams)
	env.Now = Now
	env.SilenceLogs = func() {} // The process is that of the test, and controllers may run in it.
	env.Getenv = func(name string) string { return c.Variables[name] }
	env.Size = func(io.Writer) (int, int, bool) {
		if c.Terminal == nil {
			return 0, 0, false
		}
		return c.Terminal.Width, c.Terminal.Height, true
	}
	return env
}

// listener is a stream that reports what is written to it.
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
