// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package steer hands what people want to the controllers: jobs of installations, their end, deletions, decisions on promotions and holds.
// All of it is written with the rights of the client's user. The command line and the web UI ask through it alike.
package steer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Asker asks the controllers for something, in the name of the client's user.
type Asker struct {
	Client client.WithWatch
	// Patience is how long an operation that the controllers have not taken yet is awaited before another is asked for; 0 is not at all.
	Patience time.Duration
	// Tell says what goes on meanwhile; nil if nobody listens.
	Tell func(format string, args ...any)
}

func (a Asker) tell(format string, args ...any) {
	if a.Tell != nil {
		a.Tell(format, args...)
	}
}

// Error is a request that the API server has refused, or that did not reach it.
type Error struct {
	// Attempted is a phrase such as "delete installation shop".
	Attempted string
	Err       error
	// Lacks is the verb that the user lacks, if that is known to be why.
	Lacks string
	// Policy says that the user has the rights it needs, and that an admission policy or a webhook refuses it all the same.
	Policy bool
}

func (e *Error) Error() string { return fmt.Sprintf("cannot %s: %v", e.Attempted, e.Err) }

// Unwrap returns what the API server has said.
func (e *Error) Unwrap() error { return e.Err }

func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Attempted: fmt.Sprintf(format, args...), Err: err}
}

// sameObject returns the error for an object that was deleted meanwhile, also if another one has taken its name: what somebody wants is
// about the one that he has looked at.
func sameObject(seen, current client.Object, resource schema.GroupResource) error {
	if seen.GetUID() == current.GetUID() {
		return nil
	}
	return apierrors.NewNotFound(resource, seen.GetName())
}

// User is who the API server takes the user for. One that does not tell is no obstacle: its audit log knows.
func (a Asker) User(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := a.Client.Create(ctx, review); err != nil {
		a.tell("warning: the API server does not say who you are, so the request carries no name: %v", err)
		return ""
	}
	return review.Status.UserInfo.Username
}

// annotate sets an annotation, or removes it if there is no value. It carries the version that the caller has looked at, and brings the
// object to what the server has stored.
func (a Asker) annotate(ctx context.Context, object client.Object, name string, value *string) error {
	return a.annotateAll(ctx, object, map[string]*string{name: value})
}

// annotateAll is annotate for several annotations at once.
func (a Asker) annotateAll(ctx context.Context, object client.Object, values map[string]*string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": object.GetResourceVersion(), "uid": object.GetUID(), "annotations": values,
	}})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	return a.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}
