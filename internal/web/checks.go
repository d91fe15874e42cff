// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/live"
	"espalier.dev/internal/web/mirror"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

const (
	// lookPause is the minimum time between two checks of a target by one reader.
	lookPause = 30 * time.Second
	// lookAtOnce is the maximum number of concurrent checks of clusters per reader, looksAtOnce in total.
	lookAtOnce, looksAtOnce = 8, 32
	// maxLooks is the maximum number of targets per request. Those checked least recently come first.
	maxLooks = 200
	// untilReady is the interval at which a check polls the mirror, which may not be filled yet when the first page opens.
	untilReady = 100 * time.Millisecond
)

// checks holds what one reader has found out about targets with their own rights. No other reader sees it.
type checks struct {
	state *checkState
	// begun is closed when the reader checks for the first time.
	begun chan struct{}
}

type checkState struct {
	mutex   sync.Mutex
	running bool
	looked  map[view.Ref]time.Time
	results map[view.Ref]*view.TargetCheck
	// soon identifies the credentials that expire soon; empty if there are none. turned is closed when it changes.
	soon   string
	turned chan struct{}
}

func newChecks() checks {
	return checks{
		begun: make(chan struct{}),
		state: &checkState{
			looked: map[view.Ref]time.Time{}, results: map[view.Ref]*view.TargetCheck{}, turned: make(chan struct{}),
		},
	}
}

// matter returns a channel that is closed when checks next change the document of a view.
func (c checks) matter(view string) <-chan struct{} {
	switch view {
	case viewTargets:
		select {
		case <-c.begun:
			return nil
		default:
			return c.begun
		}
	case viewOverview:
		c.state.mutex.Lock()
		defer c.state.mutex.Unlock()
		return c.state.turned
	}
	return nil
}

// soonPrefix starts the keys of documents that readers with the same findings share.
const soonPrefix = "soon "

// key returns the key of the document of a view that shows checks, empty if it shows none. The page of targets shows everything that this
// reader has found out, so no other reader gets it. The overview shows only credentials that expire soon: readers who know of the same
// ones, with the same expiry, share it.
func (c checks) key(view, reader string) string {
	switch view {
	case viewTargets:
		select {
		case <-c.begun:
			return reader
		default:
		}
	case viewOverview:
		c.state.mutex.Lock()
		defer c.state.mutex.Unlock()
		return c.state.soon
	}
	return ""
}

// turn updates soon. The caller holds the mutex.
func (s *checkState) turn() {
	var ends []string
	for ref, result := range s.results {
		if result != nil && result.EndsSoon(result.At) {
			ends = append(ends, fmt.Sprintf("%q %q %q %q %s", ref.Kind, ref.Namespace, ref.Name, result.Expiring, result.Expires))
		}
	}
	soon := ""
	if slices.Sort(ends); len(ends) > 0 {
		soon = fmt.Sprintf("%s%x", soonPrefix, sha256.Sum256([]byte(strings.Join(ends, "\n"))))
	}
	if soon == s.soon {
		return
	}
	s.soon = soon
	close(s.turned)
	s.turned = make(chan struct{})
}

func closeOnce(channel chan struct{}) {
	select {
	case <-channel:
	default:
		close(channel)
	}
}

// start starts a round of checks; false if one is running.
func (c checks) start() bool {
	c.state.mutex.Lock()
	defer c.state.mutex.Unlock()
	if c.state.running {
		return false
	}
	c.state.running = true
	return true
}

func (c checks) end() {
	c.state.mutex.Lock()
	defer c.state.mutex.Unlock()
	c.state.running = false
}

// due returns the targets to check now and marks them as checked. It drops the results of targets that are not in all.
func (c checks) due(all []view.Ref, now time.Time) []view.Ref {
	c.state.mutex.Lock()
	defer c.state.mutex.Unlock()
	closeOnce(c.begun)
	looked, results := map[view.Ref]time.Time{}, map[view.Ref]*view.TargetCheck{}
	var due []view.Ref
	for _, ref := range all {
		at, known := c.state.looked[ref]
		if known {
			looked[ref], results[ref] = at, c.state.results[ref]
		}
		if !known || now.Sub(at) >= lookPause {
			due = append(due, ref)
		}
	}
	slices.SortStableFunc(due, func(a, b view.Ref) int { return looked[a].Compare(looked[b]) })
	due = due[:min(len(due), maxLooks)]
	for _, ref := range due {
		looked[ref] = now
	}
	c.state.looked, c.state.results = looked, results
	c.state.turn()
	return due
}

