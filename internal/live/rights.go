// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/target"
)

// Use is a kind of objects that deployers have in a namespace of a target cluster; the namespace is empty for cluster-scoped
// kinds.
type Use struct {
	Kind      schema.GroupVersionKind
	Namespace string
}

// wanted are the operations of deployers on their objects, each with alternative verbs.
var wanted = [][]string{{"get"}, {"patch", "update"}, {"delete"}}

// Lacking returns the rights that the deployers of a Target need and its credential lacks: phrases such as "delete deployments.apps in
// namespace shop". Kinds that the cluster does not know are left out.
func (r Reader) Lacking(ctx context.Context, t *lsv1alpha1.Target, uses []Use) ([]string, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	cluster, err := r.Clusters.For(ctx, t)
	if err != nil {
		return nil, err
	}
	found := make([][]string, len(uses))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, use := range uses {
		group.Go(func() (err error) {
			found[i], err = lackingFor(ctx, cluster, use)
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(found...), err
}

// MayAll reports whether the credential of a Target may do everything in its cluster.
func (r Reader) MayAll(ctx context.Context, t *lsv1alpha1.Target) (bool, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	cluster, err := r.Clusters.For(ctx, t)
	if err != nil {
		return false, err
	}
	return may(ctx, cluster.Client(), authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
}

func lackingFor(ctx context.Context, cluster *target.Cluster, use Use) ([]string, error) {
	mapping, err := cluster.Client().RESTMapper().RESTMapping(use.Kind.GroupKind(), use.Kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	var lacking []string
	for _, verbs := range wanted {
		allowed := false
		for _, verb := range verbs {
			if allowed, err = may(ctx, cluster.Client(), authorizationv1.ResourceAttributes{
				Verb: verb, Group: mapping.Resource.Group, Resource: mapping.Resource.Resource, Namespace: use.Namespace,
			}); allowed || err != nil {
				break
			}
		}
		if err != nil {
			return nil, err
		}
		if !allowed {
			lacking = append(lacking, phrase(verbs[0], mapping.Resource.GroupResource(), use.Namespace))
		}
	}
	return lacking, nil
}

func may(ctx context.Context, asker client.Client, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes},
	}
	if err := asker.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask the cluster for the rights of the credential: %w", err)
	}
	return review.Status.Allowed, nil
}

func phrase(verb string, resource schema.GroupResource, namespace string) string {
	if namespace == "" {
		return verb + " " + resource.String()
	}
	return verb + " " + resource.String() + " in namespace " + namespace
}
