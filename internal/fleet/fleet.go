// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"espalier.dev/internal/target"
)

// Options are what a Fleet needs.
type Options struct {
	// Config leads to the management cluster, with rights to get, list and watch the kinds of applications there, and to get and watch
	// the GitopsClusters, Targets and Secrets that pipelines refer to. Without the right to watch a Secret it is read now and then.
	Config *rest.Config

	// Clusters connects to the other clusters. Nobody else should use it, so that a connection ends with the last reference.
	Clusters *target.Clusters

	// Clock tells since when something cannot be read. If it is nil, it is the real one.
	Clock clock.PassiveClock
}

// Fleet follows applications. Its methods may be called from several goroutines, and none of them waits for a cluster.
type Fleet struct {
	options Options
}

// New returns a fleet that follows nothing yet. It does not connect.
func New(options Options) (*Fleet, error) {
	return &Fleet{options: options}, errors.New("not built yet")
}

// Start keeps the fleet until the context ends, and ends everything then. It is for manager.Add; Refer works before it, too.
func (f *Fleet) Start(ctx context.Context) error {
	<-ctx.Done()
	f.Close()
	return nil
}

// NeedLeaderElection lets only the leader have watches.
func (f *Fleet) NeedLeaderElection() bool { return true }

// Close ends all watches and connections, and waits for their goroutines.
func (f *Fleet) Close() {}

// Refer says which applications a pipeline means. It replaces what was said before.
func (f *Fleet) Refer(pipeline types.NamespacedName, applications []Application) {}

// Forget says that a pipeline means nothing any more.
func (f *Fleet) Forget(pipeline types.NamespacedName) { f.Refer(pipeline, nil) }

// Read returns what is known about an application, from memory.
func (f *Fleet) Read(application Application) State {
	return State{Problem: Problem{Reason: ReasonNotFollowed}}
}

// Client returns an uncached client for a cluster that some pipeline refers to, with the rights that the reference gives. It fails at once
// if the cluster is not connected. Do not keep it: the credential may change.
func (f *Fleet) Client(cluster ClusterKey) (client.Client, error) { return nil, errors.New("not built yet") }

// Source is a source of pipelines to look at, for builder.WatchesRawSource: those that refer to an application whose State has changed.
// What has changed before the source was started is not lost.
func (f *Fleet) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		f.OnChange(func(pipeline types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: pipeline}) })
		return nil
	})
}

// OnChange lets wake be called, from any goroutine, with each pipeline that should look again. wake must not block and must not call the
// fleet. It replaces the function of an earlier call. Pipelines that were to be woken before the first call are passed on at once.
func (f *Fleet) OnChange(wake func(pipeline types.NamespacedName)) {}
