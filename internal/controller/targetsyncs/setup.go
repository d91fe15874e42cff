// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/freshness"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/targetsync"
)

// Name is the name of the controller that Setup adds.
const Name = "targetsyncs"

// Options configure the controller of TargetSyncs.
type Options struct {
	// Workers is how many TargetSyncs are reconciled concurrently.
	Workers int
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
}

type syncLoop = loop.Loop[*lsv1alpha1.TargetSync, targetsync.Observed, targetsync.Phase, targetsync.Effect]

//espalier:rights targetsyncs
//	list,watch targetsyncs: the objects that it works on
//	list,watch targets,secrets: to restore the objects that it created if they change; of Secrets only metadata is cached

// Setup adds the controller that creates Targets from the contents of a source.
func Setup(mgr ctrl.Manager, options Options) error {
	mgr = freshness.Of(mgr)
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	clusters, err := deployer.NewClusters(mgr)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", Name, err)
	}
	k := &kind{cluster: mgr.GetClient(), live: mgr.GetAPIReader(), clusters: clusters, clock: options.Clock}
	k.sources = newSources(k.wakes.wake)
	l := &syncLoop{
		Name: "targetsync", Kind: k, New: func() *lsv1alpha1.TargetSync { return &lsv1alpha1.TargetSync{} },
		Reader: mgr.GetClient(), Writer: mgr.GetClient(), Clock: options.Clock,
		Announce:     loop.EventsTo[*lsv1alpha1.TargetSync, targetsync.Phase](mgr.GetEventRecorder(Name)),
		Confidential: k.confidential,
	}
	w := waker{reader: mgr.GetClient()}
	err = l.Controller(mgr, options.Workers).
		Watches(&lsv1alpha1.TargetSync{}, handler.EnqueueRequestsFromMapFunc(w.neighbours), builder.WithPredicates(comesOrGoes())).
		Watches(&lsv1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(w.makers), builder.WithPredicates(changes())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(w.makers), builder.OnlyMetadata, builder.WithPredicates(changes())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(w.users), builder.OnlyMetadata).
		WatchesRawSource(k.wakes.source()).
		Complete(forgetting{kind: k, loop: l})
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", Name, err)
	}
	return nil
}

// kind is the shell of TargetSyncs.
type kind struct {
	// cluster reads from the cache, live from the API server.
	cluster  client.Client
	live     client.Reader
	clusters *deployer.Clusters
	sources  *sources
	wakes    wakes
	clock    clock.PassiveClock
}

// Phase implements loop.Kind.
func (k *kind) Phase(ts *lsv1alpha1.TargetSync) targetsync.Phase { return targetsync.PhaseOf(ts) }

// Status implements loop.Kind.
func (k *kind) Status(ts *lsv1alpha1.TargetSync) any { return &ts.Status }

// Decide delegates to the pure package.
func (k *kind) Decide(o targetsync.Observed) targetsync.Decision { return targetsync.Decide(o) }

// Settle delegates to the pure package.
func (k *kind) Settle(ts *lsv1alpha1.TargetSync, o targetsync.Observed, d targetsync.Decision, err error) targetsync.Observed {
	return targetsync.Settle(ts, o, d, err)
}

// confidential returns what an error about a TargetSync must not show: the credential of the source, and what was copied from there.
func (k *kind) confidential(ctx context.Context, ts *lsv1alpha1.TargetSync) *masking.Values {
	values := &masking.Values{}
	var credential corev1.Secret
	err := k.live.Get(ctx, client.ObjectKey{Namespace: ts.Namespace, Name: ts.Spec.SecretRef.Name}, &credential)
	if client.IgnoreNotFound(err) != nil {
		return masking.Unknown(err)
	}
	values.AddCredentials(credential.Data)
	var copies corev1.SecretList
	if err := k.live.List(ctx, &copies, client.InNamespace(ts.Namespace), ours); err != nil {
		return masking.Unknown(err)
	}
	for i := range copies.Items {
		values.AddCredentials(copies.Items[i].Data)
	}
	return values
}

// ours selects what TargetSyncs have created.
var ours = client.MatchingLabels{lsv1alpha1.TargetSyncLabel: lsv1alpha1.TargetSyncOK}
