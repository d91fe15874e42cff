// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/pipeline"
)

// Requester asks the controllers for decisions about promotions.
type Requester struct{ connect.Connection }

// NewRequester connects to the user's cluster and namespace.
func NewRequester(access *connect.Access) (*Requester, error) {
	connection, err := access.Connect()
	return &Requester{Connection: connection}, err
}

// Read reads a pipeline.
func (r *Requester) Read(ctx context.Context, name string) (*pipelines.Pipeline, error) {
	return r.Access.ReadPipeline(ctx, r.Client, r.Namespace, name)
}

// User is who the API server takes the user for. One that does not tell is no obstacle: its audit log knows.
func (r *Requester) User(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := r.Client.Create(ctx, review); err != nil {
		r.Access.Tell("warning: the API server does not say who you are, so the request carries no name: %v", err)
		return ""
	}
	return review.Status.UserInfo.Username
}

// ask hands in a request unless the same was handed in already, and returns the one that is there. There is room for
// one request for each environment.
func (r *Requester) ask(
	ctx context.Context,
	p *pipelines.Pipeline,
	request pipeline.Request,
) (there pipeline.Request, already bool, err error) {
	name, value := request.Text()
	for {
		if pending, found := pendingIn(p, name); found {
			if pending.Action == request.Action && pending.Revision == request.Revision {
				return pending, true, nil
			}
			return pending, false, r.occupied(p, pending)
		}
		err := r.Annotate(ctx, p, name, &value)
		if err == nil {
			return request, false, nil
		}
		if !apierrors.IsConflict(err) {
			return request, false, r.Access.Explain(err, fmt.Sprintf("%s pipeline %s", request.Action, p.Name), r.Namespace)
		}
		if p, err = r.Read(ctx, p.Name); err != nil {
			return request, false, err
		}
	}
}

func pendingIn(p *pipelines.Pipeline, annotation string) (pipeline.Request, bool) {
	requests := pipeline.ReadRequests(p.Annotations)
	i := slices.IndexFunc(requests, func(r pipeline.Request) bool { return r.Annotation == annotation })
	if i < 0 || answerTo(p, requests[i].ID) != nil {
		return pipeline.Request{}, false // An answered one is about to be removed.
	}
	return requests[i], true
}

func (r *Requester) occupied(p *pipelines.Pipeline, pending pipeline.Request) error {
	return &cli.Problem{
		Code: cli.ExitError, Where: r.Access.Where(r.Namespace),
		What: fmt.Sprintf("the controllers have not answered the request to %s revision %s for environment %s of pipeline %s yet",
			pending.Action, pending.Revision, pending.Environment, p.Name),
		Next: []string{r.Access.Suggest(r.Namespace, "pipeline", "status", p.Name)},
	}
}

// answerTo is the answer to a request; nil if there is none yet.
func answerTo(p *pipelines.Pipeline, id string) *pipelines.RequestStatus {
	i := slices.IndexFunc(p.Status.Requests, func(r pipelines.RequestStatus) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Status.Requests[i]
}

// Annotate sets an annotation, or removes it if there is no value. It carries the version that the caller has looked
// at, and brings the object to what the server has stored.
func (r *Requester) Annotate(ctx context.Context, p *pipelines.Pipeline, name string, value *string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": p.ResourceVersion, "uid": p.UID, "annotations": map[string]*string{name: value},
	}})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	return r.Client.Patch(ctx, p, client.RawPatch(types.MergePatchType, patch))
}
