// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/documents"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/deployer/objects/inventory"
)

// isUnknownKind reports whether Helm cannot build an object because its kind is not served.
func isUnknownKind(err error) bool {
	return err != nil && (meta.IsNoMatchError(err) || strings.Contains(err.Error(), "no matches for kind"))
}

// rehearseRevision returns the changes of a revision that Helm has prepared.
func (p *pass) rehearseRevision(
	ctx context.Context, h *handle, made *release.Release, history []*release.Release,
) (*forecast.Forecast, error) {
	objects, err := objectsOf(made, p.cluster.Mapper(), h.reference.Namespace)
	if err != nil {
		return nil, err
	}
	before := currentOf(history)
	result := &forecast.Forecast{}
	if before == nil {
		if result.Changes, err = p.rehearseBasics(ctx, h); err != nil {
			return nil, err
		}
	}
	force := p.config.install.Force
	if before != nil {
		force = p.config.upgrade.Force
	}
	result.Changes = append(result.Changes, h.rehearseObjects(ctx, plan{next: made, objects: objects, before: before, force: force})...)
	gone, err := h.doomed(ctx, replaced(append(history, made)), keysOf(objects))
	if err != nil {
		return nil, p.failed(ctx, attempt{reason: ReasonUpgrade, doing: "find out what is deleted from release " + shown(h.reference)}, err)
	}
	result.Changes = append(result.Changes, gone...)
	result.Notes = hooksOf(made, before == nil)
	return result, p.addHandedOver(ctx, result, objects)
}

// currentOf returns the revision with which Helm compares the objects of the next one; nil if the next one is an
// installation.
func currentOf(history []*release.Release) *release.Release {
	if len(history) == 0 || !stands(revisionsOf(history)) {
		return nil
	}
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Info.Status == common.StatusDeployed {
			return history[i]
		}
	}
	return history[len(history)-1]
}

func revisionsOf(history []*release.Release) []revision {
	var result []revision
	for _, r := range history {
		result = append(result, revision{status: r.Info.Status})
	}
	return result
}

