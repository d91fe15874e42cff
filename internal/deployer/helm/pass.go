// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"strings"
	"time"

	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/export"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/prune"
	"espalier.dev/internal/deployer/objects/readiness"
	"espalier.dev/internal/deployer/objects/session"
	"espalier.dev/internal/masking"
)

// memory is what one pass of a job leaves to the next.
type memory struct {
	// chart is the chart of the job: it is fetched once, so that all passes work with the same.
	chart *charts.Package
	// seen is what the templates see, for exports.
	seen map[string]any
	// objects are those to apply, or those of the release.
	objects []apply.Object
	// rendered says that objects and seen are complete, in the mode without a release.
	rendered bool
	applied  apply.Memory

	// current is the revision that is deployed, and replaced those before it whose objects were not swept yet.
	current  *release.Release
	replaced []*release.Release
	// upgraded says that the current revision was made by an upgrade, not by an installation.
	upgraded bool
}

func newMemory() *memory { return &memory{applied: apply.Memory{}} }

// pass is one call of the deployer for one item.
type pass struct {
	work    deployer.Work
	config  *configuration
	state   *state
	cluster *deployer.Cluster
	find    cluster.Finder
	session *session.Session[*memory]
	chart   *charts.Package
	exports map[string]any
	// taken are things that belonged to other deploy items until this pass.
	taken []string
	// recheck is when to look again at the latest; zero means as usual.
	recheck time.Duration
	masked  *masking.Values
}

// prepare fetches the chart, and reads those exports that need nothing to be deployed.
func (p *pass) prepare(ctx context.Context, source *charts.Source) error {
	memory := p.session.Memory
	if memory.chart == nil {
		fetched, err := source.Fetch(ctx, p.wanted())
		if err != nil {
			return err
		}
		memory.chart = fetched
	}
	p.chart = memory.chart
	switch {
	case !p.config.asRelease():
		if err := p.render(ctx); err != nil {
			return err
		}
	case len(p.config.valueExports) > 0 && memory.seen == nil:
		if err := p.checkValues(ctx, true); err != nil {
			return p.unrendered(ctx, err)
		}
	}
	var err error
	p.exports, err = readValues(p.config.valueExports, memory.seen)
	return err
}

// wanted is the chart of the item, on behalf of its job.
func (p *pass) wanted() charts.Request {
	item := p.work.Item
	return charts.Request{
		Chart:     p.config.Chart,
		Namespace: item.Namespace,
		Context:   item.Spec.Context,
		Item:      item.UID,
		Job:       item.Status.JobID,
	}
}

// intend returns what is about to be made.
func (p *pass) intend(ctx context.Context) (runtime.Object, error) {
	if p.config.asRelease() {
		p.state.intendRelease(p.config.reference())
		return p.state.object(), nil
	}
	if err := p.intendTemplate(ctx); err != nil {
		return nil, err
	}
	return p.state.object(), nil
}

func (p *pass) deploy(ctx context.Context) (deployer.Progress, error) {
	if p.config.asRelease() {
		p.state.intendRelease(p.config.reference())
		return p.progress(p.deployRelease(ctx))
	}
	p.state.intendTemplate()
	return p.progress(p.deployTemplate(ctx))
}

// delete uninstalls the releases of the item, and deletes the objects that it has without one.
func (p *pass) delete(ctx context.Context, last farewell) (deployer.Progress, error) {
	uninstall := func(ctx context.Context) (*cluster.Wait, error) {
		return nil, p.removeReleases(ctx, p.state.toUninstall(last), last.uninstall)
	}
	owner := inventory.OwnerOf(p.work.Item)
	run := &prune.Run{Cluster: p.cluster, Find: p.find, Owner: owner, Groups: p.state.deletionGroups(last), Inventory: &p.state.objects}
	return p.progress(p.session.Walk(ctx, p.work.Wake, uninstall, run.Pass))
}

// progress tells how far a pass has come. Whatever happened, the status is up to date.
func (p *pass) progress(wait *cluster.Wait, err error) (deployer.Progress, error) {
	progress := deployer.Progress{ProviderStatus: p.state.object()}
	if len(p.taken) > 0 {
		progress.TakenOver = "taken over: " + strings.Join(p.taken, "; ")
	}
	switch {
	case err != nil:
		return progress, err
	case wait != nil:
		progress.Waiting, progress.Recheck = wait.Reason, wait.RecheckAfter(recheck)
		if p.recheck > 0 {
			progress.Recheck = min(progress.Recheck, p.recheck)
		}
	default:
		progress.Done, progress.Exports = true, p.allExports()
	}
	return progress, nil
}

func (p *pass) awaitChecks(ctx context.Context) (*cluster.Wait, error) {
	return readiness.Checks{Custom: p.config.ReadinessChecks.Custom, Cluster: p.cluster, Find: p.find}.Pass(ctx)
}

func (p *pass) readExports(ctx context.Context) (*cluster.Wait, error) {
	if err := p.seeRevision(); err != nil {
		return nil, err
	}
	values, wait, err := export.Reader{Exports: p.config.exports, Cluster: p.cluster, Find: p.find}.Pass(ctx)
	for key, value := range values {
		if p.exports == nil {
			p.exports = map[string]any{}
		}
		p.exports[key] = value
	}
	return wait, err
}

// allExports are the exports in the order of the configuration, with their keys taken apart.
func (p *pass) allExports() map[string]any {
	if p.config == nil || len(p.exports) == 0 {
		return nil
	}
	var keys []string
	for _, each := range p.config.ExportsFromManifests {
		keys = append(keys, each.Key)
	}
	if p.config.Exports != nil {
		for _, each := range p.config.Exports.Exports {
			keys = append(keys, each.Key)
		}
	}
	return nested(keys, p.exports)
}
