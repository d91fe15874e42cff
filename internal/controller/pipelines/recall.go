// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/poll"
	"espalier.dev/internal/gitprovider/pullrequest"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/taskgroup"
)

// forgetful reports whether a pipeline may have pull requests in an environment that its status does not name: it is new, or its status
// was lost or restored from an old copy.
func forgetful(status *pipelines.PipelineStatus, e pipelines.EnvironmentStatus) bool {
	if len(e.History) > 0 {
		return false
	}
	p := e.Promotion
	return status.Run == nil || p != nil && p.Attempts == 0 && p.PullRequest == nil
}

// observeForgotten looks for unrecorded pull requests that claim to belong to the pipeline.
func (n *news) observeForgotten(p *pipelines.Pipeline, o *pipeline.Observed, environment int, strategy pipelines.PullRequestStrategy) {
	source, ok := n.source(p.Namespace, strategy)
	if !ok {
		return
	}
	facts, name := &o.Environments[environment], p.Spec.Environments[environment].Name
	if working(o.Attempts, name) {
		// This attempt started before the status was lost: it may still open a pull request.
		facts.ListingPending = true
		return
	}
	found, known, problem := n.recalls.of(seeker{client.ObjectKeyFromObject(p), name}, source, n.opener(p.Namespace, strategy))
	if facts.ListingPending = !known; problem != nil {
		facts.ListingProblem = problem.Error()
	}
	for _, pr := range found {
		mark, ours := pullrequest.Recognise(pr.Body, p.Namespace, p.Name)
		if !ours || mark.Environment != name || pr.Base != strategy.BaseBranch {
			continue
		}
		// Anyone can write a description. Only a user with push rights can have created the branch.
		if pr.Fork || pr.Head != pipeline.Branch(p.Namespace, p.Name, name, mark.Key) {
			continue
		}
		fact := factsOfPullRequest(pr)
		fact.Environment, fact.Key, fact.Revision, fact.Run = mark.Environment, mark.Key, mark.Revision, mark.Run
		o.PullRequests = append(o.PullRequests, fact)
	}
}

// working reports whether an attempt for an environment is running.
func working(attempts map[pipeline.AttemptID]pipeline.Attempt, environment string) bool {
	for id, attempt := range attempts {
		if id.Environment == environment && attempt.State == pipeline.AttemptRunning {
			return true
		}
	}
	return false
}

// seeker is an environment of a pipeline that looks for unrecorded pull requests.
type seeker struct {
	owner       types.NamespacedName
	environment string
}

// recalls lists the pull requests of repositories for seekers. A listing is valid for the seekers at its start, and not for those that lost
// their status later: it may lack pull requests that were opened in between.
type recalls struct {
	wake  func(types.NamespacedName)
	pause time.Duration

	tasks *taskgroup.Group

	mu    sync.Mutex
	known map[poll.Source]*recall
}

// recall is the result of listing a repository. Listings are numbered.
type recall struct {
	running bool
	// begun and ended are the numbers of the last listings that started and finished; the fields below describe the finished one.
	begun, ended int
	found        []gitprovider.PullRequest
	problem      error
	at           time.Time
	// needs is the number of the first listing that each seeker may trust.
	needs map[seeker]int
}

func newRecalls(pause time.Duration, wake func(types.NamespacedName)) *recalls {
	return &recalls{wake: wake, pause: pause, tasks: taskgroup.New(), known: map[poll.Source]*recall{}}
}

func (r *recalls) close() { r.tasks.End() }

// opener connects to a repository.
type opener func(context.Context) (gitprovider.Provider, error)

// of returns the pull requests of a repository that may be ours. known is false while they are being listed, or while listing fails and a
// retry may help; the pipeline is woken when there is a result. If no retry can help until a user acts, of returns none and known is true:
// an attempt reports the problem.
func (r *recalls) of(who seeker, source poll.Source, open opener) (found []gitprovider.PullRequest, known bool, problem error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.known[source]
	if entry == nil {
		entry = &recall{needs: map[seeker]int{}}
		r.known[source] = entry
	}
	need, seeking := entry.needs[who]
	if !seeking {
		need = entry.begun + 1
		entry.needs[who] = need
	}
	listed := entry.ended >= need
	if listed && entry.problem == nil {
		return entry.found, true, nil
	}
	lasting := listed && isLasting(entry.problem)
	if !entry.running && (!lasting || time.Since(entry.at) >= r.pause) {
		entry.running = r.tasks.Go(func() { r.run(source, entry, open) })
	}
	if lasting {
		return nil, true, nil
	}
	if listed {
		problem = entry.problem
	}
	return nil, false, problem
}

