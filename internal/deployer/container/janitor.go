// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/deployitem"
)

// janitor ends pods that deploy items no longer need, and removes the leftovers of items that were released without their deployer:
// deleted without uninstalling, or together with their namespace. It uses only the existing objects and no memory, so it also handles
// pods that started before the process.
type janitor struct{ *Deployer }

// Reconcile cleans up after one deploy item.
func (j *janitor) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pods := &corev1.PodList{}
	err := j.pods.List(ctx, pods, client.MatchingLabels{
		labelItemName: labelValue(request.Name), labelItemNamespace: labelValue(request.Namespace),
	})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list the pods of deploy item %s: %w", request, err)
	}
	item, err := j.item(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		key, uid, ours := itemOf(pod)
		if !ours || key != request.NamespacedName || item != nil && item.UID == uid && needed(item, pod) {
			continue
		}
		if err := j.end(ctx, pod); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, j.sweep(ctx, request.NamespacedName, item)
}

// item reads a deploy item; nil if it does not exist. Because the result decides what is deleted, the item is read from the API server,
// unless there is nothing to delete: then the cache suffices.
func (j *janitor) item(ctx context.Context, key client.ObjectKey) (*lsv1alpha1.DeployItem, error) {
	item := &lsv1alpha1.DeployItem{}
	err := j.client.Get(ctx, key, item)
	if err == nil {
		var pod corev1.Pod
		at := client.ObjectKey{Namespace: j.namespaceOf(item), Name: namesOf(item).pod()}
		if found := j.pods.Get(ctx, at, &pod); apierrors.IsNotFound(found) || found == nil && needed(item, &pod) {
			return item, nil
		}
	}
	if client.IgnoreNotFound(err) == nil {
		err = j.live.Get(ctx, key, item)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read deploy item %s: %w", key, err)
	}
	return item, nil
}

// needed reports whether an item still needs a pod: because it runs what the item currently requires, or because it shows how
// the last run failed.
func needed(item *lsv1alpha1.DeployItem, pod *corev1.Pod) bool {
	run := pod.Annotations[inside.AnnotationRun]
	if pod.Annotations[annotationOrigin] == originContinuous {
		status, err := readStatus(item)
		told := err == nil && status.PodStatus.Run == run && status.PodStatus.EndedAt != nil
		return deployitem.Repairable(item) && pod.Annotations[annotationSpec] == specHash(item) && !told
	}
	if run != runOf(item, operationOf(item)) {
		return false
	}
	return deployitem.HasWork(item) || pod.Status.Phase == corev1.PodFailed && pod.DeletionTimestamp == nil
}

// sweep removes the objects of former deploy items with a name. The Secret for the result identifies each of them: it is created first and
// deleted last.
func (j *janitor) sweep(ctx context.Context, key client.ObjectKey, item *lsv1alpha1.DeployItem) error {
	if item != nil {
		return nil
	}
	left, err := j.leftovers(ctx, client.MatchingLabels{
		labelItemName: labelValue(key.Name), labelItemNamespace: labelValue(key.Namespace),
	})
	if err != nil {
		return err
	}
	for _, each := range left {
		if each.item != key {
			continue
		}
		if err := j.cleanUp(ctx, each.namespace, string(each.uid)); err != nil {
			return err
		}
	}
	return nil
}

// leftover identifies an item that has, or had, objects.
type leftover struct {
	namespace string
	item      client.ObjectKey
	uid       types.UID
}

func (j *janitor) leftovers(ctx context.Context, labels client.MatchingLabels) ([]leftover, error) {
	all := client.MatchingLabels{labelManaged: managed, labelType: typeResult, labelIdentity: j.options.Identity}
	var result []leftover
	for _, namespace := range j.podNamespaces() {
		found := &metav1.PartialObjectMetadataList{}
		found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if err := j.live.List(ctx, found, client.InNamespace(namespace), all, labels); err != nil {
			return nil, fmt.Errorf("list the Secrets of deploy items: %w", err)
		}
		for i := range found.Items {
			if key, uid, ours := itemOf(&found.Items[i]); ours {
				result = append(result, leftover{namespace: found.Items[i].Namespace, item: key, uid: uid})
			}
		}
	}
	return result, nil
}

// podNamespaces returns the namespaces in which pods run; an empty string means all.
func (d *Deployer) podNamespaces() []string {
	switch {
	case d.options.Namespace != "":
		return []string{d.options.Namespace}
	case len(d.options.Namespaces) > 0:
		return d.options.Namespaces
	}
	return []string{metav1.NamespaceAll}
}

// sweepEvery is how often, besides at the start, the janitor looks for objects without an item, left by items that were
// released while no process ran.
const sweepEvery = time.Hour

// round cleans up objects of items that are gone, or whose name now belongs to another item.
func (j *janitor) round(ctx context.Context) error {
	left, err := j.leftovers(ctx, nil)
	if err != nil {
		return err
	}
	for _, each := range left {
		item := &metav1.PartialObjectMetadata{}
		item.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("DeployItem"))
		err := j.live.Get(ctx, each.item, item)
		switch {
		case err == nil && item.UID == each.uid:
			continue
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("read deploy item %s: %w", each.item, err)
		}
		if err := j.cleanUp(ctx, each.namespace, string(each.uid)); err != nil {
			return err
		}
	}
	return nil
}

// rounds runs the janitor's rounds until the process ends.
func (j *janitor) rounds(ctx context.Context, failed func(error)) error {
	timer := time.NewTicker(sweepEvery)
	defer timer.Stop()
	for {
		if err := j.round(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
	}
}
