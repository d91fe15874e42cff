// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/target"
	"espalier.dev/internal/tenancy"
)

var (
	secretKind        = corev1.SchemeGroupVersion.WithKind("Secret")
	gitopsClusterKind = gitops.SchemeGroupVersion.WithKind(string(pipelines.ClusterKindGitopsCluster))
	targetKind        = lsv1alpha1.SchemeGroupVersion.WithKind(string(pipelines.ClusterKindTarget))
	targetResource    = lsv1alpha1.SchemeGroupVersion.WithResource("targets").GroupResource()
)

// objectName identifies an object of the management cluster.
type objectName struct {
	gvk schema.GroupVersionKind
	types.NamespacedName
}

// fingerprint identifies contents without keeping them.
type fingerprint [sha256.Size]byte

// place is the location of a cluster, according to objects of the management cluster.
type place struct {
	// objects are those that were read, including missing ones: a change of one may change the place.
	objects []objectName
	// content is the same while the objects lead to the same connection.
	content fingerprint
	connect func(context.Context) (connection, error)
}

// refusal is a definite error: there is no connection, or the existing one must not be used any more.
type refusal struct{ problem Problem }

func (r *refusal) Error() string { return r.problem.Message }

func refuse(reason Reason, format string, args ...any) error {
	return &refusal{problem: Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

// isVerdict reports whether an error is definite, and not merely a failure to determine something.
func isVerdict(err error) bool {
	var told *refusal
	return errors.As(err, &told) || reasonOf(err) == ReasonKubeconfigMissing || failure.KindOf(err) == failure.Terminal
}

// resolver finds clusters.
type resolver struct {
	host     client.WithWatch
	clusters *target.Clusters
	tenancy  *tenancy.Strict
}

// find reads the location of a cluster. The objects of the place are valid even with an error.
func (r *resolver) find(ctx context.Context, key ClusterKey) (place, error) {
	ctx = r.tenancy.Within(ctx, key.Namespace)
	found, err := r.placeOf(ctx, key)
	return found, tenancy.Explain(ctx, err)
}

func (r *resolver) placeOf(ctx context.Context, key ClusterKey) (place, error) {
	switch {
	case key.IsManagement():
		return r.management(), nil
	case key.Kind == pipelines.ClusterKindGitopsCluster:
		return r.gitopsCluster(ctx, key)
	case key.Kind == pipelines.ClusterKindTarget:
		return r.target(ctx, key)
	}
	return place{}, refuse(
		ReasonClusterNotFound,
		"clusterRef.kind is %q: use %s or %s",
		key.Kind,
		pipelines.ClusterKindGitopsCluster,
		pipelines.ClusterKindTarget,
	)
}

func (r *resolver) management() place {
	return place{connect: func(context.Context) (connection, error) {
		return connection{client: r.host, mapper: r.host.RESTMapper(), server: "management"}, nil
	}}
}

func (r *resolver) gitopsCluster(ctx context.Context, key ClusterKey) (place, error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	found := place{objects: []objectName{{gvk: gitopsClusterKind, NamespacedName: name}}}
	cluster := &gitops.GitopsCluster{}
	if err := r.read(ctx, key, cluster); err != nil {
		return found, err
	}
	if ready := meta.FindStatusCondition(cluster.Status.Conditions, "Ready"); ready == nil || ready.Status != metav1.ConditionTrue {
		return found, refuse(ReasonClusterNotReady, "%s", notReady(key, ready))
	}
	secretName, dataKey, ok := target.KubeconfigSecret(cluster)
	if !ok {
		return found, refuse(
			ReasonKubeconfigMissing,
			"%s has neither spec.secretRef nor spec.capiClusterRef: set one of them",
			key,
		)
	}
	secret := types.NamespacedName{Namespace: key.Namespace, Name: secretName}
	found.objects = append(found.objects, objectName{gvk: secretKind, NamespacedName: secret})
	raw, err := r.kubeconfig(ctx, key, secret, dataKey)
	if err != nil {
		return found, err
	}
	found.content = sha256.Sum256(raw)
	found.connect = func(ctx context.Context) (connection, error) {
		return connectionTo(r.clusters.ForKubeconfig(ctx, key.String(), raw))
	}
	return found, nil
}

func notReady(key ClusterKey, ready *metav1.Condition) string {
	if ready == nil {
		return fmt.Sprintf("%s has no condition Ready yet", key)
	}
	return shorten(explain(key.String()+" is not ready", ready.Reason, ready.Message))
}

func (r *resolver) kubeconfig(ctx context.Context, key ClusterKey, name types.NamespacedName, dataKey string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.host.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		return nil, refuse(ReasonKubeconfigMissing, "the Secret %s with the kubeconfig of %s does not exist: create it", name, key)
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s with the kubeconfig of %s: %w", name, key, err)
	}
	if len(secret.Data[dataKey]) == 0 {
		return nil, refuse(ReasonKubeconfigMissing, "the Secret %s with the kubeconfig of %s has no key %s: add it", name, key, dataKey)
	}
	return secret.Data[dataKey], nil
}

func (r *resolver) target(ctx context.Context, key ClusterKey) (place, error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	found := place{objects: []objectName{{gvk: targetKind, NamespacedName: name}}}
	object := &lsv1alpha1.Target{}
	if err := r.read(ctx, key, object); err != nil {
		return found, err
	}
	if err := tenancy.From(ctx).MayGet(ctx, targetResource, name); err != nil {
		return found, err
	}
	if reference := object.Spec.SecretRef; reference != nil && reference.Name != "" {
		secret := types.NamespacedName{Namespace: key.Namespace, Name: reference.Name}
		found.objects = append(found.objects, objectName{gvk: secretKind, NamespacedName: secret})
	}
	content, err := r.clusters.Content(ctx, object)
	if err != nil {
		return found, err
	}
	found.content = sha256.Sum256(append([]byte(object.Spec.Type+"\n"), content...))
	tenant := tenancy.From(ctx)
	found.connect = func(ctx context.Context) (connection, error) {
		return connectionTo(r.clusters.For(tenant.In(ctx), object))
	}
	return found, nil
}

//espalier:rights pipelines
//	get gitopsclusters,targets,secrets: the clusters of pipelines, and the kubeconfigs that lead there

// read reads the object that a clusterRef names.
func (r *resolver) read(ctx context.Context, key ClusterKey, into client.Object) error {
	err := r.host.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return refuse(ReasonClusterNotFound, "%s not found: create it, or correct clusterRef", key)
	case meta.IsNoMatchError(err):
		return refuse(ReasonClusterNotFound, "%s not found: the management cluster does not serve kind %s", key, key.Kind)
	case err != nil:
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}

func connectionTo(cluster *target.Cluster, err error) (connection, error) {
	if err != nil {
		return connection{}, err
	}
	return connection{client: cluster.Client(), mapper: cluster.Mapper(), server: cluster.ID(), cluster: cluster}, nil
}
