// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/fleet"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/target"
	"espalier.dev/internal/tenancy"
)

// Name is the name of the controller that Setup adds.
const Name = "pipelines"

const pipelineKind = "Pipeline"

// Options configure the controller of pipelines. Zero values mean the defaults.
type Options struct {
	// Workers is how many pipelines are reconciled concurrently.
	Workers int
	// EventsAddress is where Flux's notification-controller receives events; empty if there is none.
	EventsAddress string
	// PollInterval is how often a repository with open pull requests is polled for changes.
	PollInterval time.Duration
	// RolloutDeadline is how long a promotion may take to roll out before it counts as stalled.
	RolloutDeadline time.Duration
	// AttemptTimeout ends a promotion attempt that hangs.
	AttemptTimeout time.Duration
	// ConcurrentPullRequests is how many repositories are worked on concurrently, ConcurrentAttempts how many other attempts run
	// concurrently.
	ConcurrentPullRequests, ConcurrentAttempts int
	// ApplicationKinds are the kinds that spec.appRef may name; the default is pipeline.DefaultKinds.
	ApplicationKinds []schema.GroupKind
	// Dialer limits the addresses of clusters, Git servers and receivers of events.
	Dialer dial.Rules
}

func (o Options) withDefaults() Options {
	set := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	set(&o.PollInterval, 30*time.Second)
	set(&o.RolloutDeadline, pipeline.DefaultRolloutDeadline)
	set(&o.AttemptTimeout, 5*time.Minute)
	if o.ConcurrentPullRequests == 0 {
		o.ConcurrentPullRequests = 4
	}
	if o.ConcurrentAttempts == 0 {
		o.ConcurrentAttempts = 16
	}
	if len(o.ApplicationKinds) == 0 {
		o.ApplicationKinds = pipeline.DefaultKinds()
	}
	return o
}

type pipelineLoop = loop.Loop[*pipelines.Pipeline, pipeline.Observed, pipeline.Phase, pipeline.Effect]

// kind is the shell of pipelines: what the loop needs.
type kind struct {
	cluster         client.Client
	fleet           *fleet.Fleet
	grants          *grants
	kinds           []schema.GroupKind
	pulls           *pulls
	installer       *installer
	notifier        *notifier
	attempts        *attempts
	others          pool
	events          events.EventRecorder
	namespaces      ending.Namespaces
	rolloutDeadline time.Duration
}

//espalier:rights pipelines
//	list,watch pipelines: the objects that it works on

// Setup adds the controller that promotes revisions.
func Setup(mgr ctrl.Manager, options Options) (*Controller, error) {
	options = options.withDefaults()
	clusters := target.NewClusters(target.Options{
		Host: mgr.GetAPIReader(), HostConfig: mgr.GetConfig(), Dialer: options.Dialer, Scheme: mgr.GetScheme(), FewKinds: true,
	})
	leaves, err := fleet.New(fleet.Options{Config: mgr.GetConfig(), Clusters: clusters, Tenancy: tenancy.Of(mgr)})
	if err != nil {
		return nil, fmt.Errorf("set up controller %s: %w", Name, err)
	}
	wakes := &wakes{}
	grants, err := setupGrants(mgr, wakes.wake)
	if err != nil {
		return nil, fmt.Errorf("set up controller %s: %w", Name, err)
	}
	k := &kind{
		cluster:   mgr.GetClient(),
		fleet:     leaves,
		grants:    grants,
		kinds:     options.ApplicationKinds,
		installer: &installer{clientFor: leaves.Client, permitted: grants.confirm, tenancy: tenancy.Of(mgr)},
		notifier: &notifier{
			cluster: mgr.GetClient(),
			alerts:  &alerts{live: mgr.GetAPIReader()},
			address: options.EventsAddress,
			http:    &http.Client{Transport: options.Dialer.Transport(nil)},
		},
		attempts: newAttempts(options.AttemptTimeout, wakes.wake),
		others:   newPool(options.ConcurrentAttempts),
		events:   mgr.GetEventRecorder(reporter),
		// A watch of namespaces would cost more than the few questions at the end of a pipeline.
		namespaces:      ending.Namespaces{Cache: mgr.GetAPIReader(), Live: mgr.GetAPIReader()},
		rolloutDeadline: options.RolloutDeadline,
	}
	k.pulls = newPulls(mgr.GetAPIReader(), options, wakes.wake)
	k.pulls.tenancy = tenancy.Of(mgr)
	l := &pipelineLoop{
		Name: "pipeline", Kind: k, New: func() *pipelines.Pipeline { return &pipelines.Pipeline{} },
		Reader: mgr.GetClient(), Writer: mgr.GetClient(), Clock: clock.RealClock{},
	}
	c := &Controller{kind: k, wakes: wakes, clusters: clusters}
	// A pipeline's own writes wake it, too: the next pass builds on what this one records, which costs no request.
	err = l.Controller(mgr, options.Workers).
		Watches(&pipelines.Pipeline{}, &handler.EnqueueRequestForObject{}).
		WatchesRawSource(leaves.Source()).
		WatchesRawSource(wakes.source()).
		Complete(forgetting{kind: k, loop: l})
	if err == nil {
		err = mgr.Add(c)
	}
	if err != nil {
		return nil, fmt.Errorf("set up controller %s: %w", Name, err)
	}
	return c, nil
}

