// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/freshness"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/run"
)

const (
	finalizer    = "test.espalier.dev/sample"
	sampleLabel  = "test.espalier.dev/sample"
	jobLabel     = "test.espalier.dev/job"
	completedKey = "completed"
	operation    = lsv1alpha1.OperationAnnotation
	failForGood  = "for good"
	failForNow   = "until it rains"
	rain         = "rain"
	// secret is an annotation with a value that no message may show.
	secret = "test.espalier.dev/secret"
)

type sampleLoop = loop.Loop[*Sample, facts, lsv1alpha1.Phase, effect]

// sampleKind is the shell of the small kind: all of its reads and writes.
type sampleKind struct {
	cluster client.Client
	live    client.Reader
}

func setupSample(mgr ctrl.Manager, announce func(context.Context, loop.News[*Sample, lsv1alpha1.Phase])) error {
	mgr = freshness.Of(mgr, sampleGroup.Group)
	kind := &sampleKind{cluster: mgr.GetClient(), live: mgr.GetAPIReader()}
	l := &sampleLoop{
		Name: "sample", Kind: kind, New: func() *Sample { return &Sample{} },
		Reader: mgr.GetClient(), Writer: mgr.GetClient(), Clock: clock.RealClock{}, Announce: announce,
		Confidential: func(_ context.Context, p *Sample) *masking.Values {
			secrets := &masking.Values{}
			secrets.AddText(p.Annotations[secret])
			return secrets
		},
	}
	return l.Controller(mgr, 2).Owns(&corev1.ConfigMap{}).Complete(l)
}

func (k *sampleKind) Phase(p *Sample) lsv1alpha1.Phase { return p.Status.Phase }
func (k *sampleKind) Status(p *Sample) any             { return &p.Status }
func (k *sampleKind) Decide(f facts) verdict           { return decideSample(f) }
func (k *sampleKind) Settle(p *Sample, f facts, v verdict, err error) facts {
	return settleSample(p, f, v, err)
}

func (k *sampleKind) Observe(ctx context.Context, p *Sample, now time.Time) (facts, error) {
	f := facts{
		phase: p.Status.Phase, job: run.JobOf(&p.Status.RunStatus), deleting: !p.DeletionTimestamp.IsZero(), now: now,
		request: run.Request{
			Asked:     p.Annotations[operation] == string(lsv1alpha1.OperationReconcile),
			GrantedID: run.ParseGrant(p.Annotations[run.GrantAnnotation], string(p.UID)),
		},
		freshID: uuid.NewString(),
		parts:   map[string]part{},
	}
	for _, name := range p.Spec.Parts {
		f.parts[name] = part{}
	}
	var parts corev1.ConfigMapList
	if err := k.reader(f).List(ctx, &parts, client.InNamespace(p.Namespace), client.MatchingLabels{sampleLabel: p.Name}); err != nil {
		return f, fmt.Errorf("list the parts: %w", err)
	}
	for _, item := range parts.Items {
		if item.Labels[jobLabel] == "" {
			f.parts[item.Name] = part{exists: true, completed: item.Data[completedKey] != ""}
		}
	}
	var err error
	f.result, err = k.hasResult(ctx, p, f)
	return f, err
}

// reader is the cache, or the API server where a missing part would lead to the removal of the finalizer.
func (k *sampleKind) reader(f facts) client.Reader {
	if f.phase == lsv1alpha1.PhaseDeleting {
		return k.live
	}
	return k.cluster
}

func (k *sampleKind) hasResult(ctx context.Context, p *Sample, f facts) (bool, error) {
	if f.phase != lsv1alpha1.PhaseCompleting && f.phase != lsv1alpha1.PhaseProgressing {
		return false, nil
	}
	var results corev1.ConfigMapList
	err := k.live.List(ctx, &results, client.InNamespace(p.Namespace), client.MatchingLabels{sampleLabel: p.Name, jobLabel: f.job.ID})
	return len(results.Items) > 0, err
}

func (k *sampleKind) Act(ctx context.Context, p *Sample, f facts, e effect) (facts, error) {
	switch e.(type) {
	case grant:
		return k.grant(ctx, p, f)
	case createParts:
		return f, k.createParts(ctx, p)
	case createResult:
		return f, k.cluster.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, GenerateName: "result-", Labels: map[string]string{sampleLabel: p.Name, jobLabel: f.job.ID}}})
	case clearPots:
		return f, k.clear(ctx, p, f)
	default:
		return f, loop.PatchMetadata(ctx, k.cluster, p, func(m metav1.Object) {
			m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(s string) bool { return s == finalizer }))
		})
	}
}

func (k *sampleKind) grant(ctx context.Context, p *Sample, f facts) (facts, error) {
	err := loop.PatchMetadata(ctx, k.cluster, p, func(m metav1.Object) {
		annotations := m.GetAnnotations()
		delete(annotations, operation)
		annotations[run.GrantAnnotation] = run.FormatGrant(f.freshID, string(p.UID))
		m.SetAnnotations(annotations)
		if !f.deleting && !slices.Contains(m.GetFinalizers(), finalizer) {
			m.SetFinalizers(append(m.GetFinalizers(), finalizer))
		}
	})
	return f.with(func(f *facts) { f.request = run.Request{GrantedID: f.freshID} }), err
}

func (k *sampleKind) createParts(ctx context.Context, p *Sample) error {
	if p.Spec.Fail == failForGood {
		return failure.Terminalf(failure.Details{
			Operation: "Sample",
			Reason:    "BadSoil",
			Codes:     []string{"ERR_CONFIGURATION_PROBLEM"},
		}, "spec.fail: the soil is bad")
	}
	if p.Spec.Fail == failForNow {
		if err := k.live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: rain}, &corev1.ConfigMap{}); err != nil {
			return failure.NewRetryable(failure.Details{Operation: "Sample", Reason: "Drought"}, fmt.Errorf("wait for rain: %w", err))
		}
	}
	for _, name := range p.Spec.Parts {
		part := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace,
			Name:      name,
			Labels:    map[string]string{sampleLabel: p.Name},
		}}
		if err := controllerutil.SetControllerReference(p, part, k.cluster.Scheme()); err != nil {
			return err
		}
		if err := k.cluster.Create(ctx, part); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

func (k *sampleKind) clear(ctx context.Context, p *Sample, f facts) error {
	var all []error
	for name := range f.parts {
		var part corev1.ConfigMap
		err := k.live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, &part)
		if err == nil {
			err = k.cluster.Delete(ctx, &part, client.Preconditions{UID: &part.UID})
		}
		all = append(all, client.IgnoreNotFound(err))
	}
	return errors.Join(all...)
}
