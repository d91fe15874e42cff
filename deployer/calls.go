// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/target"
	"espalier.dev/internal/tenancy"
)

// call is a deployer call that works towards the end of a job.
type call struct {
	name string
	make func(context.Context, Work) (Progress, error)
}

// answer makes a call and adds its result to the facts. An error is a fact, too: the provider status that the deployer
// returns with it must not be lost.
func (k *kind) answer(ctx context.Context, item *lsv1alpha1.DeployItem, o *deployitem.Observed, c call) {
	var progress Progress
	err := k.inside(ctx, item, *o, func(ctx context.Context, work Work) (err error) {
		progress, err = c.make(ctx, work)
		return err
	}, c.name)
	progress.Waiting.Message = k.shown(ctx, item, progress.Waiting.Message)
	remember, bad := providerStatus(progress.ProviderStatus)
	exports, worse := exportsOf(progress)
	o.Remember = remember
	if progress.TakenOver != "" {
		k.recorder.Eventf(item, nil, corev1.EventTypeWarning, "TakenOver", c.name, "%s", loop.Note(progress.TakenOver))
	}
	o.Answer = &deployitem.Answer{
		Done: progress.Done, Waiting: progress.Waiting, Recheck: progress.Recheck, Exports: exports, Err: errors.Join(err, bad, worse),
		Unreachable: unreachable(err),
	}
}

// remove calls the deployer's Delete. If that fails, the error names the way out and the root.
func (k *kind) remove(ctx context.Context, item *lsv1alpha1.DeployItem, o *deployitem.Observed) {
	k.answer(ctx, item, o, call{name: "Delete", make: k.deployer.Delete})
	if o.Answer.Err != nil {
		o.Root = k.rootOf(ctx, item)
	}
}

// unreachable reports whether an error means that the target is currently unreachable.
func unreachable(err error) bool {
	return slices.Contains(
		[]string{target.ReasonUnreachable, target.ReasonSecretMissing, target.ReasonTokenRefused},
		failure.DetailsOf(err).Reason,
	)
}

func (k *kind) intend(ctx context.Context, item *lsv1alpha1.DeployItem, o deployitem.Observed) (*runtime.RawExtension, error) {
	var intention runtime.Object
	err := k.inside(ctx, item, o, func(ctx context.Context, work Work) (err error) {
		intention, err = k.deployer.Intend(ctx, work)
		return err
	}, "Intend")
	if err != nil {
		return nil, err
	}
	return providerStatus(intention)
}

