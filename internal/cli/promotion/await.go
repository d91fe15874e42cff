// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/steer"
)

// Result is what a decision has come to so far, for people and programs.
type Result struct {
	Namespace   string                  `json:"namespace"`
	Pipeline    string                  `json:"pipeline"`
	Environment string                  `json:"environment"`
	Action      pipelines.RequestAction `json:"action"`
	Revision    string                  `json:"revision"`
	Run         int64                   `json:"run,omitempty"`
	// ID of the request; empty if none was needed.
	ID string `json:"id,omitempty"`
	// Accepted is absent as long as there is no answer.
	Accepted *bool  `json:"accepted,omitempty"`
	Message  string `json:"message"`
}

func (o *options) print(r Result, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch {
	case format == display.FormatName:
		return printer.Lines(ResourceName(r.Pipeline))
	case format != display.FormatText:
		return printer.Data(r, format)
	case r.Accepted != nil && !*r.Accepted:
		return printer.Lines(display.Clean(fmt.Sprintf("pipeline %s: rejected: %s", r.Pipeline, r.Message)))
	case r.Accepted != nil:
		return printer.Lines(display.Clean(fmt.Sprintf("pipeline %s: %s", r.Pipeline, r.Message)))
	}
	return printer.Lines(display.Clean(fmt.Sprintf("pipeline %s: %s", r.Pipeline, r.Message)))
}

// await waits, by watching, for the answer of the controllers.
func (o *options) await(parent context.Context, requester *Requester, p *pipelines.Pipeline, r Result) (Result, error) {
	ctx, cancel := context.WithCancel(parent)
	if o.timeout > 0 {
		ctx, cancel = context.WithTimeout(parent, o.timeout)
	}
	defer cancel()
	requester.Access.Tell("pipeline %s: %s", r.Pipeline, r.Message)
	for ctx.Err() == nil {
		current, err := requester.Read(ctx, p.Name)
		if err == nil {
			current, err = requester.untilAnswered(ctx, current, r.ID)
		}
		if err != nil && ctx.Err() == nil {
			return r, err
		}
		if current == nil {
			continue
		}
		if answer := steer.AnswerTo(current, r.ID); answer != nil {
			r.Accepted, r.Message = &answer.Accepted, answer.Message
			return r, nil
		}
	}
	return r, o.unanswered(parent, requester, r)
}

// untilAnswered follows a pipeline as long as one watch lasts, or until there is an answer.
func (r *Requester) untilAnswered(ctx context.Context, p *pipelines.Pipeline, id string) (*pipelines.Pipeline, error) {
	if steer.AnswerTo(p, id) != nil {
		return p, nil
	}
	options := &client.ListOptions{Namespace: p.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", p.Name)}
	watcher, err := r.Client.Watch(ctx, &pipelines.PipelineList{}, options)
	if err != nil {
		return nil, r.Access.Explain(err, "watch pipeline "+p.Name, r.Namespace)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		current, ok := event.Object.(*pipelines.Pipeline)
		if ok && event.Type != watch.Deleted && steer.AnswerTo(current, id) != nil {
			return current, nil
		}
		if event.Type == watch.Deleted {
			return nil, &cli.Problem{
				Code:  cli.ExitNotFound,
				What:  fmt.Sprintf("pipeline %s was deleted", p.Name),
				Where: r.Access.Where(r.Namespace),
			}
		}
	}
	return nil, nil
}

func (o *options) unanswered(parent context.Context, requester *Requester, r Result) error {
	again := requester.Access.Suggest(requester.Namespace, "pipeline", "status", r.Pipeline)
	if parent.Err() != nil {
		requester.Access.Tell("Detached; the request remains. To follow it:\n  %s", again)
		return &cli.CodedError{Code: cli.ExitDetached}
	}
	return &cli.Problem{
		Code: cli.ExitTimeout, What: fmt.Sprintf("timed out after %s waiting for the controllers to answer; the request remains", o.timeout),
		Where: requester.Access.Where(requester.Namespace), Next: []string{again},
	}
}

// ResourceName names a pipeline in the form that kubectl takes.
func ResourceName(pipeline string) string { return "pipeline." + pipelines.GroupName + "/" + pipeline }
