// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/decision"
	"espalier.dev/internal/deployer/helm/render"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/documents"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/prune"
)

// WaitingForHelm means that another client is working on the release.
const WaitingForHelm = "WaitingForHelm"

func (p *pass) deployRelease(ctx context.Context) (*cluster.Wait, error) {
	return p.session.Walk(ctx, p.work.Wake,
		p.settle, p.sweepReplaced, p.pruneHandedOver, p.removeFormer, p.awaitReadiness, p.awaitChecks, p.runTests, p.readExports)
}

// settle brings the release to the wanted revision. It runs once per job, unless objects disappear.
func (p *pass) settle(ctx context.Context) (wait *cluster.Wait, err error) {
	if p.session.Memory.current != nil {
		p.show(p.session.Memory.current)
		return nil, nil
	}
	err = p.withRelease(ctx, p.config.reference(), func(h *handle) (err error) {
		wait, err = p.bringAbout(ctx, h)
		return err
	})
	return wait, err
}

// bringAbout decides the next operation on the release, and executes it.
func (p *pass) bringAbout(ctx context.Context, h *handle) (*cluster.Wait, error) {
	history, d, err := p.resolve(ctx, h)
	if err != nil {
		return nil, err
	}
	memory := p.session.Memory
	switch d.course {
	case await:
		return p.awaitOther(h, history, d), nil
	case leave:
		memory.current = history[len(history)-1]
		if _, err := h.restore(memory.current, memory.applied); err != nil {
			memory.current = nil
			return nil, p.failed(ctx, attempt{reason: ReasonUpgrade, doing: "restore the objects of release " + shown(h.reference)}, err)
		}
	default:
		made, err := p.operate(ctx, h, d, history)
		if err != nil {
			return nil, err
		}
		history = append(history, made)
		memory.current = made
	}
	memory.replaced = replaced(history)
	memory.upgraded = d.course == upgrade || d.course == leave && follows(memory.replaced)
	return nil, p.takeNote(h)
}

// resolve reads the history of the release and decides. A release that this item has lost is an error.
func (p *pass) resolve(ctx context.Context, h *handle) ([]*release.Release, resolution, error) {
	doing := attempt{reason: ReasonInstall, doing: "read the records of release " + shown(h.reference)}
	history, err := h.history()
	if err != nil {
		return nil, resolution{}, p.failed(ctx, doing, err)
	}
	if err := p.lost(h, history); err != nil {
		return nil, resolution{}, err
	}
	f, err := h.factsOf(history, p.work.Now, func(r *release.Release) (bool, error) { return h.same(ctx, r, p.wish()) })
	if err != nil {
		return nil, resolution{}, p.failed(ctx, doing, err)
	}
	return history, decide(f), nil
}

func (p *pass) wish() wish { return wish{config: p.config, chart: p.chart} }

// operate makes Helm install or upgrade.
func (p *pass) operate(ctx context.Context, h *handle, d resolution, history []*release.Release) (*release.Release, error) {
	doing := attempt{reason: ReasonInstall, doing: "install release " + shown(h.reference)}
	run, skip := h.install, p.config.install.SkipSchemaValidation
	if d.course == upgrade {
		doing = attempt{reason: ReasonUpgrade, doing: "upgrade release " + shown(h.reference)}
		run, skip = h.upgrade, p.config.upgrade.SkipSchemaValidation
	}
	if err := p.checkValues(ctx, skip); err != nil {
		return nil, p.failed(ctx, doing, err)
	}
	next := 1
	if len(history) > 0 {
		last := history[len(history)-1]
		next = last.Version + 1
		if d.recover {
			if err := h.recover(last); err != nil {
				return nil, p.failed(ctx, doing, err)
			}
		}
	}
	if h.otherOwner(history) {
		maker := called(makerOf(history[len(history)-1]))
		p.taken = append(p.taken, fmt.Sprintf("release %s was managed by %s", shown(h.reference), maker))
	}
	if err := h.adopt(ctx, p.state.objects); err != nil {
		return nil, err
	}
	made, err := run(p.wish(), next)
	if err != nil {
		doing.made = made
		return nil, p.failed(ctx, doing, err)
	}
	return made, nil
}

// checkValues validates the values with the schemas of the chart, and the chart with the version of the target, before
// anything is touched.
func (p *pass) checkValues(ctx context.Context, skipSchema bool) error {
	capabilities, err := connect(ctx, p.cluster, p.config.Namespace).capabilities()
	if err != nil {
		return err
	}
	p.session.Memory.seen, err = render.Values(render.Input{
		Package: p.chart, Values: p.config.values, Capabilities: capabilities, SkipSchema: skipSchema,
		Release: common.ReleaseOptions{Name: p.config.Name, Namespace: p.config.Namespace, Revision: 1, IsInstall: true},
	})
	return err
}

