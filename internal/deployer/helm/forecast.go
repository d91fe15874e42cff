// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	release "helm.sh/helm/v4/pkg/release/v1"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/prune"
	"espalier.dev/internal/dial"
)

var _ forecast.Forecaster = Forecast

// Forecast is a forecast.Forecaster for items of the Helm type. Charts may come from this machine.
func Forecast(ctx context.Context, work deployer.Work, around forecast.Surroundings) (*forecast.Forecast, error) {
	d := New(charts.Options{Host: around.Host, Dialer: dial.Rules{AllowLoopback: true}, Registries: around.Registries})
	if work.Item.DeletionTimestamp != nil {
		return d.forecastDeletion(ctx, work)
	}
	p, err := d.begin(ctx, work)
	if err != nil {
		return nil, err
	}
	if p.config.asRelease() {
		return p.forecastRelease(ctx)
	}
	return p.forecastTemplate(ctx)
}

// forecastTemplate handles items without a release.
func (p *pass) forecastTemplate(ctx context.Context) (*forecast.Forecast, error) {
	former := p.state.release != nil || len(p.state.former) > 0
	if err := p.intendTemplate(ctx); err != nil {
		return nil, err
	}
	objects, err := apply.Place(p.session.Memory.objects, p.cluster.Mapper(), p.config.Namespace)
	if err != nil {
		return nil, err
	}
	result := &forecast.Forecast{Changes: forecast.Apply(ctx, p.applier(), objects, p.state.objects)}
	if former {
		result.Notes = append(result.Notes, "the job removes the records of the previous release, and keeps the objects that the chart still has")
	}
	pruned, err := forecast.Prune(ctx, p.pruning(forecast.Stay(objects), forecast.UIDs(result.Changes)))
	result.Changes = append(result.Changes, pruned...)
	return result, err
}

