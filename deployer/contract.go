// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
)

// Deployer deploys the items of one type. The library calls it only while a job runs that the item has not finished,
// one call at a time for each item, and repeats calls after a crash or an error: every method is idempotent.
//
// An error made by Terminal ends the job; every other one is repeated in growing intervals until the item's time is up.
type Deployer interface {
	// Type is the type of the deploy items.
	Type() lsv1alpha1.DeployItemType
	// Intend reads the item's configuration and returns what the deployer is going to remember in the provider status
	// before anything is touched: the objects that it remembers already and those that it is about to create, so that a
	// crash in the middle of Deploy leaves nothing behind that nobody knows. It writes nothing. Nil keeps what is there.
	Intend(ctx context.Context, work Work) (runtime.Object, error)
	// Deploy brings the target closer to what the item asks for. It never waits for the target: when something there
	// has to happen first, it returns a Progress that says so, and arranges for Work.Wake to be called.
	Deploy(ctx context.Context, work Work) (Progress, error)
	// Delete removes what Deploy has made, in the same manner.
	Delete(ctx context.Context, work Work) (Progress, error)
}

// Repairer is implemented by deployers that look after what they have deployed while no job runs, as
// continuousReconcile asks for. The library calls it only for items whose last job succeeded and whose spec has not
// changed since, and never beside Deploy or Delete.
type Repairer interface {
	// NextRepair returns the first time after the given one at which the item is to be looked at again; false if
	// never. It is asked with the end of the last job or of the last repair, whichever is later, and decides by the
	// item's configuration and status alone.
	NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool)
	// Repair compares the target with what the item asks for and puts right what differs. If nothing differed, it
	// returns a Progress without Repaired and ProviderStatus, and nothing is written. It does not wait for readiness. A repair
	// that takes longer than a call returns a Progress that is not Done and has a Recheck: it is called again then, or by Work.Wake.
	Repair(ctx context.Context, work Work) (Progress, error)
}

// Work is what a deployer is asked to work on.
type Work struct {
	// Item is a copy that the deployer must not change. Its status.providerStatus is what Intend and earlier calls have
	// returned.
	Item *lsv1alpha1.DeployItem
	// Cluster is the target; nil if the item names none, or if its type is not a cluster.
	Cluster *Cluster
	// Target is the Target object; nil if the item names none.
	Target *lsv1alpha1.Target
	// ClusterFor returns the cluster of another Target in the item's namespace, for checks and exports that name one.
	ClusterFor func(ctx context.Context, targetName string) (*Cluster, error)
	// Deadline is when the item's time is up; zero if it has no limit.
	Deadline time.Time
	// Now is the time of the pass.
	Now time.Time
	// Wake has the item looked at again. It may be called at any time, from any goroutine, also after the call that it
	// was given to has returned, and also more often than necessary.
	Wake func()
}

// Reason is what is waited for: a CamelCase code, and a sentence that names the object.
type Reason = decision.Reason

// Progress is how far a deployer has come.
type Progress struct {
	// Done says that there is nothing left to do: everything is applied and ready, or everything is gone.
	Done bool
	// Waiting says, unless Done, for what.
	Waiting Reason
	// Recheck is when to look again at the latest, should no event come. Zero means a default.
	Recheck time.Duration
	// ProviderStatus is what to remember from now on. Nil keeps what is there.
	ProviderStatus runtime.Object
	// Exports are the exports of the item, with Done. A map that is not empty replaces what was exported before;
	// without exports, what was exported before goes.
	Exports map[string]any
	// TakenOver says which objects were managed by another deploy item before this call wrote them, in a sentence for an
	// event. Empty if there were none.
	TakenOver string
	// Repaired says, after Repair only, what was put right, in a sentence for an event. Empty if nothing differed.
	Repaired string
}