func (c checks) put(ref view.Ref, result *view.TargetCheck) {
	c.state.mutex.Lock()
	defer c.state.mutex.Unlock()
	if _, wanted := c.state.looked[ref]; !wanted {
		return
	}
	c.state.results[ref] = result
	c.state.turn()
}

// of returns the results for targets.
func (c checks) of(refs []view.Ref) map[view.Ref]*view.TargetCheck {
	c.state.mutex.Lock()
	defer c.state.mutex.Unlock()
	found := map[view.Ref]*view.TargetCheck{}
	for _, ref := range refs {
		if result := c.state.results[ref]; result != nil {
			found[ref] = result
		}
	}
	return found
}

// checksFor returns the results that the documents of a reader show: those about the clusters in them.
func (s *Server) checksFor(key string, clusters []view.Ref) map[view.Ref]*view.TargetCheck {
	if key == "" {
		return nil
	}
	s.mutex.Lock()
	r := s.readers[key]
	if strings.HasPrefix(key, soonPrefix) {
		r = s.whoKnows(key)
	}
	s.mutex.Unlock()
	if r == nil {
		return nil
	}
	return r.checks.of(clusters)
}

// whoKnows returns one of the readers who share a document. The caller holds the mutex.
func (s *Server) whoKnows(key string) *reader {
	for _, r := range s.readers {
		if r.checks.key(viewOverview, "") == key {
			return r
		}
	}
	return nil
}

// check checks the targets that the caller may read. It does not wait: results arrive with the streams.
func (s *Server) check(r *http.Request, by caller) (any, error) {
	if _, err := body[struct{}](r); err != nil {
		return nil, err
	}
	class, err := s.classOf(r.Context(), by.reader, rights.Page{})
	if err != nil {
		return nil, attempt{what: "find out what you may see"}.refusal(err)
	}
	if by.reader.checks.start() {
		s.tasks.Go(func() {
			defer by.reader.checks.end()
			s.checkTargets(s.tasks.Context(), by.reader, class)
		})
	}
	return nil, nil
}

// checkTargets checks all targets of a class for one of its readers.
func (s *Server) checkTargets(ctx context.Context, r *reader, class *rights.Class) {
	if !s.awaitReady(ctx) {
		return
	}
	due := r.checks.due(s.clustersFor(class), s.options.Now())
	s.hub.ChangedFor(r.key)
	var group errgroup.Group
	group.SetLimit(lookAtOnce)
	for _, ref := range due {
		group.Go(func() error {
			select {
			case s.looks <- struct{}{}:
				defer func() { <-s.looks }()
			case <-ctx.Done():
				return nil
			}
			r.checks.put(ref, s.checkTarget(ctx, r, ref))
			s.hub.ChangedFor(r.key)
			return nil
		})
	}
	_ = group.Wait() // Errors are in the results.
}

func (s *Server) awaitReady(ctx context.Context) bool {
	ticker := time.NewTicker(untilReady)
	defer ticker.Stop()
	for !s.mirror.Ready() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// clustersFor returns the clusters of the Targets and Pipelines that readers of a class may list.
func (s *Server) clustersFor(class *rights.Class) []view.Ref {
	var targets []*lsv1alpha1.Target
	var lines []*pipelines.Pipeline
	see := func(r mirror.Resource, namespace string) bool {
		if r.Resource != "targets" && r.Resource != "pipelines" {
			return false
		}
		allowed, _ := class.May(toList(r), namespace)
		return allowed
	}
	s.mirror.Each("", see, func(object client.Object) {
		switch object := object.(type) {
		case *lsv1alpha1.Target:
			targets = append(targets, object)
		case *pipelines.Pipeline:
			lines = append(lines, object)
		}
	})
	return view.Lookable(targets, lines)
}

// checkTarget checks one cluster with the rights of the reader.
func (s *Server) checkTarget(ctx context.Context, r *reader, ref view.Ref) *view.TargetCheck {
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	reader := live.Reader{Host: r.client, Clusters: r.clustersOf()}
	reach := reader.Reach
	if ref.Kind == string(pipelines.ClusterKindGitopsCluster) {
		reach = reader.ReachGitopsCluster
	}
	found, err := reach(ctx, key)
	result := &view.TargetCheck{At: s.options.Now().UTC(), Reachable: err == nil, Version: found.Version, Expiring: found.Expiring}
	if err != nil {
		result.Error = whyNotRead(ref, err)
	} else {
		result.Milliseconds = int(max(found.Took, time.Millisecond).Milliseconds())
	}
	if !found.Expires.IsZero() {
		expires := found.Expires.UTC()
		result.Expires = &expires
	}
	return result
}
