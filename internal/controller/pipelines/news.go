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
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/poll"
	"espalier.dev/internal/gitprovider/providers"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/taskgroup"
)

// news follows the pull requests that statuses name.
type news struct {
	pulls   *pulls
	poller  *poll.Poller
	recalls *recalls
	probes  *probes
	wake    func(types.NamespacedName)

	mu       sync.Mutex
	followed map[types.NamespacedName]map[followed]func()
}

// followed is a pull request that a pipeline waits for.
type followed struct {
	source poll.Source
	number int64
}

func newNews(p *pulls, interval time.Duration, wake func(types.NamespacedName)) *news {
	n := &news{
		pulls: p, poller: poll.New(poll.Options{Interval: interval}), wake: wake,
		followed: map[types.NamespacedName]map[followed]func(){},
		probes:   &probes{tasks: taskgroup.New(), interval: 2 * interval, wake: wake, known: map[types.NamespacedName]map[site]*probe{}},
	}
	n.recalls = newRecalls(interval, wake)
	return n
}

func (n *news) close() {
	n.poller.Close()
	n.probes.close()
	n.recalls.close()
}

// pollNow polls a repository soon.
func (n *news) pollNow(repository gitprovider.Repository) { n.poller.PollNow(repository) }

// delivered soon polls a Git server for the change that its event announces.
func (n *news) delivered(event gitprovider.Event) {
	if event.Commit != "" {
		n.poller.CheckNow(event)
		return
	}
	n.pollNow(event.Repository)
}

// forget drops all state of a pipeline.
func (n *news) forget(owner types.NamespacedName) {
	n.follow(owner, nil)
	n.probes.keep(owner, nil)
	n.recalls.forget(owner)
}

// source is a repository as a pipeline accesses it.
func (n *news) source(namespace string, strategy pipelines.PullRequestStrategy) (poll.Source, bool) {
	repository, err := providers.Identify(strategy.Type, strategy.URL, n.pulls.rules)
	return poll.Source{Repository: repository, Credential: namespace + "/" + strategy.SecretRef.Name}, err == nil
}

func (n *news) opener(namespace string, strategy pipelines.PullRequestStrategy) func(context.Context) (gitprovider.Provider, error) {
	return func(ctx context.Context) (gitprovider.Provider, error) {
		place, _, err := n.pulls.open(ctx, namespace, strategy)
		return place.Provider, err
	}
}

// observe adds the known state of pull requests to the facts about a pipeline, and follows those whose state is unknown.
func (n *news) observe(p *pipelines.Pipeline, o *pipeline.Observed) {
	n.observeRecorded(p, o)
	sites := map[site]finder{}
	owner := client.ObjectKeyFromObject(p)
	for i := range p.Spec.Environments {
		environment := &p.Spec.Environments[i]
		strategy := pullRequestStrategy(&p.Spec, environment)
		seeks := strategy != nil && !o.Deleted && forgetful(&p.Status, p.Status.Environments[environment.Name])
		if !seeks {
			n.recalls.end(seeker{owner, environment.Name})
		}
		if strategy == nil || o.Deleted {
			continue
		}
		if seeks {
			n.observeForgotten(p, o, i, *strategy)
		}
		n.addProbe(sites, p, environment.Name, *strategy)
	}
	known := n.probes.keep(owner, sites)
	for i := range p.Spec.Environments {
		if strategy := pullRequestStrategy(&p.Spec, &p.Spec.Environments[i]); strategy != nil {
			o.Environments[i].Inputs = known[site{owner: owner, environment: p.Spec.Environments[i].Name, strategy: *strategy}]
		}
	}
}

// addProbe adds the periodic probe of an environment, if it needs one.
func (n *news) addProbe(sites map[site]finder, p *pipelines.Pipeline, environment string, strategy pipelines.PullRequestStrategy) {
	at := site{owner: client.ObjectKeyFromObject(p), environment: environment, strategy: strategy}
	promotion := p.Status.Environments[environment].Promotion
	switch {
	case promotion == nil:
	case promotion.State == pipelines.PromotionFailed && promotion.Error != nil && promotion.Error.Permanent:
		sites[at] = func(ctx context.Context) string { return n.pulls.inputs(ctx, p.Namespace, strategy) }
	case promotion.State == pipelines.PromotionCreated && promotion.PullRequest != nil:
		at.key = promotion.Key
		sites[at] = n.pulls.refresher(p, environment, strategy)
	}
}

