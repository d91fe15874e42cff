// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/target"
	"espalier.dev/internal/targetsync"
	"espalier.dev/internal/tenancy"
)

// Act executes an effect. A failure of one pair does not affect the others.
func (k *kind) Act(
	ctx context.Context,
	ts *lsv1alpha1.TargetSync,
	o targetsync.Observed,
	effect targetsync.Effect,
) (targetsync.Observed, error) {
	written, err := k.carryOut(ctx, ts, o, effect)
	if err == nil {
		return targetsync.After(o, effect, written), nil
	}
	err = tenancy.Explain(ctx, err)
	separable := targetsync.Separable(effect) && !apierrors.IsConflict(err) && failure.KindOf(err) != failure.Waiting && ctx.Err() == nil
	if separable {
		return o.Failing(effect, err), nil
	}
	return o, err
}

func (k *kind) carryOut(
	ctx context.Context,
	ts *lsv1alpha1.TargetSync,
	o targetsync.Observed,
	effect targetsync.Effect,
) (written targetsync.Secret, err error) {
	switch e := effect.(type) {
	case targetsync.Rotate:
		err = k.rotate(ctx, ts, o.Source.Rotated, e.At)
	case targetsync.WriteSecret:
		written, err = k.writeSecret(ctx, ts, e.Existing, copyOf(ts, e))
	case targetsync.RenewShoot:
		written, err = k.renewShoot(ctx, ts, o.Now, e)
	case targetsync.WriteTarget:
		err = k.writeTarget(ctx, ts, e)
	case targetsync.RemoveSecret:
		err = k.remove(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ts.Namespace, Name: e.Name}}, e.UID)
	case targetsync.RemoveTarget:
		err = k.remove(ctx, &lsv1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: ts.Namespace, Name: e.Name}}, e.UID)
	case targetsync.Refuse:
		err = e.Err
	default:
		err = loop.PatchMetadata(ctx, k.cluster, ts, func(m metav1.Object) { mark(m, o, effect) })
	}
	return written, err
}

//espalier:rights targetsyncs
//	patch targetsyncs,targetsyncs/status: finalizers, annotations and status of what it works on

// mark changes the metadata of the TargetSync.
func mark(m metav1.Object, o targetsync.Observed, effect targetsync.Effect) {
	switch e := effect.(type) {
	case targetsync.AddFinalizer:
		m.SetFinalizers(append(m.GetFinalizers(), lsv1alpha1.Finalizer))
	case targetsync.RemoveFinalizer:
		m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(name string) bool { return name == lsv1alpha1.Finalizer }))
	case targetsync.SeeRotation:
		m.GetAnnotations()[targetsync.RotatingAnnotation] = targetsync.TimeText(o.Now)
	case targetsync.Hear:
		hear(m.GetAnnotations(), e.Rotation)
	}
}

// hear removes the requests that have been executed.
func hear(annotations map[string]string, rotation bool) {
	if annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile) {
		delete(annotations, lsv1alpha1.OperationAnnotation)
	}
	if rotation {
		delete(annotations, lsv1alpha1.RotateTokenAnnotation)
		delete(annotations, targetsync.RotatingAnnotation)
	}
}

//espalier:rights targetsyncs
//	patch secrets: a new token for the kubeconfig of the source

// rotate requests a token and writes it to the Secret of the source, unless the Secret has changed meanwhile: another process may have
// already replaced the previous token.
func (k *kind) rotate(ctx context.Context, ts *lsv1alpha1.TargetSync, before, at time.Time) error {
	cluster, secret, err := k.connect(ctx, ts)
	if err != nil {
		return err
	}
	if !targetsync.TimeOf(secret.Annotations[targetsync.RotatedAnnotation]).Equal(before) {
		return apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, errors.New("its token has been replaced in the meantime"))
	}
	key := targetsync.CredentialKey(ts.Spec)
	account, err := target.OnlyUser(secret.Data[key])
	if err != nil {
		return err
	}
	token, err := cluster.Token(ctx, types.NamespacedName{Namespace: ts.Spec.SourceNamespace, Name: account}, targetsync.TokenSeconds)
	if err != nil {
		return err
	}
	if token.Value == "" {
		return errors.New("the source returned no token")
	}
	content, err := target.ReplaceCredential(secret.Data[key], token.Value)
	if err != nil {
		return err
	}
	changed := secret.DeepCopy()
	changed.Data[key] = content
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, targetsync.RotatedAnnotation, targetsync.TimeText(at))
	patch := client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})
	if err := k.cluster.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("write the Secret %s of spec.secretRef: %w", secret.Name, err)
	}
	return nil
}

