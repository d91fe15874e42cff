// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployer/objects/session"
	"espalier.dev/internal/failure"
)

// Name is the name of the controller.
const Name = "deployer-helm"

// CallTimeout is for deployer.Options: Helm runs hooks to completion, so only the item's timeout limits a call.
const CallTimeout = 24 * time.Hour

const (
	// recheck is how long to wait for an event before checking without one, in case an event was lost.
	recheck = time.Minute
	// lease is how long the session of an item lasts after its last use.
	lease = 3 * recheck
)

// Deployer deploys charts.
type Deployer struct {
	source   *charts.Source
	sessions *session.Sessions[*memory]
}

var (
	_ deployer.Deployer = (*Deployer)(nil)
	_ deployer.Repairer = (*Deployer)(nil)
)

// writeAsHelm sets the field manager to that of Helm's own command: with server-side apply, another name is another owner of the
// same fields.
var writeAsHelm = sync.OnceFunc(func() { kube.ManagedFieldsManager = "helm" })

// New returns a deployer without sessions.
func New(options charts.Options) *Deployer {
	quietly()
	writeAsHelm()
	return &Deployer{source: charts.New(options), sessions: session.New(lease, newMemory)}
}

// Type is the type of the deploy items.
func (d *Deployer) Type() lsv1alpha1.DeployItemType { return lsv1alpha1.DeployItemTypeHelm }

// Intend returns the release, or the objects, about to be created.
func (d *Deployer) Intend(ctx context.Context, work deployer.Work) (runtime.Object, error) {
	if work.Item.DeletionTimestamp != nil {
		return nil, nil
	}
	p, err := d.begin(ctx, work)
	if err != nil {
		return nil, err
	}
	return p.intend(ctx)
}

// Deploy installs or upgrades the chart, or applies the objects that it renders, and waits until everything is ready and
// exported.
func (d *Deployer) Deploy(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	p, err := d.begin(ctx, work)
	if err != nil {
		d.endIfTerminal(work.Item, err)
		return deployer.Progress{}, err
	}
	progress, err := p.deploy(ctx)
	if progress.Done {
		d.sessions.End(work.Item)
	}
	d.endIfTerminal(work.Item, err)
	return progress, err
}

func (d *Deployer) endIfTerminal(item *lsv1alpha1.DeployItem, err error) {
	if failure.KindOf(err) == failure.Terminal {
		d.sessions.End(item)
	}
}

// Delete uninstalls the release, or deletes the objects. An item that never touched its target has no provider status, and
// nothing to remove.
func (d *Deployer) Delete(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	known, err := readState(work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	if work.Item.Status.ProviderStatus == nil {
		d.sessions.End(work.Item)
		return deployer.Progress{Done: true}, nil
	}
	last, err := readFarewell(work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	if work.Cluster == nil {
		return deployer.Progress{}, cluster.None()
	}
	p := d.pass(work, &configuration{}, known)
	// A mistake in the values must not block a deletion. They are only needed to mask errors.
	_ = providerconfig.ReadPart(work.Item, &struct {
		Values *map[string]any `json:"values"`
	}{&p.config.values})
	progress, err := p.delete(ctx, last)
	if progress.Done {
		d.sessions.End(work.Item)
	}
	d.endIfTerminal(work.Item, err)
	return progress, err
}

// NextRepair follows continuousReconcile.
func (d *Deployer) NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool) {
	return providerconfig.NextRepair(continuousReconcile(item), after)
}

// Repair corrects what other clients have changed.
func (d *Deployer) Repair(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	d.sessions.End(work.Item)
	defer d.sessions.End(work.Item)
	p, err := d.begin(ctx, work)
	if err != nil {
		return deployer.Progress{}, err
	}
	return p.repair(ctx)
}

// begin reads the input of a pass over an item.
func (d *Deployer) begin(ctx context.Context, work deployer.Work) (*pass, error) {
	config, err := readConfiguration(work.Item)
	if err != nil {
		return nil, err
	}
	known, err := readState(work.Item)
	if err != nil {
		return nil, err
	}
	if work.Cluster == nil {
		return nil, cluster.None()
	}
	p := d.pass(work, config, known)
	return p, p.prepare(ctx, d.source)
}

func (d *Deployer) pass(work deployer.Work, config *configuration, known *state) *pass {
	return &pass{
		work: work, config: config, state: known, cluster: work.Cluster, find: cluster.FinderOf(work), session: d.sessions.Of(work.Item),
	}
}