// pullRequestStrategy returns the strategy of an environment that is promoted to by pull requests, and nil for others.
func pullRequestStrategy(spec *pipelines.PipelineSpec, environment *pipelines.Environment) *pipelines.PullRequestStrategy {
	promotion := spec.PromotionTo(*environment)
	if promotion == nil {
		return nil
	}
	return promotion.Strategy.PullRequest
}

// observeRecorded adds the current state of the pull requests in the status.
func (n *news) observeRecorded(p *pipelines.Pipeline, o *pipeline.Observed) {
	wanted := map[followed]pipelines.PullRequestStrategy{}
	for name, e := range p.Status.Environments {
		var facts []pipeline.PullRequest
		if promotion := e.Promotion; promotion != nil && (awaited(promotion.PullRequest) || reopenable(promotion)) {
			facts = append(facts, n.recorded(p, wanted, promotion.PullRequest, pipeline.PullRequest{
				Key:      promotion.Key,
				Revision: promotion.Revision,
				Run:      promotion.Run,
			})...)
		}
		if withdrawal := e.Withdrawal; withdrawal != nil && awaited(&withdrawal.PullRequest) {
			facts = append(facts, n.recorded(p, wanted, &withdrawal.PullRequest, pipeline.PullRequest{
				Key:      withdrawal.Key,
				Revision: withdrawal.Revision,
				Run:      withdrawal.Run,
			})...)
		}
		for _, fact := range facts {
			fact.Environment = name
			o.PullRequests = append(o.PullRequests, fact)
		}
	}
	n.follow(client.ObjectKeyFromObject(p), n.subscriptions(p, wanted))
}

// awaited reports whether a pull request is still open.
func awaited(pr *pipelines.PullRequestStatus) bool {
	return pr != nil && pr.Number != 0 && pr.Repository != nil && (pr.State == "" || pr.State == pipelines.PullRequestOpen)
}

// reopenable reports whether a promotion was abandoned because its pull request was closed, and may be reopened.
func reopenable(p *pipelines.PromotionStatus) bool {
	return p.State == pipelines.PromotionAbandoned && p.PullRequest != nil && p.PullRequest.Number != 0 && p.PullRequest.Repository != nil
}

// recorded marks a pull request as wanted, and returns its known state.
func (n *news) recorded(
	p *pipelines.Pipeline,
	wanted map[followed]pipelines.PullRequestStrategy,
	pr *pipelines.PullRequestStatus,
	mark pipeline.PullRequest,
) []pipeline.PullRequest {
	source, ok := n.source(p.Namespace, *pr.Repository)
	if !ok {
		return nil
	}
	wanted[followed{source, pr.Number}] = *pr.Repository
	answer := n.poller.State(source, pr.Number)
	var fact pipeline.PullRequest
	switch {
	case answer.Known:
		fact = factsOfPullRequest(answer.PullRequest)
		fact.Checks = factsOfChecks(answer.Checks)
	case answer.Missing:
		// A removed pull request counts as closed.
		fact = pipeline.PullRequest{Number: pr.Number, URL: pr.URL, Branch: pr.Branch, State: pipelines.PullRequestClosed}
	default:
		return nil
	}
	fact.Key, fact.Revision, fact.Run = mark.Key, mark.Revision, mark.Run
	return []pipeline.PullRequest{fact}
}

func (n *news) subscriptions(p *pipelines.Pipeline, wanted map[followed]pipelines.PullRequestStrategy) map[followed]poll.Subscription {
	owner := client.ObjectKeyFromObject(p)
	result := make(map[followed]poll.Subscription, len(wanted))
	for f, strategy := range wanted {
		result[f] = poll.Subscription{
			Source: f.source, Number: f.number, Open: n.opener(p.Namespace, strategy), Wake: func() { n.wake(owner) },
		}
	}
	return result
}

// follow subscribes to the wanted pull requests and to no others.
func (n *news) follow(owner types.NamespacedName, wanted map[followed]poll.Subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	current := n.followed[owner]
	for f, cancel := range current {
		if _, keep := wanted[f]; !keep {
			cancel()
			delete(current, f)
		}
	}
	for f, subscription := range wanted {
		if current[f] != nil {
			continue
		}
		if current == nil {
			current = map[followed]func(){}
			n.followed[owner] = current
		}
		current[f] = n.poller.Subscribe(subscription)
	}
	if len(current) == 0 {
		delete(n.followed, owner)
	}
}
