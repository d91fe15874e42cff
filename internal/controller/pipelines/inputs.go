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
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/taskgroup"
)

// inputs returns what a pull request depends on outside the pipeline: the credentials, and the tip of the base branch. The text changes
// when one of them does; it omits the tip if that cannot be read.
func (p *pulls) inputs(ctx context.Context, namespace string, strategy pipelines.PullRequestStrategy) string {
	place, inputs, err := p.open(ctx, namespace, strategy)
	if err != nil {
		return inputs
	}
	remote, err := gitremote.Connect(place.Git)
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

// site is the place where pull requests promote to an environment of a pipeline.
type site struct {
	owner       types.NamespacedName
	environment string
	strategy    pipelines.PullRequestStrategy
	// key is that of the promotion whose pull request is open there; empty if the site is probed for another reason.
	key string
}

// probes periodically checks what no event reports: that a user has fixed a repository or a Secret after a promotion failed permanently,
// and that the base branch has changed under an open pull request.
type probes struct {
	wake     func(types.NamespacedName)
	interval time.Duration

	tasks *taskgroup.Group
	mu    sync.Mutex
	known map[types.NamespacedName]map[site]*probe
}

// finder returns what it finds at a site. A change wakes the pipeline.
type finder func(ctx context.Context) string

type probe struct {
	stop   context.CancelFunc
	inputs string
}

// keep probes the given sites of a pipeline and no others, and returns what was found there.
func (p *probes) keep(owner types.NamespacedName, sites map[site]finder) map[site]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[site]string{}
	for s, running := range p.known[owner] {
		if sites[s] != nil {
			found[s] = running.inputs
			continue
		}
		running.stop()
		delete(p.known[owner], s)
	}
	for s, find := range sites {
		if p.known[owner][s] == nil {
			p.begin(s, find)
		}
	}
	if len(p.known[owner]) == 0 {
		delete(p.known, owner)
	}
	return found
}

func (p *probes) begin(s site, find finder) {
	ctx, stop := context.WithCancel(p.tasks.Context())
	started := &probe{stop: stop}
	if p.known[s.owner] == nil {
		p.known[s.owner] = map[site]*probe{}
	}
	p.known[s.owner][s] = started
	p.tasks.Go(func() {
		wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
			inputs := find(ctx)
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
func (p *probes) close() { p.tasks.End() }
