// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"

	"espalier.dev/cmd/espalier/internal/controlplane"
)

// Cluster is a control plane with a node.
type Cluster struct {
	*controlplane.ControlPlane
	Node *Node
}

// StartCluster starts both: an "espalier up --node" without the custom resources and controllers of Espalier.
func StartCluster(ctx context.Context, opts controlplane.Options, programs Programs) (*Cluster, error) {
	if err := Check(programs); err != nil {
		return nil, err
	}
	network, err := Claim(ctx)
	if err != nil {
		return nil, err
	}
	opts.NodeAddress, opts.ClusterControllers = network.Machine(), true
	cp, err := controlplane.Start(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, network.Release(context.WithoutCancel(ctx)))
	}
	n, err := Start(ctx, Options{
		ControlPlane: cp, Network: network, Programs: programs, StartLimit: opts.StartLimit, Progress: opts.Progress,
	})
	if err != nil {
		return nil, errors.Join(err, cp.Stop(context.WithoutCancel(ctx)))
	}
	return &Cluster{ControlPlane: cp, Node: n}, nil
}

// Stop ends the node, then the control plane.
func (c *Cluster) Stop(ctx context.Context) error {
	return errors.Join(c.Node.Stop(ctx), c.ControlPlane.Stop(ctx))
}
