// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	apis "espalier.dev/api/deployer"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/export"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/prune"
	"espalier.dev/internal/deployer/objects/readiness"
	"espalier.dev/internal/deployer/objects/session"
)

// pass is one call of the deployer for one item.
type pass struct {
	work    deployer.Work
	config  *configuration
	known   *inventory.Inventory
	cluster cluster.Cluster
	find    cluster.Finder
	session *session.Session[apply.Memory]
	// objects are the objects of the configuration, with the namespaces that their kinds require.
	objects []apply.Object
	exports map[string]any
	// taken are the objects that belonged to other deploy items until this pass.
	taken []string
}

// intend adds the objects about to be created to the inventory. If the cluster's kinds cannot be read now, they are read again
// when the objects are applied.
func (p *pass) intend() runtime.Object {
	objects, _ := apply.Place(p.config.objects, p.cluster.Mapper(), "")
	for _, o := range objects {
		if o.Policy != apis.PolicyIgnore {
			p.known.Intend(o.Entry())
		}
	}
	return statusOf(p.known)
}

func (p *pass) deploy(ctx context.Context) (deployer.Progress, error) {
	return p.walk(ctx, p.apply, p.prune, p.awaitReadiness, p.awaitChecks, p.readExports, p.patchAfter)
}

func (p *pass) delete(ctx context.Context) (deployer.Progress, error) {
	groups, err := deletionGroups(p.work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	run := &prune.Run{Cluster: p.cluster, Find: p.find, Owner: inventory.OwnerOf(p.work.Item), Groups: groups, Inventory: p.known}
	return p.walk(ctx, run.Pass)
}

// walk runs the steps until one must wait or fails. The inventory is up to date even after an error.
func (p *pass) walk(ctx context.Context, steps ...session.Step) (deployer.Progress, error) {
	wait, err := p.session.Walk(ctx, p.work.Wake, steps...)
	progress := deployer.Progress{ProviderStatus: statusOf(p.known)}
	if len(p.taken) > 0 {
		progress.TakenOver = "taken over: " + strings.Join(p.taken, "; ")
	}
	switch {
	case err != nil:
		return progress, err
	case wait != nil:
		progress.Waiting, progress.Recheck = wait.Reason, wait.RecheckAfter(recheck)
	default:
		progress.Done, progress.Exports = true, p.exports
	}
	return progress, nil
}

func (p *pass) applier() apply.Applier {
	return apply.Applier{Cluster: p.cluster, Owner: inventory.OwnerOf(p.work.Item), Strategy: p.config.UpdateStrategy}
}

func (p *pass) apply(ctx context.Context) (*cluster.Wait, error) {
	var err error
	if p.objects, err = apply.Place(p.config.objects, p.cluster.Mapper(), ""); err != nil {
		return nil, err
	}
	run := apply.Run{Applier: p.applier(), Objects: p.objects, Inventory: p.known, Memory: p.session.Memory}
	wait, err := run.Pass(ctx)
	p.taken = run.Taken
	return wait, err
}

// prune removes objects that are no longer rendered.
func (p *pass) prune(ctx context.Context) (*cluster.Wait, error) {
	rendered := p.session.Memory
	run := p.pruning(func(key inventory.Key) bool { _, stays := rendered[key]; return stays }, rendered.UIDs())
	return run.Pass(ctx)
}

// pruning removes the objects of the inventory that neither stay nor are spared.
func (p *pass) pruning(stays func(inventory.Key) bool, spared map[types.UID]bool) prune.Run {
	return prune.Run{
		Cluster: p.cluster, Find: p.find, Owner: inventory.OwnerOf(p.work.Item), Groups: p.config.DeletionGroupsDuringUpdate, Inventory: p.known,
		Stays: stays, Spared: spared,
	}
}

func (p *pass) awaitReadiness(ctx context.Context) (*cluster.Wait, error) {
	if p.config.ReadinessChecks.DisableDefault {
		return nil, nil
	}
	return p.session.Memory.AwaitReady(ctx, p.cluster)
}

func (p *pass) awaitChecks(ctx context.Context) (*cluster.Wait, error) {
	return readiness.Checks{Custom: p.config.ReadinessChecks.Custom, Cluster: p.cluster, Find: p.find}.Pass(ctx)
}

func (p *pass) readExports(ctx context.Context) (*cluster.Wait, error) {
	if p.config.Exports == nil {
		return nil, nil
	}
	values, wait, err := export.Reader{Exports: p.config.Exports.Exports, Cluster: p.cluster, Find: p.find}.Pass(ctx)
	p.exports = values
	return wait, err
}

func (p *pass) patchAfter(ctx context.Context) (*cluster.Wait, error) {
	for _, o := range p.objects {
		err := p.applier().PatchAfter(ctx, o, p.known)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			p.session.Memory.Forget(o.Key())
		}
		if err != nil {
			return nil, fmt.Errorf("patchAfterDeployment: %w", err)
		}
	}
	return nil, nil
}
