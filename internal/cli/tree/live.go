// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/live"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
)

const (
	// lookAtOnce is how many deploy items are looked at at the same time.
	lookAtOnce = 8
	// tellAfter is when people want to know what takes so long.
	tellAfter = 2 * time.Second
)

// look has the deploy items that are shown say what is in their clusters now. A cluster that cannot be looked at is told as such.
func (o options) look(ctx context.Context, tops []*objecttree.Node) error {
	host, err := o.access.Client()
	if err != nil {
		return err
	}
	config, err := o.access.Config()
	if err != nil {
		return err
	}
	rules := dial.Rules{AllowLoopback: target.OnLoopback(config)}
	clusters := target.NewClusters(target.Options{Host: host, HostConfig: config, Dialer: rules, FewKinds: true})
	defer clusters.Close()
	patience := time.AfterFunc(tellAfter, func() { o.access.Tell("Looking at the target clusters. One that does not answer takes 10 s.") })
	defer patience.Stop()

	reader := live.Reader{Host: host, Clusters: clusters}
	var group errgroup.Group
	group.SetLimit(lookAtOnce)
	for _, top := range tops {
		top.Walk(func(node *objecttree.Node) {
			deployed := node.Deployed()
			if (deployed.Release != nil || len(deployed.Objects) > 0) && o.wants(node) {
				group.Go(func() error { lookAt(ctx, reader, node); return nil })
			}
		})
	}
	return group.Wait()
}

func lookAt(ctx context.Context, reader live.Reader, node *objecttree.Node) {
	item, _ := node.DeployItem()
	deployed := node.Deployed()
	var err error
	if deployed.Objects, err = reader.Look(ctx, item, deployed); err != nil {
		deployed.Problem = err.Error()
	}
	node.SetLive(deployed)
}
