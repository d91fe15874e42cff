// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	"espalier.dev/internal/deployer/helm/render"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
)

// remove uninstalls the release. Helm forgets objects that it could not read, so its records are kept until everything of all revisions has
// been deleted. A release that another deploy item has taken over stays.
func (h *handle) remove(options helmv1alpha1.UninstallOptions) error {
	history, err := h.history()
	if err != nil || len(history) == 0 || h.otherOwner(history) {
		return err
	}
	if last := history[len(history)-1]; last.Info.Status != common.StatusUninstalled {
		if err := h.uninstall(options); err != nil {
			return err
		}
	}
	if err := h.sweep(history, nil); err != nil {
		return err
	}
	return h.purge(history)
}

func (h *handle) uninstall(options helmv1alpha1.UninstallOptions) error {
	run := action.NewUninstall(h.actions)
	run.KeepHistory = true
	run.WaitStrategy, run.WaitOptions = waitFor(options.Wait), h.waitOptions()
	run.Timeout = h.timeout(false)
	response, err := run.Run(h.reference.Name)
	if err == nil {
		return nil
	}
	if told := h.log.told(); told != "" {
		err = fmt.Errorf("%w: %s", err, told)
	}
	if response != nil {
		if hook := failedHook(asRelease(response.Release)); hook != "" {
			err = fmt.Errorf("%s: %w", hook, err)
		}
	}
	return err
}

// sweep deletes the objects of revisions that belong to the release and that no current revision needs.
func (h *handle) sweep(history []*release.Release, needed map[inventory.Key]bool) error {
	var objects []apply.Object
	seen := map[inventory.Key]bool{}
	for _, r := range history {
		found, err := objectsOf(r, h.cluster.Mapper(), h.reference.Namespace)
		if err != nil {
			return err
		}
		for _, o := range found {
			if key := o.Key(); !seen[key] && !needed[key] {
				seen[key] = true
				objects = append(objects, o)
			}
		}
	}
	errs := make([]error, len(objects))
	cluster.Each(len(objects), func(i int) { errs[i] = h.delete(h.ctx, objects[i]) })
	return cluster.Join(errs)
}

// delete deletes an object if it belongs to the release and need not be kept.
func (h *handle) delete(ctx context.Context, o apply.Object) error {
	subject := cluster.SubjectOf(h.cluster, o.Manifest)
	live, err := subject.Read(ctx)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return cluster.Refused("read", subject, err)
	}
	if !h.mayDelete(o, live) {
		return nil
	}
	uid := live.GetUID()
	err = h.cluster.Client().Delete(ctx, live, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if isGone(err) || apierrors.IsConflict(err) {
		return nil
	}
	return cluster.Refused("delete", subject, err)
}

// mayDelete reports whether an object belongs to the release, and need neither be kept nor is already being deleted.
func (h *handle) mayDelete(o apply.Object, live *unstructured.Unstructured) bool {
	return belongsTo(h.reference, live) && o.Policy != deployer.PolicyKeep && !render.IsKept(live) && live.GetDeletionTimestamp() == nil
}

func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
