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

// Desk is where decisions are handed in.
type Desk struct{ connect.Connection }

// NewDesk connects to the user's cluster and namespace.
func NewDesk(access *connect.Access) (*Desk, error) {
	connection, err := access.Connect()
	return &Desk{Connection: connection}, err
}

// Read reads a pipeline.
func (d *Desk) Read(ctx context.Context, name string) (*pipelines.Pipeline, error) {
	return d.Access.ReadPipeline(ctx, d.Client, d.Namespace, name)
}

// User is who the API server takes the user for. One that does not tell is no obstacle: its audit log knows.
func (d *Desk) User(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := d.Client.Create(ctx, review); err != nil {
		d.Access.Tell("warning: the API server does not say who you are, so the request carries no name: %v", err)
		return ""
	}
	return review.Status.UserInfo.Username
}

// ask hands in a request unless the same was handed in already, and returns the one that is there. There is room for
// one request for each environment.
func (d *Desk) ask(ctx context.Context, p *pipelines.Pipeline, request pipeline.Request) (there pipeline.Request, already bool, err error) {
	name, value := request.Text()
	for {
		if pending, found := pendingIn(p, name); found {
			if pending.Action == request.Action && pending.Revision == request.Revision {
				return pending, true, nil
			}
			return pending, false, d.occupied(p, pending)
		}
		err := d.Annotate(ctx, p, name, &value)
		if err == nil {
			return request, false, nil
		}
		if !apierrors.IsConflict(err) {
			return request, false, d.Access.Explain(err, fmt.Sprintf("%s pipeline %s", request.Action, p.Name), d.Namespace)
		}
		if p, err = d.Read(ctx, p.Name); err != nil {
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

func (d *Desk) occupied(p *pipelines.Pipeline, pending pipeline.Request) error {
	return &cli.Problem{
		Code: cli.ExitError, Where: d.Access.Where(d.Namespace),
		What: fmt.Sprintf("the controllers have not answered the request to %s revision %s for environment %s of pipeline %s yet",
			pending.Action, pending.Revision, pending.Environment, p.Name),
		Next: []string{d.Access.Suggest(d.Namespace, "pipeline", "status", p.Name)},
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
func (d *Desk) Annotate(ctx context.Context, p *pipelines.Pipeline, name string, value *string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": p.ResourceVersion, "uid": p.UID, "annotations": map[string]*string{name: value},
	}})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	return d.Client.Patch(ctx, p, client.RawPatch(types.MergePatchType, patch))
}
