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

// memory is the state that one pass of a job leaves for the next.
type memory struct {
	// chart is the chart of the job: it is fetched once, so that all passes use the same one.
	chart *charts.Package
	// seen is the data that templates see, for exports.
	seen map[string]any
	// objects are the objects to apply, or those of the release.
	objects []apply.Object
	// rendered reports whether objects and seen are complete, in the mode without a release.
	rendered bool
	applied  apply.Memory

	// current is the deployed revision, and replaced are the revisions before it whose objects have not been swept yet.
	current  *release.Release
	replaced []*release.Release
	// upgraded reports whether an upgrade, not an installation, created the current revision.
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
	// taken describes the objects that belonged to other deploy items until this pass.
	taken []string
	// recheck is an upper bound for the recheck; zero means the default.
	recheck time.Duration
	masked  *masking.Values
}

// prepare fetches the chart, and reads the exports that do not depend on a deployment.
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

// wanted is the request for the chart of the item, for its job.
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

// intend returns the status with the objects about to be created.
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

// delete uninstalls the item's releases, and deletes the objects that it applied without one.
func (p *pass) delete(ctx context.Context, last farewell) (deployer.Progress, error) {
	uninstall := func(ctx context.Context) (*cluster.Wait, error) {
		return nil, p.removeReleases(ctx, p.state.toUninstall(last), last.uninstall)
	}
	owner := inventory.OwnerOf(p.work.Item)
	run := &prune.Run{Cluster: p.cluster, Find: p.find, Owner: owner, Groups: p.state.deletionGroups(last), Inventory: &p.state.objects}
	return p.progress(p.session.Walk(ctx, p.work.Wake, uninstall, run.Pass))
}

// progress returns the result of a pass. The status is up to date even after an error.
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

// allExports returns the exports in the order of the configuration, with dotted keys expanded.
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
