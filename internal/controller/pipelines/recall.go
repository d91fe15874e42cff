// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitforge"
	"espalier.dev/internal/gitforge/poll"
	"espalier.dev/internal/gitforge/proposal"
	"espalier.dev/internal/lifetime"
	"espalier.dev/internal/pipeline"
)

// forgetful tells whether a pipeline may have pull requests in an environment that its status does not name: it is new, or its status was
// lost or restored from an old copy.
func forgetful(status *pipelines.PipelineStatus, e pipelines.EnvironmentStatus) bool {
	if len(e.History) > 0 {
		return false
	}
	p := e.Promotion
	return status.Run == nil || p != nil && p.Attempts == 0 && p.PullRequest == nil
}

// observeForgotten looks for pull requests that say they are for the pipeline.
func (n *news) observeForgotten(p *pipelines.Pipeline, o *pipeline.Observed, environment int, strategy pipelines.PullRequestStrategy) {
	source, ok := n.source(p.Namespace, strategy)
	if !ok {
		return
	}
	found, known := n.recalls.of(client.ObjectKeyFromObject(p), source, n.opener(p.Namespace, strategy))
	o.Environments[environment].ListingPending = !known
	for _, pr := range found {
		mark, ours := proposal.Recognise(pr.Body, p.Namespace, p.Name)
		if !ours || mark.Environment != p.Spec.Environments[environment].Name || pr.Base != strategy.BaseBranch {
			continue
		}
		fact := factsOfPullRequest(pr)
		fact.Environment, fact.Key, fact.Revision, fact.Run = mark.Environment, mark.Key, mark.Revision, mark.Run
		o.PullRequests = append(o.PullRequests, fact)
	}
}

// recalls lists the pull requests of each repository once, all open ones and those that changed last. That is enough: later ones are in
// the statuses.
type recalls struct {
	wake  func(types.NamespacedName)
	pause time.Duration

	lifetime *lifetime.Lifetime

	mu    sync.Mutex
	known map[poll.Source]*recall
}

type recall struct {
	running, done bool
	failed        time.Time
	found         []gitforge.PullRequest
	// users are the pipelines that were told of it, with whether they wait to be woken.
	users map[types.NamespacedName]bool
}

func newRecalls(pause time.Duration, wake func(types.NamespacedName)) *recalls {
	return &recalls{wake: wake, pause: pause, lifetime: lifetime.New(), known: map[poll.Source]*recall{}}
}

func (r *recalls) close() { r.lifetime.End() }

// of returns the pull requests of a repository that carry a mark of ours. known is false while they are being listed, which wakes
// the pipeline at the end. If listing fails, nothing is known and nothing is waited for: an attempt will tell what is wrong.
func (r *recalls) of(owner types.NamespacedName, source poll.Source, open func(context.Context) (gitforge.Forge, error)) (found []gitforge.PullRequest, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.known[source]
	if entry == nil {
		entry = &recall{users: map[types.NamespacedName]bool{}}
		r.known[source] = entry
	}
	entry.users[owner] = false
	if entry.done {
		return entry.found, true
	}
	if !entry.running && time.Since(entry.failed) >= r.pause {
		entry.running = true
		r.lifetime.Go(func() { r.list(entry, open) })
	}
	entry.users[owner] = entry.running
	return nil, !entry.running
}

// forget has what a pipeline was told of listed anew by the next that asks: another one of the same name would take pull requests for its
// own that were closed with this one.
func (r *recalls) forget(owner types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for source, entry := range r.known {
		if _, told := entry.users[owner]; told {
			delete(r.known, source)
		}
	}
}

const listTimeout = time.Minute

func (r *recalls) list(entry *recall, open func(context.Context) (gitforge.Forge, error)) {
	ctx, cancel := context.WithTimeout(r.lifetime.Context(), listTimeout)
	defer cancel()
	var listing gitforge.Listing
	forge, err := open(ctx)
	if err == nil {
		listing, err = forge.List(ctx, gitforge.Cursor{})
	}
	r.mu.Lock()
	entry.running, entry.done = false, err == nil
	if err != nil {
		entry.failed = time.Now()
	}
	for _, pr := range listing.PullRequests {
		if proposal.Marked(pr.Body) {
			entry.found = append(entry.found, pr)
		}
	}
	var waiting []types.NamespacedName
	for owner, waits := range entry.users {
		if waits {
			waiting = append(waiting, owner)
		}
		entry.users[owner] = false
	}
	r.mu.Unlock()
	for _, owner := range waiting {
		r.wake(owner)
	}
}
