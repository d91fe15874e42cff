// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// AccountUser is the name of a service account as a user.
func AccountUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// EventuallyMay waits until the API server grants a user a right. It follows roles and bindings by watches, so those that were just created
// may not count yet.
func EventuallyMay(t testing.TB, server *APIServer, user string, right authorizationv1.ResourceAttributes) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right},
		}
		err := server.Client().Create(ctx, review)
		return review.Status.Allowed, err
	})
	if err != nil {
		t.Fatalf("%s may not %s %s %s in namespace %q: %v", user, right.Verb, right.Resource, right.Name, right.Namespace, err)
	}
}
