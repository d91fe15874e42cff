// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package reach leads commands into target clusters: with the rights of the user to read Targets and their Secrets, and with the
// credentials of the Targets to read the rest.
package reach

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/live"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
)

const (
	// lookAtOnce is how many deploy items are looked at at the same time.
	lookAtOnce = 8
	// tellAfter is when people want to know what takes so long.
	tellAfter = 2 * time.Second
)

// Targets leads to the clusters of Targets until it is closed.
type Targets struct {
	host     client.Reader
	clusters *target.Clusters
	patience *time.Timer
}

// Open prepares to reach the clusters of Targets. It connects to none.
func Open(access *connect.Access) (*Targets, error) {
	host, err := access.Client()
	if err != nil {
		return nil, err
	}
	config, err := access.Config()
	if err != nil {
		return nil, err
	}
	return &Targets{
		host: host,
		clusters: target.NewClusters(target.Options{
			Host: host, HostConfig: config, FewKinds: true, Dialer: dial.Rules{AllowLoopback: target.OnLoopback(config)},
		}),
		patience: time.AfterFunc(tellAfter, func() { access.Tell("Looking at the target clusters. One that does not answer takes 10 s.") }),
	}, nil
}

// Quiet keeps it from telling that looking takes long, for a command that goes on after it.
func (t *Targets) Quiet() { t.patience.Stop() }

// Close lets go of all clusters.
func (t *Targets) Close() {
	t.patience.Stop()
	t.clusters.Close()
}

// Look has deploy items say what is in their clusters now. A cluster that cannot be looked at is told as such.
func (t *Targets) Look(ctx context.Context, items []*objecttree.Node) {
	reader := live.Reader{Host: t.host, Clusters: t.clusters, Secrets: confidential.Reader{Live: t.host}.OfDeployItem}
	var group errgroup.Group
	group.SetLimit(lookAtOnce)
	for _, node := range items {
		deployed := node.Deployed()
		item, ok := node.DeployItem()
		if !ok || deployed.Release == nil && len(deployed.Objects) == 0 {
			continue
		}
		group.Go(func() error {
			var err error
			if deployed.Objects, err = reader.Look(ctx, item, deployed); err != nil {
				deployed.Problem = err.Error()
			}
			node.SetLive(deployed)
			return nil
		})
	}
	_ = group.Wait() // What went wrong is told with the items.
}

// Cluster is the one that a Target leads to. What goes wrong there has to go through the masks before people see it: whoever answers may
// quote what it was sent.
func (t *Targets) Cluster(ctx context.Context, key client.ObjectKey) (*target.Cluster, *masking.Values, error) {
	var found lsv1alpha1.Target
	if err := t.host.Get(ctx, key, &found); err != nil {
		return nil, nil, fmt.Errorf("read Target %s: %w", key, err)
	}
	content, err := t.clusters.Content(ctx, &found)
	if err != nil {
		return nil, nil, err
	}
	masks := &masking.Values{}
	masks.AddCredentials(map[string][]byte{"": content})
	cluster, err := t.clusters.For(ctx, &found)
	return cluster, masks, masks.Error(err)
}
