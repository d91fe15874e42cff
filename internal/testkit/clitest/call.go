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
	// namespace are added.
	Args []string
	// Context ends the call as Ctrl-C does; nil for the test's own.
	Context context.Context
	// Variables is the environment.
	Variables map[string]string
	// Terminal is the size of the terminal; nil for none.
	Terminal *Terminal
	// Hears gets all that is written to standard error, as it is written.
	Hears func(text string)
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
	streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
	stderr := &listener{hears: call.Hears}
	streams.ErrOut = stderr
	root := cli.NewRoot(streams, call.Command(call.environment(streams)))
	name := root.Commands()[0].Name()
	root.SetArgs(append([]string{name, "--kubeconfig=" + server.Kubeconfig(), "-n", namespace}, call.Args...))
	ctx := call.Context
	if ctx == nil {
		ctx = t.Context()
	}
	code := cli.Run(ctx, root)
	hide := strings.NewReplacer(namespace, "<namespace>", server.Kubeconfig(), "<kubeconfig>", server.Config().Host, "<server>")
	return Result{Code: code, Stdout: hide.Replace(stdout.String()), Stderr: hide.Replace(stderr.String())}
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
	hears func(string)
}

func (l *listener) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.hears != nil {
		l.hears(string(text))
	}
	return l.text.Write(text)
}

func (l *listener) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}
