// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/target"
	"espalier.dev/internal/tenancy"
)

// Options configure a Fleet.
type Options struct {
	// Config connects to the management cluster, with rights to list and watch the kinds of applications there, and to get and watch the
	// GitopsClusters, Targets and Secrets that pipelines refer to. Objects that may not be watched are read every few minutes instead.
	Config *rest.Config

	// Clusters connects to the other clusters. It should have no other users, so that a connection ends with the last reference. Its creator
	// closes it after the fleet.
	Clusters *target.Clusters

	// Clock provides the time at which something became unreadable. Nil means the real clock.
	Clock clock.PassiveClock

	// Tenancy determines the rights with which a cluster is accessed: in strict tenancy, those of the namespace of its GitopsCluster or
	// Target.
	Tenancy *tenancy.Strict
}

// Fleet follows applications. Its methods are safe for concurrent use, and only Start and Close block. It is a prometheus.Collector of
// its own metrics.
type Fleet struct {
	clock    clock.PassiveClock
	timing   timing
	page     int64 // how many objects are listed at once
	resolver *resolver
	alarm    alarm

	ctx   context.Context // of everything that is started
	end   context.CancelFunc
	group sync.WaitGroup

	// mutex protects the following fields, including links, sessions and feeds. It is never held while blocking.
	mutex  sync.Mutex
	closed bool
	index  *index
	links  map[ClusterKey]*link
	uses   map[*target.Cluster]int // by sessions
}

// New returns a fleet that follows nothing yet. It opens no connection.
func New(options Options) (*Fleet, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	host, err := managementClient(options.Config)
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		clock: options.Clock, timing: defaultTiming, page: defaultPage,
		resolver: &resolver{host: host, clusters: options.Clusters, tenancy: options.Tenancy},
		index:    newIndex(), links: map[ClusterKey]*link{}, uses: map[*target.Cluster]int{},
	}
	f.ctx, f.end = context.WithCancel(context.Background())
	return f, nil
}

const discoveryTimeout = 15 * time.Second

// managementClient returns an uncached client, so that Secrets are not kept.
func managementClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, gitops.AddToScheme, lsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register the kinds for cluster access: %w", err)
		}
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the management cluster: %w", err)
	}
	// Discovery takes no context, so it needs a separate limit.
	mapper, err := apiutil.NewDynamicRESTMapper(config, &http.Client{Transport: connections.Transport, Timeout: discoveryTimeout})
	if err != nil {
		return nil, fmt.Errorf("connect to the management cluster: %w", err)
	}
	host, err := client.NewWithWatch(config, client.Options{HTTPClient: connections, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connect to the management cluster: %w", err)
	}
	return host, nil
}

// Start runs the fleet until the context ends, then stops everything. It is for manager.Add; Refer works before it, too.
func (f *Fleet) Start(ctx context.Context) error {
	<-ctx.Done()
	f.Close()
	return nil
}

// NeedLeaderElection returns true: only the leader has watches.
func (f *Fleet) NeedLeaderElection() bool { return true }

// Close ends all watches and connections, and waits for their goroutines. A closed fleet follows nothing.
func (f *Fleet) Close() {
	f.mutex.Lock()
	f.closed = true
	f.mutex.Unlock()
	f.end()
	f.group.Wait()
}

// Refer sets the applications that a pipeline refers to. It replaces earlier ones.
func (f *Fleet) Refer(pipeline types.NamespacedName, applications []Application) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return
	}
	begun, ended := f.index.replace(pipeline, applications)
	// Adding first keeps a watch that both need.
	for _, application := range begun {
		f.beginLocked(application)
	}
	for _, application := range ended {
		f.endLocked(application)
	}
}

// Forget removes all references of a pipeline.
func (f *Fleet) Forget(pipeline types.NamespacedName) { f.Refer(pipeline, nil) }

// Reconnect retries connecting to the clusters of a pipeline now, if they are not connected.
func (f *Fleet) Reconnect(pipeline types.NamespacedName) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for application := range f.index.means[pipeline] {
		if l := f.links[application.Cluster]; l != nil {
			l.reconnect()
		}
	}
}

func (f *Fleet) beginLocked(application Application) {
	l := f.links[application.Cluster]
	if l == nil {
		l = f.newLinkLocked(application.Cluster)
	}
	key := l.feedKeyLocked(application)
	feed := l.feeds[key]
	if feed == nil {
		feed = l.newFeedLocked(key, l.problem)
	}
	feed.want(application.key())
}

func (f *Fleet) endLocked(application Application) {
	l := f.links[application.Cluster]
	key := l.feedKeyLocked(application)
	feed := l.feeds[key]
	if delete(feed.wanted, application.key()); len(feed.wanted) > 0 {
		return
	}
	feed.quitLocked()
	if delete(l.feeds, key); len(l.feeds) > 0 {
		return
	}
	delete(f.links, application.Cluster)
	l.cancel()
}

// Read returns the known state of an application, without I/O.
func (f *Fleet) Read(application Application) State {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if l := f.links[application.Cluster]; l != nil {
		if feed := l.feeds[l.feedKeyLocked(application)]; feed != nil {
			if _, wanted := feed.wanted[application.key()]; wanted {
				return feed.read(application.key())
			}
		}
	}
	return State{Problem: Problem{
		Reason:  ReasonNotFollowed,
		Message: fmt.Sprintf("%s is not watched, because no pipeline refers to it", application),
	}}
}

// Client returns an uncached client for a cluster that some pipeline refers to, with the rights of the reference. It fails immediately
// if the cluster is not connected. Do not keep the client: the credential may change.
func (f *Fleet) Client(cluster ClusterKey) (client.Client, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch l := f.links[cluster]; {
	case l == nil:
		return nil, fmt.Errorf("%s is not connected, because no pipeline refers to it", cluster)
	case l.session == nil:
		return nil, errors.New(l.problem.Message)
	default:
		return l.session.client, nil
	}
}

// Source is a source of pipelines to check, for builder.WatchesRawSource: those that refer to an application whose State has changed.
// Changes before the source was started are not lost.
func (f *Fleet) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		f.OnChange(func(pipeline types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: pipeline}) })
		return nil
	})
}

// OnChange sets the function to call, from any goroutine, with each pipeline to check again. wake must not block. It replaces the function
// of an earlier call. Pipelines queued before the first call are passed on at once.
func (f *Fleet) OnChange(wake func(pipeline types.NamespacedName)) { f.alarm.onRing(wake) }

// update changes a feed on behalf of a session and wakes the pipelines of the applications that change returns. If the session is no longer
// that of the feed, update ignores the change and returns false.
func (f *Fleet) update(feed *feed, from *session, change func(now time.Time) []types.NamespacedName) bool {
	f.mutex.Lock()
	if feed.session != from {
		f.mutex.Unlock()
		return false
	}
	var concerned []types.NamespacedName
	for _, key := range change(f.clock.Now()) {
		concerned = f.index.appendUsers(concerned, feed.application(key))
	}
	f.mutex.Unlock()
	f.alarm.ring(concerned)
	return true
}