// made returns the metadata of an object that a TargetSync creates.
func made(ts *lsv1alpha1.TargetSync, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: ts.Namespace, Name: name,
		Labels:      map[string]string{lsv1alpha1.TargetSyncLabel: lsv1alpha1.TargetSyncOK},
		Annotations: map[string]string{targetsync.ByAnnotation: ts.Name},
	}
}

func copyOf(ts *lsv1alpha1.TargetSync, e targetsync.WriteSecret) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: made(ts, e.Name), Type: corev1.SecretType(targetsync.CopyType(e.Content.Type)), Data: maps.Clone(e.Content.Data),
	}
}

func (k *kind) renewShoot(
	ctx context.Context,
	ts *lsv1alpha1.TargetSync,
	now time.Time,
	e targetsync.RenewShoot,
) (targetsync.Secret, error) {
	cluster, _, err := k.connect(ctx, ts)
	if err != nil {
		return targetsync.Secret{}, err
	}
	shoot := types.NamespacedName{Namespace: ts.Spec.SourceNamespace, Name: e.Name}
	issued, err := cluster.AdminKubeconfig(ctx, shoot, targetsync.ShootSeconds)
	if err != nil {
		return targetsync.Secret{}, err
	}
	secret := &corev1.Secret{
		ObjectMeta: made(ts, e.Name), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{targetsync.KubeconfigKey: []byte(issued.Value)},
	}
	secret.Annotations[lsv1alpha1.LastTargetSyncAnnotation] = targetsync.TimeText(now)
	return k.writeSecret(ctx, ts, e.Existing, secret)
}

//espalier:rights targetsyncs
//	create,update,delete secrets: copies of kubeconfigs of the source
//	create,patch,delete targets: a Target for each of them

// writeSecret creates the wanted Secret, or updates the existing one. The type of a Secret is immutable: if it differs, a new Secret
// replaces the existing one.
func (k *kind) writeSecret(
	ctx context.Context,
	ts *lsv1alpha1.TargetSync,
	existing targetsync.Secret,
	wanted *corev1.Secret,
) (targetsync.Secret, error) {
	if existing.UID != "" && existing.Type != string(wanted.Type) {
		old := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ts.Namespace, Name: wanted.Name}}
		if err := k.remove(ctx, old, existing.UID); err != nil {
			return targetsync.Secret{}, err
		}
		existing = targetsync.Secret{}
	}
	if existing.UID != "" {
		wanted.UID, wanted.ResourceVersion = existing.UID, existing.Version
		err := k.cluster.Update(ctx, wanted)
		return secretOf(wanted), err
	}
	err := k.cluster.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		return targetsync.Secret{}, targetsync.NotOurs("Secret", wanted.Name)
	}
	return secretOf(wanted), ending.Refused(err)
}

// writeTarget creates or updates a Target. If one exists that the cache did not show, the next pass reads it.
func (k *kind) writeTarget(ctx context.Context, ts *lsv1alpha1.TargetSync, e targetsync.WriteTarget) error {
	wanted := &lsv1alpha1.Target{ObjectMeta: made(ts, e.Name), Spec: e.Spec}
	if !e.Synced.IsZero() {
		wanted.Annotations[lsv1alpha1.LastTargetSyncAnnotation] = targetsync.TimeText(e.Synced)
	}
	if !e.Exists {
		err := k.cluster.Create(ctx, wanted)
		if apierrors.IsAlreadyExists(err) {
			return apierrors.NewConflict(lsv1alpha1.SchemeGroupVersion.WithResource("targets").GroupResource(), e.Name, err)
		}
		return ending.Refused(err)
	}
	existing := &lsv1alpha1.Target{}
	if err := k.cluster.Get(ctx, client.ObjectKeyFromObject(wanted), existing); err != nil {
		return err
	}
	changed := existing.DeepCopy()
	changed.Labels, changed.Annotations, changed.Spec = wanted.Labels, wanted.Annotations, wanted.Spec
	return k.cluster.Patch(ctx, changed, client.MergeFromWithOptions(existing, client.MergeFromWithOptimisticLock{}))
}

// remove deletes an object if it still has the given UID.
func (k *kind) remove(ctx context.Context, object client.Object, uid types.UID) error {
	err := k.cluster.Delete(ctx, object, client.Preconditions{UID: &uid})
	return client.IgnoreNotFound(err)
}