// setupGrants adds a watch of grants to the manager, with a separate client: the manager's client may be limited to some namespaces.
func setupGrants(mgr ctrl.Manager, wake func(types.NamespacedName)) (*grants, error) {
	watching, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return nil, err
	}
	g, err := newGrants(watching, mgr.GetAPIReader(), wake)
	if err != nil {
		return nil, err
	}
	return g, mgr.Add(g)
}

// Controller is the interface of the running controller to others.
type Controller struct {
	kind     *kind
	wakes    *wakes
	clusters *target.Clusters
}

// LookNow triggers a pass over a pipeline.
func (c *Controller) LookNow(p types.NamespacedName) { c.wakes.wake(p) }

// Delivered triggers a poll of a repository, because its Git server has announced changes.
func (c *Controller) Delivered(_ types.NamespacedName, event gitprovider.Event) {
	c.kind.pulls.news.delivered(event)
}

// Start ends the work that runs concurrently with the passes when the context ends.
func (c *Controller) Start(ctx context.Context) error {
	// If one process has several managers, the first one's fleet is measured.
	if metrics.Registry.Register(c.kind.fleet) == nil {
		defer metrics.Registry.Unregister(c.kind.fleet)
	}
	<-ctx.Done()
	c.kind.attempts.close()
	c.kind.pulls.close()
	c.kind.fleet.Close()
	c.clusters.Close()
	return nil
}

// NeedLeaderElection returns false, so that Start runs, and cleans up, in every replica.
func (c *Controller) NeedLeaderElection() bool { return false }

// Decide delegates to the pure package.
func (k *kind) Decide(o pipeline.Observed) pipeline.Decision { return pipeline.Decide(o) }

// Settle writes the outcome to the status.
func (k *kind) Settle(
	p *pipelines.Pipeline,
	o pipeline.Observed,
	d decision.Of[pipeline.Phase, pipeline.Effect],
	err error,
) pipeline.Observed {
	return pipeline.Settle(p, o, d, err)
}

// Phase is empty: a pipeline has none.
func (k *kind) Phase(*pipelines.Pipeline) pipeline.Phase { return "" }

func (k *kind) Status(p *pipelines.Pipeline) any { return &p.Status }

// forget drops all state of a pipeline that is gone.
func (k *kind) forget(p types.NamespacedName) {
	k.fleet.Forget(p)
	k.grants.ask(p, nil)
	k.pulls.forget(p)
	k.attempts.forget(p)
}

// forgetting drops the state of pipelines that no longer exist.
type forgetting struct {
	kind *kind
	loop *pipelineLoop
}

// Reconcile makes one pass over one pipeline.
func (f forgetting) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := f.loop.Reconcile(ctx, request)
	if apierrors.IsNotFound(f.loop.Reader.Get(ctx, request.NamespacedName, &pipelines.Pipeline{})) {
		f.kind.forget(request.NamespacedName)
	}
	return result, err
}
