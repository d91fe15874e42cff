// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package subprocess runs external programs, as long as this process lives. It needs only the standard library, because commands that build
// programs for tests use it, too.
package subprocess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

const defaultStopLimit = 45 * time.Second // exceeds the limits of the programs themselves, so that their reasons are reported

// Command says how to run a program.
type Command struct {
	Title     string // its name in messages
	Binary    string
	Arguments []string
	Dir       string     // where it runs; empty for the directory of this process
	Env       []string   // what is added to the environment
	OnlyEnv   bool       // the environment is Env alone, without that of this process
	Files     []*os.File // what it inherits, from descriptor 3 on; the caller closes its own copies
	User      *User      // nil for the user of this process
	Apart     bool       // it does not receive the Ctrl-C of the terminal, so that only this process ends it

	Notice    func(line string) // receives each line that it prints on either stream; must not block
	StopLimit time.Duration     // how long Stop waits; default 45 seconds
}

// User is the user that a program runs as.
type User struct{ UID, GID uint32 }

// Process is a running program. It does not outlive this process, even if this one is killed: its standard input closes, and where the
// kernel supports it, it is killed.
type Process struct {
	title  string
	cmd    *exec.Cmd
	stdin  io.Closer
	output output
	exited chan struct{} // closed once the process has ended and waitErr is set

	waitErr   error
	stopLimit time.Duration
}

// Start runs a program.
func Start(command Command) (*Process, error) {
	cmd := exec.Command(command.Binary, command.Arguments...)
	p := &Process{
		title: command.Title, cmd: cmd, exited: make(chan struct{}), stopLimit: cmp.Or(command.StopLimit, defaultStopLimit),
	}
	p.output.notice = command.Notice
	cmd.Dir, cmd.ExtraFiles, cmd.Env = command.Dir, command.Files, command.Env
	if !command.OnlyEnv {
		cmd.Env = append(os.Environ(), command.Env...)
	}
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	cmd.WaitDelay = 30 * time.Second // for the rest of the output, on a machine that is busy
	cmd.SysProcAttr = attributes(command)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.title, err)
	}
	p.stdin = stdin
	if err := p.launch(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.title, err)
	}
	return p, nil
}

// Run runs a program until it ends and returns the newest part of its output. When the context ends, the program is killed.
func Run(ctx context.Context, command Command) (string, error) {
	p, err := Start(command)
	if err != nil {
		return "", err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.Kill()
		return "", fmt.Errorf("%s: %w", p.title, context.Cause(ctx))
	}
	if p.waitErr != nil {
		return "", fmt.Errorf("%s: %w\n%s", p.title, p.waitErr, p.Output())
	}
	return p.Output(), nil
}

// launch starts the process on a thread that lives as long as the process: the kernel treats the end of the thread that started a process
// as the end of its parent.
func (p *Process) launch() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.waitErr = p.cmd.Wait()
			close(p.exited)
		}
	}()
	return <-started
}

// Exited returns a channel that is closed when the process has ended, for any reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Output returns the newest part of the program's output.
func (p *Process) Output() string { return p.output.String() }

// ID returns the process ID.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// While runs an action, such as waiting for the first answer, with a context that ends when the process ends. An error includes the output
// of the program.
func (p *Process) While(ctx context.Context, action func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-stop:
		}
	}()
	err := action(ctx)
	switch {
	case err == nil:
		return nil
	case p.hasExited():
		return fmt.Errorf("%s has ended: %w\n%s", p.title, p.exitError(), p.Output())
	default:
		return fmt.Errorf("%s: %w\n%s", p.title, err, p.Output())
	}
}

// Stop asks the program to end and waits until it has. If it does not end in time, it is killed, which is an error.
func (p *Process) Stop() error {
	if err := askToEnd(p.cmd.Process); err != nil && !p.hasExited() {
		return fmt.Errorf("stop %s: %w", p.title, err)
	}
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(p.stopLimit):
		p.Kill()
		return fmt.Errorf("%s did not stop within %s and was killed\n%s", p.title, p.stopLimit, p.Output())
	}
	if p.waitErr != nil {
		return fmt.Errorf("%s stopped with an error: %w\n%s", p.title, p.waitErr, p.Output())
	}
	return nil
}

// Kill kills the program, as in a crash, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.stdin.Close()
	<-p.exited
}

func (p *Process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *Process) exitError() error {
	if p.waitErr == nil {
		return errors.New("exit status 0")
	}
	return p.waitErr
}