// inside calls the deployer with a timeout, cancels the call as soon as its job ends or is replaced, and contains panics.
// The timeout ends before the item's deadline, so that the cause of a failure is reported in time.
func (k *kind) inside(
	ctx context.Context,
	item *lsv1alpha1.DeployItem,
	o deployitem.Observed,
	do func(context.Context, Work) error,
	name string,
) error {
	limit, short := k.opts.CallTimeout, false
	if !o.Deadline.IsZero() && o.Running() {
		left := o.Deadline.Sub(o.Now) * 9 / 10
		limit, short = min(limit, left), left < limit
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer k.calls.begin(item, cancel)()
	err := guarded(limited, name, func() error {
		work, err := k.work(limited, item, o)
		if err != nil {
			return err
		}
		return do(limited, work)
	})
	if short && isOver(limited) && errors.Is(err, context.DeadlineExceeded) && item.Status.LastError != nil {
		return &deployitem.CutOff{After: limit, Err: err}
	}
	if o.Running() {
		k.tellOfObstacle(ctx, item, name, err)
	}
	return err
}

// isOver reports whether the time of a call is over. A call may also be cancelled, because its job has ended.
func isOver(limited context.Context) bool {
	return errors.Is(context.Cause(limited), context.DeadlineExceeded)
}

// tellOfObstacle announces an obstacle: a target or a registry does not answer, rejects the credential, or lacks something that the item
// needs. It sends the event when the obstacle appears, long before the item's deadline. The end of a job reports the errors that end it.
func (k *kind) tellOfObstacle(ctx context.Context, item *lsv1alpha1.DeployItem, call string, err error) {
	reason := failure.DetailsOf(err).Reason
	if !failure.IsObstacle(err) && reason != lsv1alpha1.ReasonNoTargetFound {
		k.memory.complain(item.UID, "")
		return
	}
	if k.memory.complain(item.UID, reason) {
		err = k.confidential(ctx, item).Error(err)
		k.recorder.Eventf(item, nil, corev1.EventTypeWarning, reason, call, "%s", loop.Note(err.Error()))
	}
}

// tellOfMissingTarget announces that an item starts to wait for a missing Target.
func (k *kind) tellOfMissingTarget(item *lsv1alpha1.DeployItem, d deployitem.Decision) {
	if !d.Wait || d.Why.Code != lsv1alpha1.ReasonNoTargetFound || !k.memory.complain(item.UID, d.Why.Code) {
		return
	}
	k.recorder.Eventf(item, nil, corev1.EventTypeWarning, d.Why.Code, "FindTarget", "%s", loop.Note(d.Why.Message))
}

// guarded turns a panic into an error that ends the job. The panic value may contain anything, so it is not shown; the log
// has the stack.
func guarded(ctx context.Context, name string, do func() error) (err error) {
	defer func() {
		thrown := recover()
		if thrown == nil {
			return
		}
		log.FromContext(ctx).Error(fmt.Errorf("panic of type %T", thrown), "The deployer panicked", "call", name, "stack", string(debug.Stack()))
		err = internalProblem(name, fmt.Errorf("bug in the deployer: %s panicked with a %T; see its log", name, thrown))
	}()
	return do()
}

func internalProblem(operation string, cause error) error {
	return failure.NewTerminal(failure.Details{
		Operation: operation, Reason: "InternalProblem", Codes: []string{string(lsv1alpha1.ErrorInternalProblem)},
	}, cause)
}

func (k *kind) work(ctx context.Context, item *lsv1alpha1.DeployItem, o deployitem.Observed) (Work, error) {
	key := client.ObjectKeyFromObject(item)
	work := Work{
		Item: item.DeepCopy(), Deadline: o.Deadline, Now: o.Now,
		Wake: func() { k.queue.wake(key) },
		ClusterFor: func(ctx context.Context, name string) (*target.Cluster, error) {
			_, cluster, err := k.clusterOf(ctx, client.ObjectKey{Namespace: key.Namespace, Name: name})
			return cluster, err
		},
	}
	if item.Spec.Target == nil {
		return work, nil
	}
	var err error
	work.Target, work.Cluster, err = k.clusterOf(ctx, client.ObjectKey{Namespace: key.Namespace, Name: item.Spec.Target.Name})
	return work, err
}

// targets is the resource of Targets, for checks of permissions.
var targets = lsv1alpha1.SchemeGroupVersion.WithResource("targets").GroupResource()

func (k *kind) clusterOf(ctx context.Context, key client.ObjectKey) (*lsv1alpha1.Target, *target.Cluster, error) {
	t, err := readTarget(ctx, k.client, key)
	if err != nil {
		return nil, nil, err
	}
	if t == nil {
		return nil, nil, &failure.Wait{Reason: lsv1alpha1.ReasonNoTargetFound, For: "Target " + key.String()}
	}
	if err := tenancy.From(ctx).MayGet(ctx, targets, key); err != nil {
		return nil, nil, fmt.Errorf("use Target %s: %w", key, err)
	}
	if k.opts.Clusters == nil || t.Spec.Type != lsv1alpha1.TargetTypeKubernetesCluster {
		return t, nil, nil
	}
	cluster, err := k.opts.Clusters.For(ctx, t)
	return t, cluster, err
}

// providerStatus converts a deployer's provider status to the form that the API stores.
func providerStatus(object runtime.Object) (*runtime.RawExtension, error) {
	if object == nil {
		return nil, nil
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, internalProblem("StoreProviderStatus", fmt.Errorf("the provider status cannot be converted to JSON: %w", err))
	}
	var is struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &is); err != nil || is.APIVersion == "" || is.Kind == "" {
		return nil, internalProblem(
			"StoreProviderStatus",
			errors.New("the provider status has no apiVersion and kind; a deployer must set both"),
		)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// repairAt returns the time of the item's next repair; zero if there is none.
func (k *kind) repairAt(item *lsv1alpha1.DeployItem) time.Time {
	if !k.repairs(item) {
		return time.Time{}
	}
	last := k.memory.lastRepair(item.UID)
	if times := item.Status.TransitionTimes; times != nil && times.FinishedTime != nil && times.FinishedTime.After(last) {
		last = times.FinishedTime.Time
	}
	next, ok := k.repairer.NextRepair(item, last)
	if !ok {
		return time.Time{}
	}
	return next
}

func (k *kind) repairs(item *lsv1alpha1.DeployItem) bool {
	return k.repairer != nil && item.Spec.Type == k.deployer.Type() && deployitem.Repairable(item)
}
