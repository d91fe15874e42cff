// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// Decision is a user's decision on a promotion.
type Decision struct {
	Action      pipelines.RequestAction
	Environment string
	// Revision is the one that the decision is about; empty means the current one.
	Revision string
	Message  string
	Time     time.Time
}

// Outcome is the result of a decision. Made says that the same was decided before, and Answer contains that decision; otherwise Request
// was submitted, or existed Already.
type Outcome struct {
	Request pipeline.Request
	Already bool
	Made    bool
	Answer  string
}

// Occupied is the error for an unanswered request: there is room for one per environment.
type Occupied struct {
	Pipeline string
	Pending  pipeline.Request
}

func (e *Occupied) Error() string {
	return fmt.Sprintf("the controllers have not answered the request to %s revision %s for environment %s of pipeline %s yet",
		e.Pending.Action, e.Pending.Revision, e.Pending.Environment, e.Pipeline)
}

// tries execute decisions in memory, or say why they can have no effect.
var tries = map[pipelines.RequestAction]func(*pipelines.Pipeline, pipeline.Ask) (pipeline.Answer, error){
	pipelines.RequestApprove: pipeline.Approve, pipelines.RequestReject: pipeline.Reject,
	pipelines.RequestPromote: pipeline.PromoteNow, pipelines.RequestRetry: pipeline.Retry,
}

// ReadPipeline reads the current state of a pipeline.
func (a Asker) ReadPipeline(ctx context.Context, key client.ObjectKey) (*pipelines.Pipeline, error) {
	current := &pipelines.Pipeline{}
	err := a.Client.Get(ctx, key, current)
	return current, failed(err, "read pipeline %s", key.Name)
}

// readPipelineAgain rereads a pipeline after another writer has changed it.
func (a Asker) readPipelineAgain(ctx context.Context, seen *pipelines.Pipeline) (*pipelines.Pipeline, error) {
	current, err := a.ReadPipeline(ctx, client.ObjectKeyFromObject(seen))
	if err != nil {
		return nil, err
	}
	return current, failed(sameObject(seen, current, pipelines.Resource("pipelines")), "read pipeline %s", seen.Name)
}

// Decide submits a decision, unless it was made before or can have no effect: then the error is a *pipeline.Refusal. A user without the
// right to decide is denied before that.
func (a Asker) Decide(ctx context.Context, p *pipelines.Pipeline, d Decision) (Outcome, error) {
	outcome := Outcome{Request: requestFor(p, d)}
	try, known := tries[d.Action]
	if !known {
		return outcome, fmt.Errorf("unknown decision %q: use approve, reject, promote or retry", d.Action)
	}
	attempted := fmt.Sprintf("%s pipeline %s", d.Action, p.Name)
	if err := a.may(ctx, p, attempted, DecisionVerb, changeVerb); err != nil {
		return outcome, err
	}
	outcome.Request.By = a.User(ctx)
	answer, err := try(p.DeepCopy(), pipeline.Ask{
		Environment: d.Environment, Revision: outcome.Request.Revision, Run: outcome.Request.Run,
		By: outcome.Request.By, Method: pipelines.ApprovalKubernetesAPI, Time: d.Time,
	})
	if err != nil {
		return outcome, err
	}
	if answer.Already {
		outcome.Made, outcome.Answer = true, answer.Message
		return outcome, nil
	}
	outcome.Request, outcome.Already, err = a.handIn(ctx, p, outcome.Request)
	return outcome, err
}

const (
	// DecisionVerb is the verb for the right to decide on promotions in roles.
	DecisionVerb = "approve"
	// changeVerb is the right to write the annotations of decisions and holds.
	changeVerb = "patch"
)

// reasons say why a right is needed, and which role has it.
var reasons = map[string]string{
	DecisionVerb: "decisions on promotions need the right %q on pipelines.%s, which the ClusterRole espalier-approver has",
	changeVerb:   "decisions and holds are annotations, which need the right %q on pipelines.%s; the ClusterRole espalier-approver has it",
}

// may checks whether the user has rights on a pipeline, and names the first that is missing. It also checks where nothing would be
// written, so that no success is reported to a user without the right. The admission policy of approvals checks the right to decide as
// well; where it is not installed, a user who may patch a pipeline can still write the annotation, but not through this package.
func (a Asker) may(ctx context.Context, p *pipelines.Pipeline, attempted string, verbs ...string) error {
	for _, verb := range verbs {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: pipelines.GroupName, Resource: "pipelines", Namespace: p.Namespace, Name: p.Name,
			},
		}}
		if err := a.Client.Create(ctx, review); err != nil {
			return failed(err, "find out what you may do with pipeline %s", p.Name)
		}
		if !review.Status.Allowed {
			why := apierrors.NewForbidden(pipelines.Resource("pipelines"), p.Name, fmt.Errorf(reasons[verb], verb, pipelines.GroupName))
			return &Error{Attempted: attempted, Err: why, Lacks: verb}
		}
	}
	return nil
}

// refused returns the error of a write that failed although the user has the rights.
func refused(err error, attempted string) error {
	return &Error{Attempted: attempted, Err: err, Policy: apierrors.IsForbidden(err)}
}