// rehearseBasics forecasts what an installation creates in addition to the objects of the release: its namespace, and the CRDs. Existing
// ones do not change.
func (p *pass) rehearseBasics(ctx context.Context, h *handle) ([]forecast.Change, error) {
	var wanted []apply.Object
	if p.config.CreateNamespace {
		namespace := namespaceOf(p.config.Namespace)
		namespace.SetLabels(map[string]string{"name": p.config.Namespace}) // like Helm
		wanted = append(wanted, apply.Object{Manifest: namespace})
	}
	loaded, err := p.chart.Load()
	if err != nil {
		return nil, err
	}
	for _, file := range loaded.CRDObjects() {
		definitions, err := documents.Split(string(file.File.Data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Filename, err)
		}
		for _, definition := range definitions {
			wanted = append(wanted, apply.Object{Manifest: definition})
		}
	}
	var changes []forecast.Change
	for _, o := range wanted {
		subject := cluster.SubjectOf(h.cluster, o.Manifest)
		if _, err := subject.Read(ctx); err == nil {
			continue
		}
		made := o.Manifest.DeepCopy()
		change := forecast.Change{Subject: subject, After: made}
		if err := h.cluster.Client().Create(ctx, made, client.FieldOwner(kube.ManagedFieldsManager)); err != nil {
			change.After, change.Err = nil, cluster.Refused("create", subject, err)
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// plan is what Helm writes.
type plan struct {
	// next is the revision of the objects, and before the one that it replaces; nil if there is none.
	next, before *release.Release
	objects      []apply.Object
	force        bool
}

// rehearseObjects makes Helm write objects one by one, as in an upgrade or installation, to a cluster that stores nothing.
func (h *handle) rehearseObjects(ctx context.Context, p plan) []forecast.Change {
	before := map[inventory.Key]apply.Object{}
	if p.before != nil {
		known, err := objectsOf(p.before, h.cluster.Mapper(), h.reference.Namespace)
		if err == nil { // Otherwise the objects are compared with themselves, as Helm does with objects that are new to it.
			for _, o := range known {
				before[o.Key()] = o
			}
		}
	}
	var changes []forecast.Change
	for _, o := range p.objects {
		original, known := before[o.Key()]
		if !known {
			original = o
		}
		changes = append(changes, h.rehearseObject(ctx, p, original, o))
	}
	return changes
}

func (h *handle) rehearseObject(ctx context.Context, p plan, original, next apply.Object) forecast.Change {
	change := forecast.Change{Subject: cluster.SubjectOf(h.cluster, next.Manifest)}
	var err error
	if change.Before, err = change.Subject.Read(ctx); isGone(err) {
		change.Before, err = nil, nil
	}
	if err != nil {
		change.Err = cluster.Refused("read", change.Subject, err)
		return change
	}
	change.After, err = h.write(p, original, next)
	if err == nil {
		return change
	}
	if change.Unchecked = forecast.Unchecked(change.Subject, err); change.Unchecked != "" {
		change.After = next.Manifest
		return change
	}
	change.After, change.Err = nil, cluster.Refused("write", change.Subject, err)
	return change
}

// write makes Helm write one object, and returns the answer.
func (h *handle) write(p plan, original, next apply.Object) (*unstructured.Unstructured, error) {
	before, err := h.build(original)
	if err != nil {
		return nil, err
	}
	targets, err := h.build(next)
	if err != nil {
		return nil, err
	}
	if err := targets.Visit(h.mark); err != nil {
		return nil, err
	}
	serverSide := p.next.ApplyMethod == string(release.ApplyMethodServerSideApply)
	_, err = h.kube.Update(before, targets,
		kube.ClientUpdateOptionForceReplace(p.force), kube.ClientUpdateOptionServerSideApply(serverSide && !p.force, false))
	if err != nil {
		return nil, err
	}
	return unstructuredOf(targets[0])
}

// build converts an object to the form that Helm works with.
func (h *handle) build(o apply.Object) (kube.ResourceList, error) {
	text, err := json.Marshal(o.Manifest.Object)
	if err != nil {
		return nil, err
	}
	list, err := h.kube.Build(bytes.NewReader(text), false)
	if err == nil && len(list) != 1 {
		return nil, fmt.Errorf("%s is not one object", o.Path)
	}
	return list, err
}

func unstructuredOf(info *resource.Info) (*unstructured.Unstructured, error) {
	if object, ok := info.Object.(*unstructured.Unstructured); ok {
		return object, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(info.Object)
	return &unstructured.Unstructured{Object: fields}, err
}

// doomed returns the objects of revisions that a job deletes: those that belong to the release, are not needed, and must not be
// kept.
func (h *handle) doomed(ctx context.Context, history []*release.Release, needed map[inventory.Key]bool) ([]forecast.Change, error) {
	var changes []forecast.Change
	seen := map[inventory.Key]bool{}
	for _, r := range history {
		found, err := objectsOf(r, h.cluster.Mapper(), h.reference.Namespace)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if seen[o.Key()] || needed[o.Key()] {
				continue
			}
			seen[o.Key()] = true
			if change, goes := h.foreseeDeletion(ctx, o); goes {
				changes = append(changes, change)
			}
		}
	}
	return changes, nil
}

// foreseeDeletion rehearses a deletion, by the rules of delete.
func (h *handle) foreseeDeletion(ctx context.Context, o apply.Object) (forecast.Change, bool) {
	change := forecast.Change{Subject: cluster.SubjectOf(h.cluster, o.Manifest)}
	live, err := change.Subject.Read(ctx)
	if isGone(err) {
		return change, false
	}
	if err != nil {
		change.Err = cluster.Refused("read", change.Subject, err)
		return change, true
	}
	if !h.mayDelete(o, live) {
		return change, false
	}
	change.Before = live
	if err := h.delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
		change.Err = err
	}
	return change, true
}

// hooksOf returns which hooks of a revision run.
func hooksOf(r *release.Release, installs bool) []string {
	wanted := []release.HookEvent{release.HookPreUpgrade, release.HookPostUpgrade}
	if installs {
		wanted = []release.HookEvent{release.HookPreInstall, release.HookPostInstall}
	}
	var names []string
	for _, hook := range r.Hooks {
		for _, event := range hook.Events {
			if event == wanted[0] || event == wanted[1] {
				names = append(names, fmt.Sprintf("%s %s (%s)", hook.Kind, hook.Name, event))
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"hooks of the chart run, and their effects are not shown: " + strings.Join(names, ", ")}
}
