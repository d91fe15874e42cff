// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const defaultStopLimit = 45 * time.Second // more than the limits of the programs themselves, so that their reasons are heard

// Command says how to run a program.
type Command struct {
	Title     string // what messages call it
	Binary    string
	Arguments []string
	Dir       string              // where it runs; empty for where the test runs
	Env       []string            // what is added to the environment
	Files     []*os.File          // what it inherits, from descriptor 3 on; the caller closes its own copies
	User      *syscall.Credential // nil for the user of the test

	Notice    func(line string) // sees each line that it prints on either stream; must not wait
	StopLimit time.Duration     // how long Stop waits; 0 for the default
}

// Process is a running program. It does not outlive the test process, not even one that was killed: its standard input
// closes, and where the kernel can do that, it is killed.
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
	cmd.Dir, cmd.ExtraFiles = command.Dir, command.Files
	cmd.Env = append(os.Environ(), command.Env...)
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: command.User}
	dieWithParent(cmd.SysProcAttr)
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

// launch starts the process on a thread that lives as long as the process: the kernel takes the end of the thread that
// has started a process for the end of its parent.
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

// Exited is closed when the process has ended, for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Output returns the newest part of what the program has printed.
func (p *Process) Output() string { return p.output.String() }

// ID returns the process ID.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// While runs an action, such as waiting for the first answer, under a context that ends when the process ends. An error
// comes with the output of the program.
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

// Stop asks the program to end and waits until it has. One that does not obey is killed, which is an error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !p.hasExited() {
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

// Kill ends the program the hard way, as a crash would, and waits until it is gone.
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