// requestFor returns the request for a decision, with the current revision and run.
func requestFor(p *pipelines.Pipeline, d Decision) pipeline.Request {
	request := pipeline.Request{
		ID: string(uuid.NewUUID()), Action: d.Action, Environment: d.Environment, Revision: d.Revision, Message: d.Message, Time: d.Time,
	}
	if current := p.Status.Environments[d.Environment].Promotion; current != nil && (d.Revision == "" || d.Revision == current.Revision) {
		request.Revision, request.Run = current.Revision, current.Run
	}
	return request
}

// handIn writes a request unless the same was already submitted, and returns the existing one.
func (a Asker) handIn(
	ctx context.Context,
	p *pipelines.Pipeline,
	request pipeline.Request,
) (there pipeline.Request, already bool, err error) {
	name, value := request.Text()
	written := map[string]*string{name: &value}
	if beside, user := request.Requester(); user != "" {
		written[beside] = &user
	}
	for {
		if pending, found := pendingIn(p, name); found {
			if pending.Action == request.Action && pending.Revision == request.Revision && pending.By == request.By {
				return pending, true, nil
			}
			return pending, false, &Occupied{Pipeline: p.Name, Pending: pending}
		}
		err := a.annotateAll(ctx, p, written)
		if err == nil {
			return request, false, nil
		}
		if !apierrors.IsConflict(err) {
			return request, false, refused(err, fmt.Sprintf("%s pipeline %s", request.Action, p.Name))
		}
		if p, err = a.readPipelineAgain(ctx, p); err != nil {
			return request, false, err
		}
	}
}

func pendingIn(p *pipelines.Pipeline, annotation string) (pipeline.Request, bool) {
	requests := pipeline.ReadRequests(p.Annotations)
	i := slices.IndexFunc(requests, func(r pipeline.Request) bool { return r.Annotation == annotation })
	if i < 0 || AnswerTo(p, requests[i].ID) != nil {
		return pipeline.Request{}, false // An answered one is about to be removed.
	}
	return requests[i], true
}

// AnswerTo returns the answer to a request; nil if there is none yet.
func AnswerTo(p *pipelines.Pipeline, id string) *pipelines.RequestStatus {
	i := slices.IndexFunc(p.Status.Requests, func(r pipelines.RequestStatus) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Status.Requests[i]
}

// HoldChange holds promotions to an environment, or to all environments if none is named, or releases them.
type HoldChange struct {
	Environment, Message string
	Release              bool
	Time                 time.Time
}

// isMade reports whether the change was already made, given whether a hold exists and its text. A hold with another message replaces it.
func (c HoldChange) isMade(text string, held bool) bool {
	if c.Release || !held {
		return c.Release != held
	}
	if c.Message == "" {
		return true
	}
	there := pipeline.ReadHolds(map[string]string{pipeline.HoldAnnotationPrefix: text})
	return len(there) == 1 && there[0].Message == c.Message
}

// UnknownEnvironment is the error for an environment that a pipeline does not have.
type UnknownEnvironment struct{ Pipeline, Environment string }

func (e *UnknownEnvironment) Error() string {
	return fmt.Sprintf("pipeline %s has no environment %s", e.Pipeline, e.Environment)
}

// Hold writes or removes a hold. It reports whether that has changed anything; a hold with another message has. It rejects environments
// that do not exist, unless the hold of one is removed, and denies users who may not change the pipeline.
func (a Asker) Hold(ctx context.Context, p *pipelines.Pipeline, change HoldChange) (changed bool, err error) {
	if !change.Release && !hasEnvironment(p, change.Environment) {
		return false, &UnknownEnvironment{Pipeline: p.Name, Environment: change.Environment}
	}
	attempted := "change pipeline " + p.Name
	if err := a.may(ctx, p, attempted, changeVerb); err != nil {
		return false, err
	}
	hold := pipeline.UserHold{Environment: change.Environment, Message: change.Message, Time: change.Time}
	if !change.Release {
		hold.By = a.User(ctx)
	}
	name, value := hold.Text()
	for {
		text, held := p.Annotations[name]
		if change.isMade(text, held) {
			return false, nil
		}
		wanted := &value
		if change.Release {
			wanted = nil
		}
		err := a.annotate(ctx, p, name, wanted)
		if err == nil {
			return true, nil
		}
		if !apierrors.IsConflict(err) {
			return false, refused(err, attempted)
		}
		if p, err = a.readPipelineAgain(ctx, p); err != nil {
			return false, err
		}
	}
}

// hasEnvironment reports whether a pipeline has an environment; an empty name stands for all of them.
func hasEnvironment(p *pipelines.Pipeline, name string) bool {
	return name == "" || slices.ContainsFunc(p.Spec.Environments, func(e pipelines.Environment) bool { return e.Name == name })
}

// SaidOfHold describes the result of a change.
func SaidOfHold(change HoldChange, changed bool) string {
	what := "all environments are"
	if change.Environment != "" {
		what = fmt.Sprintf("environment %s is", change.Environment)
	}
	switch {
	case change.Release && changed:
		return what + " released"
	case change.Release:
		return what + " not held"
	case changed:
		return what + " held"
	}
	return what + " already held"
}
