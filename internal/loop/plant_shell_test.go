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
	"espalier.dev/internal/loop"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/run"
)

const (
	finalizer   = "test.espalier.dev/plant"
	plantLabel  = "test.espalier.dev/plant"
	jobLabel    = "test.espalier.dev/job"
	grownKey    = "grown"
	operation   = lsv1alpha1.OperationAnnotation
	failForGood = "for good"
	failForNow  = "until it rains"
	rain        = "rain"
	// secret is an annotation with what no message may show.
	secret = "test.espalier.dev/secret"
)

type plantLoop = loop.Loop[*Plant, facts, lsv1alpha1.Phase, effect]

// plantKind is the shell of the small kind: all of its reads and writes.
type plantKind struct {
	cluster client.Client
	live    client.Reader
}

func setupPlant(mgr ctrl.Manager, announce func(context.Context, loop.News[*Plant, lsv1alpha1.Phase])) error {
	kind := &plantKind{cluster: mgr.GetClient(), live: mgr.GetAPIReader()}
	l := &plantLoop{
		Name: "plant", Kind: kind, New: func() *Plant { return &Plant{} },
		Reader: mgr.GetClient(), Writer: mgr.GetClient(), Clock: clock.RealClock{}, Announce: announce,
		Confidential: func(_ context.Context, p *Plant) *masking.Values {
			secrets := &masking.Values{}
			secrets.AddText(p.Annotations[secret])
			return secrets
		},
	}
	return l.Controller(mgr, 2).Owns(&corev1.ConfigMap{}).Complete(l)
}

func (k *plantKind) Phase(p *Plant) lsv1alpha1.Phase { return p.Status.Phase }
func (k *plantKind) Status(p *Plant) any             { return &p.Status }
func (k *plantKind) Decide(f facts) verdict          { return decidePlant(f) }
func (k *plantKind) Settle(p *Plant, f facts, v verdict, err error) facts {
	return settlePlant(p, f, v, err)
}

func (k *plantKind) Observe(ctx context.Context, p *Plant, now time.Time) (facts, error) {
	f := facts{
		phase: p.Status.Phase, job: run.JobOf(&p.Status.RunStatus), deleting: !p.DeletionTimestamp.IsZero(), now: now,
		request: run.Request{
			Asked:     p.Annotations[operation] == string(lsv1alpha1.OperationReconcile),
			GrantedID: run.ParseGrant(p.Annotations[run.GrantAnnotation], string(p.UID)),
		},
		freshID: uuid.NewString(),
		pots:    map[string]pot{},
	}
	for _, name := range p.Spec.Pots {
		f.pots[name] = pot{}
	}
	var pots corev1.ConfigMapList
	if err := k.reader(f).List(ctx, &pots, client.InNamespace(p.Namespace), client.MatchingLabels{plantLabel: p.Name}); err != nil {
		return f, fmt.Errorf("list the pots: %w", err)
	}
	for _, item := range pots.Items {
		if item.Labels[jobLabel] == "" {
			f.pots[item.Name] = pot{exists: true, grown: item.Data[grownKey] != ""}
		}
	}
	var err error
	f.basket, err = k.hasBasket(ctx, p, f)
	return f, err
}

// reader is the cache, but the API server where a missing pot would let the finalizer go.
func (k *plantKind) reader(f facts) client.Reader {
	if f.phase == lsv1alpha1.PhaseDeleting {
		return k.live
	}
	return k.cluster
}

func (k *plantKind) hasBasket(ctx context.Context, p *Plant, f facts) (bool, error) {
	if f.phase != lsv1alpha1.PhaseCompleting && f.phase != lsv1alpha1.PhaseProgressing {
		return false, nil
	}
	var baskets corev1.ConfigMapList
	err := k.live.List(ctx, &baskets, client.InNamespace(p.Namespace), client.MatchingLabels{plantLabel: p.Name, jobLabel: f.job.ID})
	return len(baskets.Items) > 0, err
}

func (k *plantKind) Act(ctx context.Context, p *Plant, f facts, e effect) (facts, error) {
	switch e.(type) {
	case grant:
		return k.grant(ctx, p, f)
	case plantPots:
		return f, k.plant(ctx, p)
	case harvest:
		return f, k.cluster.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, GenerateName: "basket-", Labels: map[string]string{plantLabel: p.Name, jobLabel: f.job.ID}}})
	case clearPots:
		return f, k.clear(ctx, p, f)
	default:
		return f, loop.PatchMetadata(ctx, k.cluster, p, func(m metav1.Object) {
			m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(s string) bool { return s == finalizer }))
		})
	}
}

func (k *plantKind) grant(ctx context.Context, p *Plant, f facts) (facts, error) {
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

func (k *plantKind) plant(ctx context.Context, p *Plant) error {
	if p.Spec.Fail == failForGood {
		return failure.Terminalf(failure.Details{Operation: "Plant", Reason: "BadSoil", Codes: []string{"ERR_CONFIGURATION_PROBLEM"}}, "spec.fail: the soil is bad")
	}
	if p.Spec.Fail == failForNow {
		if err := k.live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: rain}, &corev1.ConfigMap{}); err != nil {
			return failure.NewRetryable(failure.Details{Operation: "Plant", Reason: "Drought"}, fmt.Errorf("wait for rain: %w", err))
		}
	}
	for _, name := range p.Spec.Pots {
		pot := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: map[string]string{plantLabel: p.Name}}}
		if err := controllerutil.SetControllerReference(p, pot, k.cluster.Scheme()); err != nil {
			return err
		}
		if err := k.cluster.Create(ctx, pot); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

func (k *plantKind) clear(ctx context.Context, p *Plant, f facts) error {
	var all []error
	for name := range f.pots {
		var pot corev1.ConfigMap
		err := k.live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, &pot)
		if err == nil {
			err = k.cluster.Delete(ctx, &pot, client.Preconditions{UID: &pot.UID})
		}
		all = append(all, client.IgnoreNotFound(err))
	}
	return errors.Join(all...)
}
