// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion

import (
	"context"
	"errors"
	"fmt"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/steer"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
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

func (r *Requester) asker() steer.Asker { return steer.Asker{Client: r.Client, Tell: r.Access.Tell} }

// explain says what to do about an error of a request about a pipeline.
func (r *Requester) explain(p *pipelines.Pipeline, err error) error {
	if err == nil {
		return nil
	}
	var failed *steer.Error
	if errors.As(err, &failed) {
		return r.Access.Explain(failed.Err, failed.Attempted, r.Namespace)
	}
	problem := &cli.Problem{
		Code: cli.ExitError, What: err.Error(), Where: r.Access.Where(r.Namespace), Cause: err,
		Next: []string{r.Access.Suggest(r.Namespace, "pipeline", "status", p.Name)},
	}
	var refusal *pipeline.Refusal
	var unknown *steer.UnknownEnvironment
	switch {
	case errors.As(err, &refusal):
		problem.What = fmt.Sprintf("pipeline %s: %v", p.Name, err)
		if refusal.Reason == pipeline.RefusedUnknownEnvironment {
			problem.Code = cli.ExitNotFound
		}
	case errors.As(err, &unknown):
		problem.Code = cli.ExitNotFound
	}
	return problem
}
