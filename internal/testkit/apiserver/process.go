// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	defaultStartLimit = 2 * time.Minute
	defaultStopLimit  = 45 * time.Second // more than the server's own limit, so that its reason is heard
)

// Options say how to run one API server.
type Options struct {
	Binary             string // path of the executable, from program.APIServer
	Kubeconfig         string // file that the server writes before it reports that it is ready
	DataDir            string // where etcd keeps its data; empty means that it goes when the server stops
	Port               int    // 0 picks a free one
	ClusterControllers bool   // also run garbage collection, namespace deletion and the like

	startLimit, stopLimit time.Duration // 0 for the defaults
}

func (o Options) arguments() []string {
	args := []string{"--kubeconfig", o.Kubeconfig, "--port", strconv.Itoa(o.Port), "--exit-with-stdin"}
	if o.DataDir != "" {
		args = append(args, "--data-dir", o.DataDir)
	}
	if o.ClusterControllers {
		args = append(args, "--cluster-controllers")
	}
	return args
}

// Process is a running API server.
type Process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	output *output
	exited chan struct{} // closed once the process has ended and waitErr is set

	waitErr error

	startLimit, stopLimit time.Duration
}

// Start runs the server and returns when it has reported that it is ready. The context bounds the start only, not the life.
func Start(ctx context.Context, options Options) (*Process, error) {
	cmd := exec.Command(options.Binary, options.arguments()...)
	p := &Process{
		cmd: cmd, output: newOutput(), exited: make(chan struct{}),
		startLimit: cmp.Or(options.startLimit, defaultStartLimit), stopLimit: cmp.Or(options.stopLimit, defaultStopLimit),
	}
	cmd.Stdout, cmd.Stderr = p.output.stdout(), p.output.stderr()
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	p.stdin = stdin
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	go func() {
		p.waitErr = cmd.Wait()
		close(p.exited)
	}()
	if err := p.awaitReady(ctx); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.startLimit)
	defer cancel()
	select {
	case <-p.output.ready:
		return nil
	case <-p.exited:
		return fmt.Errorf("the API server ended before it was ready: %w\n%s", p.exitError(), p.Output())
	case <-ctx.Done():
		return fmt.Errorf("the API server did not become ready: %w\n%s", ctx.Err(), p.Output())
	}
}

// Exited is closed when the process has ended, for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Output returns the newest part of what the server has printed.
func (p *Process) Output() string { return p.output.tail() }

// Stop asks the server to shut down and waits until it has. A server that does not obey is killed, which is an error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !p.hasExited() {
		return fmt.Errorf("stop the API server: %w", err)
	}
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(p.stopLimit):
		p.Kill()
		return fmt.Errorf("the API server did not stop within %s and was killed\n%s", p.stopLimit, p.Output())
	}
	if p.waitErr != nil {
		return fmt.Errorf("the API server stopped with an error: %w\n%s", p.waitErr, p.Output())
	}
	return nil
}

// Kill ends the server the hard way, as a crash would, and waits until it is gone.
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
