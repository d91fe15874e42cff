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

// Deployer deploys the items of one type. The library calls it only while an item has an unfinished job, one call at a time
// per item, and repeats calls after a crash or an error: every method is idempotent.
//
// An error created by Terminal ends the job; any other error is retried with backoff until the item's deadline.
type Deployer interface {
	// Type is the type of the deploy items.
	Type() lsv1alpha1.DeployItemType
	// Intend reads the item's configuration and returns the provider status to store before anything is changed: the objects that it already
	// lists and those about to be created, so that a crash in the middle of Deploy leaves no unrecorded object behind. It writes nothing. Nil
	// keeps the stored status.
	Intend(ctx context.Context, work Work) (runtime.Object, error)
	// Deploy brings the target closer to what the item requires. It never waits for the target: if something must happen there first, it
	// returns a Progress that names it, and arranges for Work.Wake to be called.
	Deploy(ctx context.Context, work Work) (Progress, error)
	// Delete removes what Deploy has created, in the same manner.
	Delete(ctx context.Context, work Work) (Progress, error)
}

// Repairer is implemented by deployers that repair what they have deployed while no job runs, as continuousReconcile requires.
// The library calls it only for items whose last job succeeded and whose spec has not changed since, and never concurrently
// with Deploy or Delete.
type Repairer interface {
	// NextRepair returns the time of the first repair after the given time; false if there is none. It is called with the
	// end of the last job or of the last repair, whichever is later, and uses only the item's configuration and status.
	NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool)
	// Repair compares the target with what the item requires and corrects the differences. If nothing differs, it returns a Progress
	// without Repaired and ProviderStatus, and nothing is written. It does not wait for readiness. A repair that takes longer
	// than one call returns a Progress that is not Done and sets Recheck: it is called again then, or earlier by Work.Wake.
	Repair(ctx context.Context, work Work) (Progress, error)
}

// LongRepairer is implemented by repairers whose repairs take several calls and outlast the process. A repair that has started
// continues even if its tree is suspended meanwhile.
type LongRepairer interface {
	Repairer
	// IsRepairing reports whether a repair is in progress, according to the status of the item.
	IsRepairing(item *lsv1alpha1.DeployItem) bool
}

// Work is the input of a deployer call.
type Work struct {
	// Item is a copy that the deployer must not change. Its status.providerStatus was returned by Intend and earlier calls.
	Item *lsv1alpha1.DeployItem
	// Cluster is the target; nil if the item names none, or if its type is not a cluster.
	Cluster *Cluster
	// Target is the Target object; nil if the item names none.
	Target *lsv1alpha1.Target
	// ClusterFor returns the cluster of another Target in the item's namespace, for checks and exports that name one.
	ClusterFor func(ctx context.Context, targetName string) (*Cluster, error)
	// Deadline is the item's deadline; zero if it has none.
	Deadline time.Time
	// Now is the time of the pass.
	Now time.Time
	// Wake queues the item for another call. It may be called at any time, from any goroutine, even after the call that it
	// was given to has returned, and more often than necessary.
	Wake func()
}

// Reason is what an item waits for: a CamelCase code, and a sentence that names the object.
type Reason = decision.Reason

// Progress is the result of a deployer call.
type Progress struct {
	// Done reports whether the work is complete: everything is applied and ready, or everything is gone.
	Done bool
	// Waiting is what the deployer waits for, unless Done.
	Waiting Reason
	// Recheck is how long to wait at most for an event before the next call. Zero means a default.
	Recheck time.Duration
	// ProviderStatus is the provider status to store. Nil keeps the stored one.
	ProviderStatus runtime.Object
	// Exports are the exports of the item, with Done. A map that is not empty replaces the previous exports; without
	// exports, the previous ones are removed.
	Exports map[string]any
	// TakenOver names the objects that another deploy item managed before this call wrote them, in a sentence for an event.
	// Empty if there were none.
	TakenOver string
	// Repaired describes what a Repair corrected, in a sentence for an event. Empty if nothing differed.
	Repaired string
}
