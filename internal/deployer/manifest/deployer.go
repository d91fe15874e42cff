// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployer/objects/session"
	"espalier.dev/internal/failure"
)

// Name is the name of the controller.
const Name = "deployer-manifest"

const (
	// recheck is how long to wait for an event before checking without one, in case an event was lost.
	recheck = time.Minute
	// lease is how long the session of an item lasts after its last use.
	lease = 3 * recheck
)

// Deployer deploys items of the manifest type.
type Deployer struct {
	sessions *session.Sessions[apply.Memory]
}

var (
	_ deployer.Deployer = (*Deployer)(nil)
	_ deployer.Repairer = (*Deployer)(nil)
	_ cluster.Cluster   = deployer.Work{}.Cluster
)

// New returns a deployer without sessions.
func New() *Deployer {
	return &Deployer{sessions: session.New(lease, func() apply.Memory { return apply.Memory{} })}
}

// Type is the type of the deploy items.
func (d *Deployer) Type() lsv1alpha1.DeployItemType { return lsv1alpha1.DeployItemTypeManifest }

// Intend returns the inventory, including everything about to be applied.
func (d *Deployer) Intend(_ context.Context, work deployer.Work) (runtime.Object, error) {
	if work.Item.DeletionTimestamp != nil {
		return nil, nil
	}
	p, err := d.begin(work)
	if err != nil {
		return nil, err
	}
	return p.intend(), nil
}

// Deploy applies the objects, prunes those that are no longer rendered, and waits until everything is ready and exported.
func (d *Deployer) Deploy(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	p, err := d.begin(work)
	if err != nil {
		d.sessions.End(work.Item)
		return deployer.Progress{}, err
	}
	progress, err := p.deploy(ctx)
	if progress.Done || failure.KindOf(err) == failure.Terminal {
		d.sessions.End(work.Item)
	}
	return progress, err
}

// Delete removes all objects in the inventory that are ours and that no policy keeps.
func (d *Deployer) Delete(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	known, err := readInventory(work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	if work.Item.Status.ProviderStatus == nil {
		d.sessions.End(work.Item)
		return deployer.Progress{Done: true}, nil
	}
	if work.Cluster == nil {
		return deployer.Progress{}, cluster.None()
	}
	p := &pass{work: work, known: known, cluster: work.Cluster, find: cluster.FinderOf(work), session: d.sessions.Of(work.Item)}
	progress, err := p.delete(ctx)
	if progress.Done || failure.KindOf(err) == failure.Terminal {
		d.sessions.End(work.Item)
	}
	return progress, err
}

// NextRepair follows continuousReconcile.
func (d *Deployer) NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool) {
	return providerconfig.NextRepair(continuousReconcile(item), after)
}

// Repair corrects what other clients have changed.
func (d *Deployer) Repair(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	p, err := d.begin(work)
	if err != nil {
		return deployer.Progress{}, err
	}
	d.sessions.End(work.Item)
	return p.repair(ctx)
}

// begin reads the input of a pass over an item.
func (d *Deployer) begin(work deployer.Work) (*pass, error) {
	config, err := readConfiguration(work.Item)
	if err != nil {
		return nil, err
	}
	known, err := readInventory(work.Item)
	if err != nil {
		return nil, err
	}
	if work.Cluster == nil {
		return nil, cluster.None()
	}
	return &pass{
		work: work, config: config, known: known, cluster: work.Cluster, find: cluster.FinderOf(work), session: d.sessions.Of(work.Item),
	}, nil
}
