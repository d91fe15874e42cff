// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/api/deployer"
	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	manifestv1alpha2 "espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/helm/render"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/prune"
)

// render renders the chart once per job: templates may be random. Templates see the version and the kinds of the target, and
// lookup reads from it.
func (p *pass) render(ctx context.Context) error {
	memory := p.session.Memory
	if memory.rendered {
		return nil
	}
	objects, seen, err := p.renderObjects(ctx)
	if err != nil {
		return err
	}
	label(objects, inventory.OwnerOf(p.work.Item))
	memory.objects, memory.seen, memory.rendered = objects, seen, true
	return nil
}

// renderObjects returns the objects that the chart renders, and the data that its templates see.
func (p *pass) renderObjects(ctx context.Context) ([]apply.Object, map[string]any, error) {
	way := connect(ctx, p.cluster, p.config.Namespace)
	capabilities, err := way.capabilities()
	if err != nil {
		return nil, nil, p.failed(ctx, attempt{reason: ReasonRender, doing: "get the version and kinds of the target"}, err)
	}
	result, err := render.Render(ctx, render.Input{
		Package: p.chart, Values: p.config.values, Capabilities: capabilities, Target: way.config,
		SkipSchema: p.config.install.SkipSchemaValidation,
		Release:    common.ReleaseOptions{Name: p.config.Name, Namespace: p.config.Namespace, IsInstall: true},
	})
	if err != nil {
		return nil, nil, p.unrendered(ctx, err)
	}
	objects, err := Objects(result, p.config.ProviderConfiguration)
	if err != nil {
		return nil, nil, p.unrendered(ctx, err)
	}
	return objects, result.Values, nil
}

// label puts the label of this deployer on objects, in addition to the one that all deployers set. Users select by it, and
// objects of an earlier controller have it.
func label(objects []apply.Object, owner inventory.Owner) {
	for _, o := range objects {
		labels := o.Manifest.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[helmv1alpha1.ManagedDeployItemLabel] = owner.Label()
		o.Manifest.SetLabels(labels)
	}
}

// unrendered returns the error of a chart that cannot be rendered. Only what depends on the target may change later.
func (p *pass) unrendered(ctx context.Context, err error) error {
	failed := p.failed(ctx, attempt{reason: ReasonRender, doing: "render chart " + p.chart.Metadata.Name}, err)
	if p.chart.Looks() || ctx.Err() != nil {
		return failed
	}
	return asTerminal(failed)
}

// Objects converts a rendered chart to objects to apply: everything is managed, except objects that the chart requires to stay, and the
// namespace if the configuration requires one.
func Objects(result *render.Result, config helmv1alpha1.ProviderConfiguration) ([]apply.Object, error) {
	found, err := result.Objects()
	if err != nil {
		return nil, err
	}
	var objects []apply.Object
	named := false
	for _, each := range found {
		policy := deployer.PolicyManage
		if each.Kept {
			policy = deployer.PolicyKeep
		}
		named = named || each.Manifest.GetKind() == "Namespace" && each.Manifest.GetName() == config.Namespace
		objects = append(objects, apply.Object{Manifest: each.Manifest, Path: each.Source, Policy: policy})
	}
	if config.CreateNamespace && !named {
		objects = append(objects, apply.Object{Manifest: namespaceOf(config.Namespace), Path: "createNamespace", Policy: deployer.PolicyKeep})
	}
	return objects, check(objects)
}

func namespaceOf(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
}

// check reports problems of objects before any of them is sent.
func check(objects []apply.Object) error {
	if len(objects) > apply.MaxObjects {
		return fmt.Errorf("the chart has %d objects, at most %d are allowed: use several deploy items", len(objects), apply.MaxObjects)
	}
	var problems []string
	apply.Validate(objects, func(path, format string, args ...any) {
		problems = append(problems, path+": "+fmt.Sprintf(format, args...))
	})
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("the chart renders objects that cannot be applied: %s", strings.Join(problems[:min(len(problems), maxNamed)], "; "))
}

// intendTemplate adds the objects about to be applied, and those of former releases, to the inventory.
func (p *pass) intendTemplate(ctx context.Context) error {
	p.state.intendTemplate()
	if err := p.takeIn(ctx); err != nil {
		return err
	}
	objects, _ := apply.Place(p.session.Memory.objects, p.cluster.Mapper(), p.config.Namespace)
	for _, o := range objects {
		p.state.objects.Intend(o.Entry())
	}
	return nil
}

func (p *pass) deployTemplate(ctx context.Context) (*cluster.Wait, error) {
	return p.session.Walk(ctx, p.work.Wake, p.apply, p.pruneObjects, p.forgetReleases, p.awaitReadiness, p.awaitChecks, p.readExports)
}

func (p *pass) applier() apply.Applier {
	strategy := manifestv1alpha2.UpdateStrategy(p.config.UpdateStrategy)
	return apply.Applier{Cluster: p.cluster, Owner: inventory.OwnerOf(p.work.Item), Strategy: strategy}
}

func (p *pass) apply(ctx context.Context) (*cluster.Wait, error) {
	run := apply.Run{
		Applier: p.applier(), Objects: p.session.Memory.objects, DefaultNamespace: p.config.Namespace,
		Inventory: &p.state.objects, Memory: p.session.Memory.applied,
	}
	wait, err := run.Pass(ctx)
	p.taken = append(p.taken, run.Taken...)
	return wait, err
}

// pruneObjects removes objects that the deployer has applied and the chart no longer has.
func (p *pass) pruneObjects(ctx context.Context) (*cluster.Wait, error) {
	applied := p.session.Memory.applied
	run := p.pruning(func(key inventory.Key) bool { _, stays := applied[key]; return stays }, applied.UIDs())
	return run.Pass(ctx)
}

// pruning removes the objects of the inventory that neither stay nor are spared.
func (p *pass) pruning(stays func(inventory.Key) bool, spared map[types.UID]bool) prune.Run {
	return prune.Run{
		Cluster: p.cluster, Find: p.find, Owner: inventory.OwnerOf(p.work.Item),
		Groups: p.config.DeletionGroupsDuringUpdate, Inventory: &p.state.objects, Stays: stays, Spared: spared,
	}
}
