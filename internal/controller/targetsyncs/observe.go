// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/target"
	"espalier.dev/internal/targetsync"
)

// Observe reads what exists in the namespace of a TargetSync. During a deletion, it also reads Targets from the API server, so that it
// misses none.
func (k *kind) Observe(ctx context.Context, ts *lsv1alpha1.TargetSync, now time.Time) (targetsync.Observed, error) {
	o := targetsync.NewObserved(ts, now)
	var all lsv1alpha1.TargetSyncList
	if err := k.cluster.List(ctx, &all, client.InNamespace(ts.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return o, fmt.Errorf("list the TargetSyncs of the namespace: %w", err)
	}
	for i := range all.Items {
		if all.Items[i].Name != ts.Name {
			o.Others = append(o.Others, all.Items[i].Name)
		}
	}
	slices.Sort(o.Others)
	if o.Deleting {
		k.sources.leave(client.ObjectKeyFromObject(ts))
	}
	if err := k.readTargets(ctx, ts, &o); err != nil {
		return o, err
	}
	return o, k.readSecrets(ctx, ts, &o)
}

func (k *kind) readTargets(ctx context.Context, ts *lsv1alpha1.TargetSync, o *targetsync.Observed) error {
	var list lsv1alpha1.TargetList
	var err error
	if o.Deleting {
		err = k.live.List(ctx, &list, client.InNamespace(ts.Namespace), ours)
	} else {
		err = k.cluster.List(ctx, &list, client.InNamespace(ts.Namespace), client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		return fmt.Errorf("list the Targets of the namespace: %w", err)
	}
	o.Targets = map[string]targetsync.Target{}
	for i := range list.Items {
		t := &list.Items[i]
		o.Targets[t.Name] = targetsync.Target{
			UID: t.UID, Ours: t.Labels[lsv1alpha1.TargetSyncLabel] == lsv1alpha1.TargetSyncOK, By: t.Annotations[targetsync.ByAnnotation],
			Spec: *t.Spec.DeepCopy(), Synced: targetsync.TimeOf(t.Annotations[lsv1alpha1.LastTargetSyncAnnotation]),
		}
	}
	return nil
}

//espalier:rights targetsyncs
//	list secrets: the copies that it created, with their content
//	get secrets: the kubeconfig of the source
//	list targets: before a TargetSync is deleted, to check live which Targets it created

// readSecrets reads from the API server: contents of Secrets are not cached.
func (k *kind) readSecrets(ctx context.Context, ts *lsv1alpha1.TargetSync, o *targetsync.Observed) error {
	var list corev1.SecretList
	if err := k.live.List(ctx, &list, client.InNamespace(ts.Namespace), ours); err != nil {
		return fmt.Errorf("list the Secrets that TargetSyncs created: %w", err)
	}
	o.Secrets = map[string]targetsync.Secret{}
	for i := range list.Items {
		o.Secrets[list.Items[i].Name] = secretOf(&list.Items[i])
	}
	return nil
}

func secretOf(s *corev1.Secret) targetsync.Secret {
	return targetsync.Secret{
		UID: s.UID, Version: s.ResourceVersion, By: s.Annotations[targetsync.ByAnnotation], Type: string(s.Type), Data: s.Data,
		Synced: targetsync.TimeOf(s.Annotations[lsv1alpha1.LastTargetSyncAnnotation]),
	}
}

// sourceTimeout is how long reading a source may take: it belongs to a user, and occupies a worker.
const sourceTimeout = time.Minute

// Learn implements loop.Learner: it reads the source once a decision depends on it. A failure to read is a fact, too.
func (k *kind) Learn(ctx context.Context, ts *lsv1alpha1.TargetSync, o targetsync.Observed) targetsync.Observed {
	if !targetsync.NeedsSource(o) {
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	o.Source = &targetsync.Source{}
	o.Source.Err = k.readSource(ctx, ts, o.Source)
	return o
}

func (k *kind) readSource(ctx context.Context, ts *lsv1alpha1.TargetSync, into *targetsync.Source) error {
	cluster, credential, err := k.connect(ctx, ts)
	if err != nil {
		return err
	}
	into.Rotated = targetsync.TimeOf(credential.Annotations[targetsync.RotatedAnnotation])
	what := watchedKind{cluster: cluster, kind: corev1.SchemeGroupVersion.WithKind("Secret"), namespace: ts.Spec.SourceNamespace}
	expression := ts.Spec.SecretNameExpression
	if ts.Spec.ShootNameExpression != "" {
		what.kind, expression = target.ShootKind, ts.Spec.ShootNameExpression
	}
	if expression == "" {
		k.sources.leave(client.ObjectKeyFromObject(ts))
		return nil
	}
	if err := k.sources.follow(client.ObjectKeyFromObject(ts), what); err != nil {
		return err
	}
	chosen, err := targetsync.Chooser("expression", expression)
	if err != nil {
		return err
	}
	if what.kind == target.ShootKind {
		into.Shoots, err = shootsIn(ctx, what, chosen)
	} else {
		into.Secrets, err = secretsIn(ctx, what, chosen)
	}
	return err
}

// connect returns the source and the Secret with the kubeconfig for it.
func (k *kind) connect(ctx context.Context, ts *lsv1alpha1.TargetSync) (*target.Cluster, *corev1.Secret, error) {
	key := client.ObjectKey{Namespace: ts.Namespace, Name: ts.Spec.SecretRef.Name}
	var secret corev1.Secret
	if err := k.live.Get(ctx, key, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil, missing("the Secret %s of spec.secretRef does not exist: create it with a kubeconfig of the source", key.Name)
		}
		return nil, nil, fmt.Errorf("read the Secret %s of spec.secretRef: %w", key.Name, err)
	}
	field := targetsync.CredentialKey(ts.Spec)
	content, ok := secret.Data[field]
	if !ok {
		return nil, nil, missing("the Secret %s of spec.secretRef has no key %q: add it, or set another key", key.Name, field)
	}
	cluster, err := k.clusters.ForKubeconfig(ctx, "targetsync "+ts.Namespace+"/"+ts.Name, content)
	if err != nil {
		return nil, nil, fmt.Errorf("the kubeconfig in the Secret %s of spec.secretRef cannot be used: %w", key.Name, err)
	}
	return cluster, &secret, nil
}

func missing(format string, args ...any) error {
	return failure.NewRetryable(failure.Details{Operation: "Synchronise", Reason: target.ReasonSecretMissing}, fmt.Errorf(format, args...))
}

const (
	// page is how many objects of a source are read at once: Secrets may be large, and most of them may not be selected.
	page = 100
	// maxPages limits a list: a source could continue it forever.
	maxPages = 100
)

func secretsIn(ctx context.Context, what watchedKind, chosen func(string) bool) (map[string]targetsync.Content, error) {
	found := map[string]targetsync.Content{}
	next := ""
	for range maxPages {
		var list corev1.SecretList
		err := what.cluster.Client().List(ctx, &list, client.InNamespace(what.namespace), client.Limit(page), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("list the Secrets of namespace %s in the source: %w", what.namespace, err)
		}
		for i := range list.Items {
			if s := &list.Items[i]; chosen(s.Name) && s.DeletionTimestamp.IsZero() {
				found[s.Name] = targetsync.Content{Type: string(s.Type), Data: s.Data}
			}
		}
		if next = list.Continue; next == "" {
			return found, nil
		}
	}
	return nil, fmt.Errorf("namespace %s in the source has more than %d Secrets: keep the kubeconfigs in a namespace with fewer",
		what.namespace, page*maxPages)
}

func shootsIn(ctx context.Context, what watchedKind, chosen func(string) bool) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(what.kind.GroupVersion().WithKind(what.kind.Kind + "List"))
	if err := what.cluster.Client().List(ctx, &list, client.InNamespace(what.namespace)); err != nil {
		return nil, fmt.Errorf("list the shoots of namespace %s in the source: %w", what.namespace, err)
	}
	var names []string
	for i := range list.Items {
		if shoot := &list.Items[i]; chosen(shoot.Name) && shoot.DeletionTimestamp.IsZero() {
			names = append(names, shoot.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
