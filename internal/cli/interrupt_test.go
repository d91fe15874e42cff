// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/testkit"
)

// runSlow makes this test binary a command that tidies up for a long time when it is interrupted.
const runSlow = "ESPALIER_TEST_RUN_SLOW"

func TestMain(m *testing.M) {
	if os.Getenv(runSlow) != "" {
		streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
		root := NewRoot(streams, slow(NewEnvironment(streams)))
		root.SetArgs([]string{"slow"})
		os.Exit(Run(context.Background(), root))
	}
	os.Exit(m.Run())
}

// slow tidies up until its standard input ends.
func slow(env Environment) *cobra.Command {
	return &cobra.Command{Use: "slow", RunE: func(cmd *cobra.Command, _ []string) error {
		return env.Interruptible(cmd.Context(), func(ctx context.Context) error {
			fmt.Fprintln(env.Out, "working")
			<-ctx.Done()
			fmt.Fprintln(env.Out, "tidying up")
			_, err := io.Copy(io.Discard, env.In)
			return errors.Join(err, ctx.Err())
		})
	}}
}

// process is a running slow command.
type process struct {
	*testing.T
	*exec.Cmd
	stdin  io.Closer
	stdout *bufio.Scanner
	stderr bytes.Buffer
}

func startSlow(t *testing.T) *process {
	t.Helper()
	p := &process{T: t, Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.Cmd.Env = append(os.Environ(), runSlow+"=1")
	p.Cmd.Stderr = &p.stderr
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewScanner(stdout)
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(testkit.Patience, func() { _ = p.Process.Kill() }) // if it hangs
	t.Cleanup(func() { timer.Stop() })
	return p
}

// interrupt sends a signal when the process has said something.
func (p *process) interrupt(said string, signal os.Signal) {
	p.Helper()
	if !p.stdout.Scan() || p.stdout.Text() != said {
		p.Fatalf("it says %q, want %q", p.stdout.Text(), said)
	}
	if err := p.Process.Signal(signal); err != nil {
		p.Fatal(err)
	}
}

// end waits for the end of the process.
func (p *process) end() syscall.WaitStatus {
	p.Helper()
	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return p.ProcessState.Sys().(syscall.WaitStatus)
}

func TestTheFirstSignalEndsTheContext(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			p := startSlow(t)
			p.interrupt("working", signal)
			if !p.stdout.Scan() || p.stdout.Text() != "tidying up" {
				t.Errorf("it says %q", p.stdout.Text())
			}
			if err := p.stdin.Close(); err != nil {
				t.Fatal(err)
			}
			if status := p.end(); status.ExitStatus() != ExitDetached || p.stderr.String() != "error: interrupted\n" {
				t.Errorf("exit code %d, %q", status.ExitStatus(), p.stderr.String())
			}
		})
	}
}

func TestTheSecondSignalEndsTheProcess(t *testing.T) {
	for _, second := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(second.String(), func(t *testing.T) {
			p := startSlow(t)
			p.interrupt("working", syscall.SIGINT)
			p.interrupt("tidying up", second)
			if status := p.end(); !status.Signaled() || status.Signal() != second {
				t.Errorf("it ended with %v: %s", p.ProcessState, p.stderr.String())
			}
		})
	}
}

// The error of interrupted work has the code of Ctrl-C, and says what there is to say.
func TestErrorsOfInterruptedWork(t *testing.T) {
	unfinished := errors.New("half is done")
	problem := &Problem{Code: ExitError, What: "the annotation stays", Cause: context.Canceled}
	for name, test := range map[string]struct {
		goesOn bool
		err    error
		code   int
		text   string
	}{
		"work that has ended":   {err: nil, code: ExitOK},
		"another error":         {goesOn: true, err: unfinished, code: ExitError, text: "error: half is done\n"},
		"the context":           {err: fmt.Errorf("read: %w", context.Canceled), code: ExitDetached, text: "error: interrupted\n"},
		"what stays":            {err: problem, code: ExitDetached, text: "error: the annotation stays\n"},
		"whatever comes of it":  {err: unfinished, code: ExitDetached, text: "error: half is done\n"},
		"all has been said":     {err: &CodedError{Code: ExitDetached}, code: ExitDetached},
		"a problem of its kind": {err: &Problem{Code: ExitDetached, What: "interrupted at step 2"}, code: ExitDetached, text: "error: interrupted at step 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, _, stderr := genericiooptions.NewTestIOStreams()
			env, ctx := NewEnvironment(streams), t.Context()
			if !test.goesOn {
				ended, end := context.WithCancel(ctx)
				end()
				ctx = ended
			}
			command := &cobra.Command{Use: "work", RunE: func(cmd *cobra.Command, _ []string) error {
				return env.Interruptible(cmd.Context(), func(context.Context) error { return test.err })
			}}
			root := NewRoot(streams, command)
			root.SetArgs([]string{"work"})
			if code := Run(ctx, root); code != test.code || stderr.String() != test.text {
				t.Errorf("exit code %d, %q", code, stderr.String())
			}
		})
	}
}
