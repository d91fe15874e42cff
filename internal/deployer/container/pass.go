// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/tenancy"
)

const (
	// recheck is how long to wait for an event before checking without one, in case an event was lost.
	recheck = time.Minute
	// storingRecheck replaces recheck while the pod stores its result: it may need more Secrets.
	storingRecheck = time.Second
)

// Codes of what an item waits for.
const (
	WaitingForPod         = "WaitingForPod"
	WaitingForEarlierPod  = "WaitingForEarlierPod"
	WaitingForNode        = "Unschedulable"
	WaitingForResult      = "WaitingForResult"
	WaitingForTermination = "PodTerminating"
)

// pass is one pass over the run of an item.
type pass struct {
	*Deployer
	work      deployer.Work
	config    *configuration
	status    *containerv1alpha1.ProviderStatus
	operation containerv1alpha1.Operation
	// run identifies the run, and origin is why the image runs.
	run, origin string
	// targetContent is the content of the target for the image, once read.
	targetContent []byte
}

// advance starts the run unless it has started, and returns its progress.
func (p *pass) advance(tenant context.Context) (deployer.Progress, error) {
	ctx := tenancy.Own(tenant)
	pod, err := p.pod(ctx, p.pods)
	if err != nil {
		return deployer.Progress{}, err
	}
	if pod == nil {
		// The pod may exist although the cache does not show it.
		if pod, err = p.pod(ctx, p.live); err != nil {
			return deployer.Progress{}, err
		}
	}
	switch {
	case pod == nil && p.status.PodStatus.Run == p.run:
		return p.lost(ctx)
	case pod == nil:
		return p.start(tenant)
	case pod.Annotations[inside.AnnotationRun] != p.run:
		wait, err := p.endOther(ctx, pod)
		return deployer.Progress{Waiting: p.waiting(wait), Recheck: recheck}, err
	}
	return p.progressOf(ctx, pod)
}

// pod reads the item's pod; nil if there is none.
func (p *pass) pod(ctx context.Context, reader client.Reader) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: p.namespaceOf(p.work.Item), Name: namesOf(p.work.Item).pod()}
	if err := reader.Get(ctx, key, pod); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read Pod %s: %w", key, err)
	}
	return pod, p.owned(pod, "Pod")
}

//espalier:rights deployer-container
//	get,create,patch,delete pods: each run is a pod with a finalizer

// start creates the pod, with the rights of the tenant if it runs in the tenant's namespace. If the pod exists already, an earlier
// attempt succeeded, and the next pass finds the pod.
func (p *pass) start(ctx context.Context) (deployer.Progress, error) {
	own := tenancy.Own(ctx)
	if wait, err := p.endFormer(own); err != nil || wait != nil {
		return deployer.Progress{Waiting: p.waiting(wait), Recheck: recheck}, err
	}
	made, err := p.provide(ctx)
	if err != nil {
		return deployer.Progress{}, err
	}
	pod := p.podOf(p.work.Item, p.config, made)
	if pod.Namespace != p.work.Item.Namespace {
		ctx = own
	}
	if err := p.client.Create(ctx, pod); err != nil {
		return deployer.Progress{}, p.refused(err)
	}
	return p.progressOf(own, pod)
}

// refused classifies the error of a creation. The API server always rejects an invalid pod, but may later accept one that a policy denies.
func (p *pass) refused(err error) error {
	err = fmt.Errorf("create Pod %s/%s: %w", p.namespaceOf(p.work.Item), namesOf(p.work.Item).pod(), err)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return failure.NewTerminal(failure.Details{
			Operation: "CreatePod", Reason: "PodRefused", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
		}, err)
	}
	return failure.NewRetryable(failure.Details{Operation: "CreatePod", Reason: "PodRefused"}, err)
}

// lost reports that the pod of the run has disappeared. The image does not run again, because its progress is
// unknown.
func (p *pass) lost(ctx context.Context) (deployer.Progress, error) {
	p.status.PodStatus.EndedAt = new(metav1.NewTime(p.work.Now))
	progress := deployer.Progress{ProviderStatus: p.status}
	own := namesOf(p.work.Item).input(p.run)
	if err := p.dropInputs(ctx, func(name string) bool { return strings.HasPrefix(name, own) }); err != nil {
		return progress, err
	}
	return progress, p.removed("")
}

