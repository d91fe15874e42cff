// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// remembered is how long an answer about a right is cached: a revocation takes effect after that.
	remembered = 10 * time.Second
	// maxReviews is the maximum number of cached answers.
	maxReviews = 4096
)

// reviews caches answers of the API server about the rights of service accounts. The zero value is ready.
type reviews struct {
	mu    sync.Mutex
	known map[question]answer
}

// question is whether a service account may get objects of a namespace: one, or all if the name is empty.
type question struct {
	account   Account
	resource  schema.GroupResource
	namespace string
	name      string
}

type answer struct {
	allowed bool
	until   time.Time
}

// MayGet returns an error if the tenant's service account may not read an object, and nil in shared tenancy. Call it before using an object
// from a cache for the tenant. Most service accounts may read all objects of a kind in their namespace, so it queries that first.
func (t *Tenant) MayGet(ctx context.Context, resource schema.GroupResource, key client.ObjectKey) error {
	if t == nil || t.aside {
		return nil
	}
	if t.problem != nil {
		return t.problem
	}
	q := question{account: t.account, resource: resource, namespace: key.Namespace}
	for _, name := range []string{"", key.Name} {
		q.name = name
		allowed, err := t.strict.ask(ctx, q)
		if err != nil || allowed {
			return err
		}
	}
	missing := &Missing{Account: t.account, Verb: "get", Resource: resource, Namespace: key.Namespace}
	return missing.err(missing.Error())
}

//espalier:rights tenancy
//	create subjectaccessreviews.authorization.k8s.io: what is read from a cache is used only for accounts that may read it

func (s *Strict) ask(ctx context.Context, q question) (bool, error) {
	now := time.Now()
	if allowed, known := s.reviews.recall(q, now); known {
		return allowed, nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: q.account.User(), Groups: q.account.Groups(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Group: q.resource.Group, Resource: q.resource.Resource, Version: "*", Namespace: q.namespace, Name: q.name,
		},
	}}
	if err := s.cluster.Create(Own(ctx), review); err != nil {
		return false, fmt.Errorf("check whether the service account %s may get %s in namespace %s: %w", q.account, q.resource, q.namespace, err)
	}
	allowed := review.Status.Allowed
	// A denial for a single object is not cached: the right may be granted at any time, and each retry queries it again.
	if allowed || q.name == "" {
		s.reviews.remember(q, answer{allowed: allowed, until: now.Add(remembered)})
	}
	return allowed, nil
}

func (r *reviews) recall(q question, now time.Time) (allowed, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, known := r.known[q]
	return found.allowed, known && now.Before(found.until)
}

func (r *reviews) remember(q question, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[question]answer{}
	}
	if len(r.known) >= maxReviews {
		now := a.until.Add(-remembered)
		maps.DeleteFunc(r.known, func(_ question, old answer) bool { return !now.Before(old.until) })
	}
	if len(r.known) >= maxReviews {
		clear(r.known)
	}
	r.known[q] = a
}