// awaitOther waits for the end of another client's operation, through events of its record.
func (p *pass) awaitOther(h *handle, history []*release.Release, d resolution) *cluster.Wait {
	last := history[len(history)-1]
	record := cluster.Subject{
		Cluster: p.cluster,
		GVK:     schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
		Key: client.ObjectKey{
			Namespace: h.reference.Namespace,
			Name:      fmt.Sprintf("sh.helm.release.v1.%s.v%d", h.reference.Name, last.Version),
		},
	}
	p.recheck = max(d.until.Sub(p.work.Now), time.Second)
	return &cluster.Wait{
		On: []cluster.Subject{record},
		Reason: decision.Reason{Code: WaitingForHelm, Message: fmt.Sprintf(
			"another client is working on release %s: its revision %d is %s; it counts as abandoned at %s",
			shown(h.reference), last.Version, last.Info.Status, d.until.UTC().Format(time.RFC3339),
		)},
	}
}

// takeNote records the objects of the current revision. Their readiness is still unknown.
func (p *pass) takeNote(h *handle) error {
	memory := p.session.Memory
	objects, err := objectsOf(memory.current, p.cluster.Mapper(), h.reference.Namespace)
	if err != nil {
		memory.current = nil
		return err
	}
	memory.objects = objects
	for _, o := range objects {
		if _, known := memory.applied[o.Key()]; !known {
			memory.applied[o.Key()] = unseen(p.cluster, o)
		}
	}
	p.show(memory.current)
	return nil
}

// show puts the release into the status.
func (p *pass) show(current *release.Release) {
	p.state.release = statusOf(p.config.reference(), current)
	p.state.workloads = workloadsOf(p.session.Memory.objects)
}

// sweepReplaced removes objects of earlier revisions that Helm does not remove: those of failed or abandoned revisions, and
// those that it could not read.
func (p *pass) sweepReplaced(ctx context.Context) (*cluster.Wait, error) {
	memory := p.session.Memory
	if len(memory.replaced) == 0 {
		return nil, nil
	}
	err := p.withRelease(ctx, p.config.reference(), func(h *handle) error { return h.sweep(memory.replaced, keysOf(memory.objects)) })
	if err != nil {
		return nil, p.failed(ctx, attempt{reason: ReasonUpgrade, doing: "remove objects of earlier revisions of release " + shown(p.config.reference())}, err)
	}
	memory.replaced = nil
	return nil, nil
}

// pruneHandedOver removes the objects that the deployer applied itself, before the item had a release, and that the release
// lacks. The other objects then belong to Helm; CRDs do not, because Helm does not delete them. Groups are
// for templates and have no effect here: a group with all objects of a kind includes what Helm has just installed.
func (p *pass) pruneHandedOver(ctx context.Context) (*cluster.Wait, error) {
	if p.state.objects.Len() == 0 {
		return nil, nil
	}
	stay, err := p.staying(p.session.Memory.objects)
	if err != nil {
		return nil, err
	}
	run := p.handedOver(stay)
	if wait, err := run.Pass(ctx); wait != nil || err != nil {
		return wait, err
	}
	for key := range stay {
		p.state.objects.Drop(key)
	}
	return nil, nil
}

// staying returns the objects of a release, and the CRDs in the chart.
func (p *pass) staying(objects []apply.Object) (map[inventory.Key]bool, error) {
	stay := keysOf(objects)
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
			stay[inventory.KeyOf(definition)] = true
		}
	}
	return stay, nil
}

func (p *pass) handedOver(stay map[inventory.Key]bool) prune.Run {
	return prune.Run{
		Cluster: p.cluster, Find: p.find, Owner: inventory.OwnerOf(p.work.Item),
		Inventory: &p.state.objects,
		Stays:     func(key inventory.Key) bool { return stay[key] },
	}
}

// removeFormer uninstalls the item's releases under other names.
func (p *pass) removeFormer(ctx context.Context) (*cluster.Wait, error) {
	return nil, p.removeReleases(ctx, p.state.former, p.config.uninstall)
}

// awaitReadiness waits for the objects. Objects of a release that have disappeared are restored.
func (p *pass) awaitReadiness(ctx context.Context) (*cluster.Wait, error) {
	memory := p.session.Memory
	if p.config.ReadinessChecks.DisableDefault {
		return nil, nil
	}
	wait, err := memory.applied.AwaitReady(ctx, p.cluster)
	if apierrors.IsNotFound(err) {
		memory.current, memory.applied = nil, apply.Memory{}
	}
	return wait, err
}