// removed returns the error of a run whose pod was removed.
func (p *pass) removed(because string) error {
	return failure.Terminalf(failure.Details{Operation: "Run", Reason: "PodLost"},
		"Pod %s/%s was removed while it ran%s, so the progress of the image is unknown: start a new job",
		p.namespaceOf(p.work.Item), namesOf(p.work.Item).pod(), because)
}

// endOthers ends the pod of any earlier run before everything is removed. It returns what to wait for.
func (p *pass) endOthers(ctx context.Context) (*deployer.Reason, error) {
	p.wakers.remember(p.work.Item.UID, p.work.Wake)
	pod, err := p.pod(ctx, p.live)
	if err != nil || pod == nil {
		return nil, err
	}
	return p.endOther(ctx, pod)
}

// endOther ends the pod of an earlier run.
func (p *pass) endOther(ctx context.Context, pod *corev1.Pod) (*deployer.Reason, error) {
	if err := p.end(ctx, pod); err != nil {
		return nil, err
	}
	return &deployer.Reason{Code: WaitingForEarlierPod, Message: fmt.Sprintf(
		"Pod %s/%s of an earlier run is being deleted%s", pod.Namespace, pod.Name, onNode(pod))}, nil
}

func onNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return ""
	}
	return " on node " + pod.Spec.NodeName
}

// endFormer waits for the pod of an earlier controller, which has another name.
func (p *pass) endFormer(ctx context.Context) (*deployer.Reason, error) {
	former := p.status.PodStatus
	if former.Run != "" || former.LastRun == nil || former.PodName == "" || former.PodName == namesOf(p.work.Item).pod() {
		return nil, nil
	}
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: p.namespaceOf(p.work.Item), Name: former.PodName}
	if err := p.live.Get(ctx, key, pod); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if ended(pod) || pod.Labels[labelItemName] != labelValue(p.work.Item.Name) {
		return nil, nil
	}
	return &deployer.Reason{Code: WaitingForEarlierPod, Message: fmt.Sprintf(
		"Pod %s, which an earlier controller started for the deploy item, is still running%s", key, onNode(pod))}, nil
}

func (p *pass) waiting(reason *deployer.Reason) deployer.Reason {
	if reason == nil {
		return deployer.Reason{}
	}
	return *reason
}

// end deletes a pod, and releases it once nothing in it runs any more.
func (d *Deployer) end(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp == nil {
		if err := d.dropInputOf(ctx, pod); err != nil {
			return err
		}
		err := d.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete Pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	if pod.Spec.NodeName != "" && !ended(pod) || !slices.Contains(pod.Finalizers, Finalizer) {
		return nil
	}
	return d.removeFinalizer(ctx, pod)
}

// removeFinalizer removes the finalizer from a pod. The pod's resource version does not matter, because nothing starts a pod that has
// stopped or is being deleted; its UID does.
func (d *Deployer) removeFinalizer(ctx context.Context, pod *corev1.Pod) error {
	released := pod.DeepCopy()
	released.Finalizers = slices.DeleteFunc(released.Finalizers, func(s string) bool { return s == Finalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "finalizers": released.Finalizers}})
	if err != nil {
		return err
	}
	err = d.client.Patch(ctx, released, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove the finalizer of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// ended reports whether all containers of a pod have stopped for good. A pod deleted without a grace period counts: either its node
// has already stopped it, or a user who knows that the node is lost has deleted it by force, and no further status will come.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || erased(pod)
}

func erased(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

// grant creates the Secrets that the pod has requested because its state has grown.
func (p *pass) grant(ctx context.Context, pod *corev1.Pod) error {
	result, err := p.result(ctx)
	if err != nil || result == nil {
		return err
	}
	text, run, _ := strings.Cut(result.Annotations[inside.AnnotationNeeds], "/")
	needs, err := strconv.Atoi(text)
	if err != nil || run != p.run || needs < 1 || needs > inside.MaxStatePieces {
		return nil
	}
	for _, container := range pod.Spec.InitContainers {
		for _, variable := range container.Env {
			if variable.Name == inside.EnvStateSecrets {
				return p.makeRoom(ctx, variable.Value, needs)
			}
		}
	}
	return nil
}
