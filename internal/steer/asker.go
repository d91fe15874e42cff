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

// Asker sends requests to the controllers, in the name of the client's user.
type Asker struct {
	Client client.WithWatch
	// Patience is how long to wait for the controllers to accept a pending operation before another one is requested; 0 means not at all.
	Patience time.Duration
	// Tell reports progress meanwhile. Optional.
	Tell func(format string, args ...any)
}

func (a Asker) tell(format string, args ...any) {
	if a.Tell != nil {
		a.Tell(format, args...)
	}
}

// Error is a request that the API server has rejected, or that did not reach it.
type Error struct {
	// Attempted is a phrase such as "delete installation shop".
	Attempted string
	Err       error
	// Lacks is the verb that the user lacks, if that is known to be the cause.
	Lacks string
	// Policy says that the user has the required rights, but an admission policy or a webhook denies the request.
	Policy bool
	// Kept says which annotations the request has set and could not remove after it had failed; empty if there are none.
	Kept string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("cannot %s: %v", e.Attempted, e.Err)
	if e.Kept != "" {
		text += "; " + e.Kept
	}
	return text
}

// Unwrap returns the error of the API server.
func (e *Error) Unwrap() error { return e.Err }

func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Attempted: fmt.Sprintf(format, args...), Err: err}
}

// sameObject returns the error for an object that was deleted meanwhile, even if another one has taken its name: a request applies to the
// object that the user has seen.
func sameObject(seen, current client.Object, resource schema.GroupResource) error {
	if seen.GetUID() == current.GetUID() {
		return nil
	}
	return apierrors.NewNotFound(resource, seen.GetName())
}

// User returns the user name that the API server sees. A server that does not return it is no obstacle: its audit log contains the name.
func (a Asker) User(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := a.Client.Create(ctx, review); err != nil {
		a.tell("warning: the API server does not report your user name, so the request contains none: %v", err)
		return ""
	}
	return review.Status.UserInfo.Username
}

// annotate sets an annotation, or removes it if there is no value. It sends the version that the caller has seen, and updates the object
// to what the server has stored.
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