// isLasting reports whether listing again is useless until a user acts.
func isLasting(err error) bool {
	return failure.KindOf(err) == failure.Terminal || failure.DetailsOf(err).Reason == pipeline.ReasonNoCredentials
}

// end marks an environment as no longer a seeker: its status is known again, or it has done something that a listing may not show. If it
// seeks again, it gets no results of earlier listings.
func (r *recalls) end(who seeker) {
	r.forgetIf(func(s seeker) bool { return s == who })
}

// forget drops all seekers of a pipeline.
func (r *recalls) forget(owner types.NamespacedName) {
	r.forgetIf(func(s seeker) bool { return s.owner == owner })
}

func (r *recalls) forgetIf(gone func(seeker) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for source, entry := range r.known {
		for who := range entry.needs {
			if gone(who) {
				delete(entry.needs, who)
			}
		}
		if len(entry.needs) == 0 && !entry.running {
			delete(r.known, source)
		}
	}
}

// maxPause is the upper limit of the pause between two attempts to list.
const maxPause = 15 * time.Minute

// run lists until no seeker needs a newer listing.
func (r *recalls) run(source poll.Source, entry *recall, open opener) {
	pause := r.pause
	for {
		number := r.begin(entry)
		found, err := r.list(open)
		if r.tasks.Context().Err() != nil {
			return
		}
		waiting, again := r.finish(source, entry, listed{number, found, err})
		for _, owner := range waiting {
			r.wake(owner)
		}
		if !again {
			return
		}
		if err == nil {
			continue
		}
		select {
		case <-time.After(max(pause, gitprovider.RetryAfter(err))):
		case <-r.tasks.Context().Done():
			return
		}
		pause = min(2*pause, maxPause)
	}
}

func (r *recalls) begin(entry *recall) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry.begun++
	return entry.begun
}

// listed is the outcome of a listing.
type listed struct {
	number  int
	found   []gitprovider.PullRequest
	problem error
}

// finish records the result, and returns which seekers waited for it and whether another listing is needed.
func (r *recalls) finish(source poll.Source, entry *recall, l listed) (waiting []types.NamespacedName, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry.ended, entry.found, entry.problem, entry.at = l.number, l.found, l.problem, time.Now()
	for who, need := range entry.needs {
		if need <= l.number {
			waiting = append(waiting, who.owner)
		}
		again = again || need > l.number || l.problem != nil && !isLasting(l.problem)
	}
	entry.running = again
	if len(entry.needs) == 0 {
		delete(r.known, source)
	}
	return waiting, again
}

// listTimeout applies to all pages together.
const listTimeout = 5 * time.Minute

func (r *recalls) list(open opener) ([]gitprovider.PullRequest, error) {
	ctx, cancel := context.WithTimeout(r.tasks.Context(), listTimeout)
	defer cancel()
	provider, err := open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := provider.History(ctx)
	if err != nil {
		return nil, err
	}
	found := lastOf(all)
	for i := range found {
		if !found[i].BodyCut {
			continue
		}
		if found[i], err = provider.Get(ctx, found[i].Number); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(pr gitprovider.PullRequest) bool { return !pullrequest.Marked(pr.Body) }), nil
}

// lastPerEnvironment is how many ended pull requests per environment are considered. The last one shows the number of the run; a run has
// more than one only if a user requested a retry.
const lastPerEnvironment = 5

// lastOf keeps the pull requests whose branches are named like ours: all open ones, and the last ended ones of each environment.
func lastOf(all []gitprovider.PullRequest) []gitprovider.PullRequest {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b gitprovider.PullRequest) int { return int(b.Number - a.Number) })
	ended := map[string]int{}
	return slices.DeleteFunc(all, func(pr gitprovider.PullRequest) bool {
		if pr.Fork || !strings.HasPrefix(pr.Head, pipeline.BranchPrefix) {
			return true
		}
		if pr.State == gitprovider.Open {
			return false
		}
		environment := pr.Head[:strings.LastIndex(pr.Head, "-")]
		ended[environment]++
		return ended[environment] > lastPerEnvironment
	})
}
