// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"espalier.dev/internal/subprocess"
)

const (
	readyPrefix       = "ready "
	defaultStartLimit = 6 * time.Minute
	defaultStopLimit  = 5 * time.Minute // exceeds that of the server itself, whose reason is reported
)

// memory makes a server start with little garbage collection, whatever the settings of the tests.
var memory = []string{"GOGC=400", "GOMEMLIMIT=off"}

// Options say how to run one API server.
type Options struct {
	Binary             string // path of the executable, from program.APIServer
	Kubeconfig         string // file that the server writes before it reports ready
	DataDir            string // data directory of etcd; empty means a temporary one
	Port               int    // 0 means any free port
	ClusterControllers bool   // also run garbage collection, namespace deletion and the like
	Authentication     string // file with an AuthenticationConfiguration; empty means tokens of service accounts only

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
	if o.Authentication != "" {
		args = append(args, "--authentication-config", o.Authentication)
	}
	return args
}

// Process is a running API server.
type Process struct {
	*subprocess.Process

	ready      chan struct{} // closed when it has reported ready
	startLimit time.Duration
}

// Start runs the server and returns when it has reported ready. The context bounds only the start.
func Start(ctx context.Context, options Options) (*Process, error) {
	p := &Process{ready: make(chan struct{}), startLimit: cmp.Or(options.startLimit, defaultStartLimit)}
	var announced sync.Once
	process, err := subprocess.Start(subprocess.Command{
		Title: "the API server", Binary: options.Binary, Arguments: options.arguments(), Env: memory,
		StopLimit: cmp.Or(options.stopLimit, defaultStopLimit),
		Notice: func(line string) {
			if strings.HasPrefix(line, readyPrefix) {
				announced.Do(func() { close(p.ready) })
			}
		},
	})
	if err != nil {
		return nil, err
	}
	p.Process = process
	if err := process.While(ctx, p.awaitReady); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.startLimit)
	defer cancel()
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it did not become ready: %w", ctx.Err())
	}
}
