// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"fmt"

	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
)

// adopt prepares the objects that the deployer has applied itself for Helm, which takes over only objects marked as part of
// the release. They stay in the inventory until Helm has them, and keep the mark of their deploy item.
func (h *handle) adopt(ctx context.Context, known inventory.Inventory) error {
	entries := known.Entries()
	errs := make([]error, len(entries))
	cluster.Each(len(entries), func(i int) { errs[i] = h.adoptOne(ctx, entries[i]) })
	return cluster.Join(errs)
}

func (h *handle) adoptOne(ctx context.Context, entry inventory.Entry) error {
	subject := cluster.Subject{Cluster: h.cluster, GVK: inventory.GVK(entry), Key: inventory.ObjectKey(entry)}
	live, err := subject.Read(ctx)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return cluster.Refused("read", subject, err)
	}
	if entry.Policy == deployer.PolicyKeep || !h.owner.Has(entry, live) || belongsTo(h.reference, live) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         live.GetUID(),
		"labels":      map[string]string{managedByLabel: managedByHelm},
		"annotations": h.releaseAnnotations(),
	}})
	if err != nil {
		return fmt.Errorf("write the marks of the release for %s: %w", subject, err)
	}
	err = h.cluster.Client().Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(cluster.FieldManager))
	if isGone(err) {
		return nil
	}
	return cluster.Refused("hand over to Helm", subject, err)
}

// absorb adds the objects of a release to an inventory, so that the deployer then manages them.
func (h *handle) absorb(ctx context.Context, history []*release.Release, known *inventory.Inventory) error {
	for _, r := range history {
		objects, err := objectsOf(r, h.cluster.Mapper(), h.reference.Namespace)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if entry, found := known.Find(o.Key()); found && entry.Resource.UID != "" {
				continue
			}
			subject := cluster.SubjectOf(h.cluster, o.Manifest)
			live, err := subject.Read(ctx)
			if isGone(err) || err == nil && !belongsTo(h.reference, live) {
				continue
			}
			if err != nil {
				return cluster.Refused("read", subject, err)
			}
			entry := o.Entry()
			entry.Resource.UID = live.GetUID()
			known.Put(entry)
		}
	}
	return nil
}

// living returns the revisions with objects that may exist.
func living(history []*release.Release) []*release.Release {
	if len(history) == 0 {
		return nil
	}
	return append(replaced(history), history[len(history)-1])
}

// takeIn absorbs the former releases of an item that no longer has a release. It writes nothing to the cluster.
func (p *pass) takeIn(ctx context.Context) error {
	for _, reference := range p.state.former {
		err := p.withRelease(ctx, reference, func(h *handle) error {
			history, err := h.history()
			if err != nil || h.otherOwner(history) {
				return err
			}
			return h.absorb(ctx, living(history), &p.state.objects)
		})
		if err != nil {
			return p.failed(ctx, attempt{reason: ReasonUninstall, doing: "take over the objects of release " + shown(reference)}, err)
		}
	}
	return nil
}

// forgetReleases removes the records of former releases, once their objects are ours.
func (p *pass) forgetReleases(ctx context.Context) (*cluster.Wait, error) {
	for _, reference := range p.state.former {
		err := p.withRelease(ctx, reference, func(h *handle) error {
			history, err := h.history()
			if err != nil || h.otherOwner(history) {
				return err
			}
			return h.purge(history)
		})
		if err != nil {
			return nil, p.failed(ctx, attempt{reason: ReasonUninstall, doing: "remove the records of release " + shown(reference)}, err)
		}
		p.state.dropFormer(reference)
	}
	return nil, nil
}

// removeReleases uninstalls releases.
func (p *pass) removeReleases(
	ctx context.Context,
	references []helmv1alpha1.ReleaseReference,
	options helmv1alpha1.UninstallOptions,
) error {
	for _, reference := range references {
		err := p.withRelease(ctx, reference, func(h *handle) error { return h.remove(options) })
		if err != nil {
			return p.failed(ctx, attempt{reason: ReasonUninstall, doing: "uninstall release " + shown(reference)}, err)
		}
		p.state.dropFormer(reference)
		if p.state.release != nil && p.state.release.ReleaseReference == reference {
			p.state.release, p.state.workloads = nil, nil
		}
	}
	return nil
}

func shown(reference helmv1alpha1.ReleaseReference) string {
	return reference.Namespace + "/" + reference.Name
}

// withRelease opens a release for a function.
func (p *pass) withRelease(ctx context.Context, reference helmv1alpha1.ReleaseReference, do func(*handle) error) error {
	h, err := open(ctx, p.cluster, reference, inventory.OwnerOf(p.work.Item))
	if err != nil {
		return err
	}
	defer h.close()
	return do(h)
}
