// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/cmd/espalier/internal/node"
)

const (
	// stopTimeout limits the shutdown of the control plane, and of the node before it, in case one hangs.
	stopTimeout = 30 * time.Second

	// programsVariable names a directory with the programs of the node. By default, they are beside this one.
	programsVariable = "ESPALIER_NODE_PROGRAMS"
)

// cluster is the control plane, with or without a node, on which everything else runs.
type cluster struct {
	cp   *controlplane.ControlPlane
	node *node.Node // nil if there is none
}

func startCluster(ctx context.Context, opts options, progress *progress) (*cluster, error) {
	plane := opts.plane(progress)
	if opts.node {
		programs, err := nodePrograms()
		if err != nil {
			return nil, err
		}
		started, err := node.StartCluster(ctx, plane, programs)
		if err != nil {
			return nil, fmt.Errorf("--node: %w", err)
		}
		c := &cluster{cp: started.ControlPlane, node: started.Node}
		if err := c.importImages(ctx, opts.images, progress); err != nil {
			return nil, errors.Join(err, c.stop())
		}
		return c, nil
	}
	cp, err := controlplane.Start(ctx, plane)
	if err != nil {
		return nil, err
	}
	c := &cluster{cp: cp}
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err == nil {
		err = node.Forget(ctx, client)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// plane returns the options of the control plane.
func (opts options) plane(progress *progress) controlplane.Options {
	return controlplane.Options{
		DataDir: opts.dataDir, Port: opts.port, Kubeconfig: opts.kubeconfig, StartLimit: opts.startLimit,
		ClusterControllers: true, History: history, Progress: progress.step,
	}
}

func (c *cluster) importImages(ctx context.Context, files []string, progress *progress) error {
	for _, name := range files {
		progress.step("importing " + name)
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("--node-image: %w", err)
		}
		err = c.node.ImportImage(ctx, file)
		_ = file.Close() // It was opened for reading.
		if err != nil {
			return fmt.Errorf("--node-image %s: %w", name, err)
		}
	}
	return nil
}

func nodePrograms() (node.Programs, error) {
	if directory := os.Getenv(programsVariable); directory != "" {
		return node.ProgramsBeside(filepath.Join(directory, "espalier")), nil
	}
	executable, err := os.Executable()
	if err != nil {
		return node.Programs{}, fmt.Errorf("find the programs of the node: %w", err)
	}
	return node.ProgramsBeside(executable), nil
}

// untilLost returns when the context ends, or with an error when a part of the cluster exits unexpectedly.
func (c *cluster) untilLost(ctx context.Context) error {
	var gone <-chan struct{} // never closed without a node
	if c.node != nil {
		gone = c.node.Done()
	}
	select {
	case <-c.cp.Done():
		return c.cp.Err()
	case <-gone:
		return c.node.Err()
	case <-ctx.Done():
		return nil
	}
}

// stop ends the node first.
func (c *cluster) stop() (err error) {
	if c.node != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = c.node.Stop(ctx)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(err, c.cp.Stop(ctx))
}
