// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/pipeline"
)

//espalier:rights pipelines
//	patch pipelines,pipelines/status: finalizers, annotations and status of what it works on

// Act executes one effect. It only starts promotions and withdrawals.
func (k *kind) Act(ctx context.Context, p *pipelines.Pipeline, o pipeline.Observed, effect pipeline.Effect) (pipeline.Observed, error) {
	switch e := effect.(type) {
	case pipeline.AddFinalizer:
		o.Finalizer = true
		return o, loop.PatchMetadata(ctx, k.cluster, p, func(m metav1.Object) { m.SetFinalizers(append(m.GetFinalizers(), pipeline.Finalizer)) })
	case pipeline.RemoveFinalizer:
		o.Finalizer = false
		return o, loop.PatchMetadata(ctx, k.cluster, p, func(m metav1.Object) {
			m.SetFinalizers(slices.DeleteFunc(slices.Clone(m.GetFinalizers()), func(name string) bool { return name == pipeline.Finalizer }))
		})
	case pipeline.RemoveRequest:
		answered := func(r pipeline.Request) bool { return r.Annotation == e.Annotation && r.ID == e.ID }
		o.Requests = slices.DeleteFunc(slices.Clone(o.Requests), answered)
		return o, loop.PatchMetadata(ctx, k.cluster, p, func(m metav1.Object) {
			removeAnnotations(m, e.Annotation, pipeline.RequesterOf(e.Annotation))
		})
	case pipeline.Promote:
		return k.begin(p, o, e.ID, k.promotion(p.DeepCopy(), e)), nil
	case pipeline.Withdraw:
		return k.begin(p, o, e.ID, k.pulls.withdrawal(p.Namespace, e)), nil
	case pipeline.Announce:
		if err := k.tellNamespace(ctx, p, e.News); err != nil {
			return o, err
		}
		k.tell(p, e.News)
		return o, nil
	default:
		return o, fmt.Errorf("unknown effect %T: this is a bug in the controller", effect)
	}
}

// begin starts an attempt and returns the facts with it.
func (k *kind) begin(p *pipelines.Pipeline, o pipeline.Observed, id pipeline.AttemptID, t task) pipeline.Observed {
	owner := client.ObjectKeyFromObject(p)
	k.attempts.start(owner, id, t)
	o.Attempts = maps.Clone(o.Attempts)
	if o.Attempts == nil {
		o.Attempts = map[pipeline.AttemptID]pipeline.Attempt{}
	}
	o.Attempts[id] = pipeline.Attempt{State: pipeline.AttemptRunning}
	return o
}

// promotion returns the task of an attempt to promote. The task needs its own copy of the pipeline: the pass continues concurrently.
func (k *kind) promotion(p *pipelines.Pipeline, e pipeline.Promote) task {
	switch {
	case e.Strategy.PullRequest != nil:
		return k.pulls.promotion(p, e)
	case e.Strategy.Installation != nil:
		return task{[]pool{k.others}, func(ctx context.Context) (pipeline.Result, error) { return k.installer.install(ctx, p, e) }}
	default:
		return task{[]pool{k.others}, func(ctx context.Context) (pipeline.Result, error) { return k.notifier.notify(ctx, p, e) }}
	}
}

func removeAnnotations(m metav1.Object, names ...string) {
	annotations := maps.Clone(m.GetAnnotations())
	for _, name := range names {
		delete(annotations, name)
	}
	m.SetAnnotations(annotations)
}

// tell announces transitions: one Event each, and the metrics. An attempt implies that the promotion was needed, so the need has a separate
// Event only if another transition occurs in between.
func (k *kind) tell(p *pipelines.Pipeline, news []pipeline.News) {
	for i, n := range news {
		count(p, n)
		if n.From == "" && n.To == pipelines.PromotionUnattempted && attemptedAtOnce(n.Environment, news[i+1:]) {
			continue
		}
		kind := corev1.EventTypeNormal
		if n.Warning {
			kind = corev1.EventTypeWarning
		}
		k.events.Eventf(p, nil, kind, n.Reason, eventAction, "%s", n.Message)
	}
}

//espalier:rights pipelines
//	get namespaces: to name the pull requests that stay open when a namespace is deleted

// tellNamespace records an Event about the namespace for each pull request that stays open after the pipeline is deleted with its
// namespace. The namespace rejects an Event about the pipeline; an Event about a namespace is stored in another one.
func (k *kind) tellNamespace(ctx context.Context, p *pipelines.Pipeline, news []pipeline.News) error {
	left := slices.DeleteFunc(slices.Clone(news), func(n pipeline.News) bool { return n.Reason != pipeline.ReasonLeftOpen })
	if len(left) == 0 || p.DeletionTimestamp.IsZero() {
		return nil
	}
	ends, err := k.namespaces.Ends(ctx, p.Namespace)
	if apierrors.IsForbidden(err) {
		return nil // the deletion must not wait for the right to say more
	}
	if err != nil || !ends {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}}
	for _, n := range left {
		k.events.Eventf(namespace, p, corev1.EventTypeWarning, pipeline.ReasonLeftOpen, "Delete",
			"pipeline %s is deleted with its namespace: %s", p.Name, n.Message)
	}
	return nil
}

func attemptedAtOnce(environment string, later []pipeline.News) bool {
	return slices.ContainsFunc(later, func(n pipeline.News) bool {
		return n.Environment == environment && n.From == pipelines.PromotionUnattempted && n.To == pipelines.PromotionAttempting
	})
}

const eventAction = "Promote"
