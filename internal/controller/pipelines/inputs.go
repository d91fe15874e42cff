// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitforge/worktree"
)

// inputs is what a pull request depends on outside of the pipeline: the credentials, and the tip of the base branch. It is a text that
// changes when one of them does; the tip is left out if it cannot be read.
func (p *pulls) inputs(ctx context.Context, namespace string, strategy pipelines.PullRequestStrategy) string {
	place, inputs, err := p.open(ctx, namespace, strategy)
	if err != nil {
		return inputs
	}
	remote, err := worktree.Connect(place.Git)
	if err != nil {
		return inputs
	}
	defer remote.Close()
	tips, err := remote.Tips(ctx, strategy.BaseBranch)
	if err != nil {
		return inputs
	}
	return inputs + "@" + tips[strategy.BaseBranch]
}

// site is where an environment of a pipeline is promoted to by pull requests.
type site struct {
	owner       types.NamespacedName
	environment string
	strategy    pipelines.PullRequestStrategy
}

// probes look now and then at the inputs of promotions that failed for good, since nobody tells when a repository or a Secret has been
// put right.
type probes struct {
	look     func(ctx context.Context, s site) string
	wake     func(types.NamespacedName)
	interval time.Duration

	group wait.Group
	mu    sync.Mutex
	known map[types.NamespacedName]map[site]*probe
}

type probe struct {
	stop   context.CancelFunc
	inputs string
}

// keep probes the given sites of a pipeline and no others, and returns what is known of them.
func (p *probes) keep(owner types.NamespacedName, sites map[site]bool) map[site]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[site]string{}
	for s, running := range p.known[owner] {
		if sites[s] {
			found[s] = running.inputs
			continue
		}
		running.stop()
		delete(p.known[owner], s)
	}
	for s := range sites {
		if p.known[owner][s] == nil {
			p.begin(s)
		}
	}
	if len(p.known[owner]) == 0 {
		delete(p.known, owner)
	}
	return found
}

func (p *probes) begin(s site) {
	ctx, stop := context.WithCancel(context.Background())
	started := &probe{stop: stop}
	if p.known[s.owner] == nil {
		p.known[s.owner] = map[site]*probe{}
	}
	p.known[s.owner][s] = started
	p.group.Start(func() {
		wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
			inputs := p.look(ctx, s)
			p.mu.Lock()
			changed := inputs != started.inputs && ctx.Err() == nil
			started.inputs = inputs
			p.mu.Unlock()
			if changed {
				p.wake(s.owner)
			}
		}, p.interval, 0.2, true)
	})
}

// close ends all probes and waits for them.
func (p *probes) close() {
	p.mu.Lock()
	for _, sites := range p.known {
		for _, running := range sites {
			running.stop()
		}
	}
	clear(p.known)
	p.mu.Unlock()
	p.group.Wait()
}