// forecastRelease handles items whose chart Helm installs.
func (p *pass) forecastRelease(ctx context.Context) (result *forecast.Forecast, err error) {
	p.state.intendRelease(p.config.reference())
	err = p.withRelease(ctx, p.config.reference(), func(h *handle) (err error) {
		h.rehearsal, h.adopts = true, p.state.objects.Len() > 0
		result, err = p.rehearse(ctx, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, reference := range p.state.former {
		removed, err := p.forecastRemoval(ctx, reference)
		if err != nil {
			return nil, err
		}
		result.Changes = append(result.Changes, removed...)
	}
	return result, nil
}

// rehearse is bringAbout without storing anything, as far as possible.
func (p *pass) rehearse(ctx context.Context, h *handle) (*forecast.Forecast, error) {
	history, d, err := p.resolve(ctx, h)
	if err != nil {
		return nil, err
	}
	switch d.course {
	case await:
		return &forecast.Forecast{Notes: []string{p.awaitOther(h, history, d).Reason.Message}}, nil
	case leave:
		return p.rehearseRestoration(ctx, h, history[len(history)-1])
	}
	if d.recover {
		last := history[len(history)-1]
		return nil, fmt.Errorf("revision %d of release %s is %s, since an operation on it was abandoned: the job recovers from that, "+
			"but the result cannot be predicted", last.Version, shown(h.reference), last.Info.Status)
	}
	made, err := p.prepareRevision(ctx, h, d, history)
	if d.course == install && isUnknownKind(err) {
		return p.unbuilt(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p.rehearseRevision(ctx, h, made, history)
}

// prepareRevision makes Helm render the next revision, and check it as far as Helm does.
func (p *pass) prepareRevision(ctx context.Context, h *handle, d resolution, history []*release.Release) (*release.Release, error) {
	doing := attempt{reason: ReasonInstall, doing: "prepare the installation of release " + shown(h.reference)}
	run, skip, next := h.install, p.config.install.SkipSchemaValidation, 1
	if d.course == upgrade {
		doing = attempt{reason: ReasonUpgrade, doing: "prepare the upgrade of release " + shown(h.reference)}
		run, skip = h.upgrade, p.config.upgrade.SkipSchemaValidation
	}
	if len(history) > 0 {
		next = history[len(history)-1].Version + 1
	}
	if err := p.checkValues(ctx, skip); err != nil {
		return nil, p.failed(ctx, doing, err)
	}
	made, err := run(p.wish(), next)
	return made, p.failed(ctx, doing, err)
}

// unbuilt handles charts with objects of kinds that they define themselves: Helm cannot check them before the CRDs exist.
func (p *pass) unbuilt(ctx context.Context) (*forecast.Forecast, error) {
	rendered, _, err := p.renderObjects(ctx)
	if err != nil {
		return nil, err
	}
	objects, _ := apply.Place(rendered, p.cluster.Mapper(), p.config.Namespace) // Unknown kinds stay as they are.
	result := &forecast.Forecast{}
	for _, o := range objects {
		change := forecast.Change{Subject: cluster.SubjectOf(p.cluster, o.Manifest), After: o.Manifest}
		change.Unchecked = "the chart has kinds that the cluster does not serve yet"
		if change.Before, err = change.Subject.Read(ctx); isGone(err) {
			change.Before, err = nil, nil
		}
		change.Err = cluster.Refused("read", change.Subject, err)
		result.Changes = append(result.Changes, change)
	}
	return result, nil
}

// rehearseRestoration forecasts an unchanged revision: objects that another client has deleted or changed are restored.
func (p *pass) rehearseRestoration(ctx context.Context, h *handle, current *release.Release) (*forecast.Forecast, error) {
	objects, err := objectsOf(current, p.cluster.Mapper(), h.reference.Namespace)
	if err != nil {
		return nil, err
	}
	var wrong []apply.Object
	for _, o := range objects {
		verdict, _, err := h.compare(ctx, o)
		if err != nil {
			return nil, err
		}
		if verdict != apply.Unchanged {
			wrong = append(wrong, o)
		}
	}
	result := &forecast.Forecast{Changes: h.rehearseObjects(ctx, plan{next: current, objects: wrong, before: current})}
	return result, p.addHandedOver(ctx, result, objects)
}

// addHandedOver adds the objects that the deployer applied itself before the item had a release, and that the release lacks.
func (p *pass) addHandedOver(ctx context.Context, result *forecast.Forecast, objects []apply.Object) error {
	if p.state.objects.Len() == 0 {
		return nil
	}
	stay, err := p.staying(objects)
	if err != nil {
		return err
	}
	pruned, err := forecast.Prune(ctx, p.handedOver(stay))
	result.Changes = append(result.Changes, pruned...)
	return err
}

// forecastRemoval forecasts the removal of a release.
func (p *pass) forecastRemoval(ctx context.Context, reference helmv1alpha1.ReleaseReference) (changes []forecast.Change, err error) {
	err = p.withRelease(ctx, reference, func(h *handle) error {
		history, err := h.history()
		if err != nil || h.otherOwner(history) {
			return err
		}
		changes, err = h.doomed(ctx, history, nil)
		return err
	})
	return changes, p.failed(ctx, attempt{reason: ReasonUninstall, doing: "find out what is deleted with release " + shown(reference)}, err)
}

func (d *Deployer) forecastDeletion(ctx context.Context, work deployer.Work) (*forecast.Forecast, error) {
	known, err := readState(work.Item)
	if err != nil || work.Item.Status.ProviderStatus == nil {
		return &forecast.Forecast{}, err
	}
	last, err := readFarewell(work.Item)
	if err != nil {
		return nil, err
	}
	if work.Cluster == nil {
		return nil, cluster.None()
	}
	p := d.pass(work, &configuration{}, known)
	result := &forecast.Forecast{}
	for _, reference := range p.state.toUninstall(last) {
		removed, err := p.forecastRemoval(ctx, reference)
		if err != nil {
			return nil, err
		}
		result.Changes = append(result.Changes, removed...)
	}
	pruned, err := forecast.Prune(ctx, prune.Run{
		Cluster: p.cluster, Find: p.find, Owner: inventory.OwnerOf(work.Item), Groups: p.state.deletionGroups(last), Inventory: &p.state.objects,
	})
	result.Changes = append(result.Changes, pruned...)
	return result, err
}
