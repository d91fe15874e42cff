// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Ask is a user's decision on a promotion. It applies to the environment, revision and run that it names.
type Ask struct {
	Environment, Revision string
	// Run 0 is the current one.
	Run         int64
	By, Message string
	Method      pipelines.ApprovalMethod
	// Nonce is the nonce of a signed call.
	Nonce string
	Time  time.Time
	// Anyone asks for the result if a permitted user who has not decided yet decides now.
	Anyone bool
}

// Answer is the result of an Ask that was accepted.
type Answer struct {
	// Already reports that the decision was made before, so that nothing has changed.
	Already   bool
	Promotion pipelines.PromotionStatus
	Message   string
}

// Refusal is why an Ask has no effect. It has changed nothing.
type Refusal struct {
	Reason  RefusalReason
	Message string
}

// Error returns the message, which may be shown to the caller.
func (r *Refusal) Error() string { return r.Message }

// RefusalReason is one word for why an Ask has no effect.
type RefusalReason string

const (
	// RefusedUnknownEnvironment is for environments to which nothing is promoted.
	RefusedUnknownEnvironment RefusalReason = "UnknownEnvironment"
	// RefusedNothingWaits is for environments without a promotion to decide on.
	RefusedNothingWaits RefusalReason = "NothingWaits"
	// RefusedStale is for revisions and runs that are not the current ones.
	RefusedStale RefusalReason = "Stale"
	// RefusedDecided is for promotions that were already decided otherwise.
	RefusedDecided RefusalReason = "AlreadyDecided"
	// RefusedBegun is for promotions that have started.
	RefusedBegun RefusalReason = "AlreadyBegun"
	// RefusedNotApprover is for approvals by users who are not among the approvers, or who cannot replace the remaining ones.
	RefusedNotApprover RefusalReason = "NotApprover"
	// RefusedMalformed is for malformed requests.
	RefusedMalformed RefusalReason = "Malformed"
)

func refuse(reason RefusalReason, format string, arguments ...any) (Answer, error) {
	return Answer{}, &Refusal{Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// Approve approves a promotion that waits for approval; it continues once it has as many approvals as the pipeline demands. Repeating an
// approval changes nothing and is not an error.
func Approve(p *pipelines.Pipeline, ask Ask) (Answer, error) {
	e, err := asked(p, ask)
	if err != nil {
		return Answer{}, err
	}
	record := e.Promotion
	switch {
	case record.State == pipelines.PromotionUnapproved:
		return voteOn(p, e, ask)
	case record.State == pipelines.PromotionRejected:
		return refuse(
			RefusedDecided,
			"revision %s was rejected for environment %s%s; retry it first",
			record.Revision,
			ask.Environment,
			by(decider(record)),
		)
	case approved(record):
		return Answer{
			Already:   true,
			Promotion: *record,
			Message:   fmt.Sprintf("revision %s is already approved for environment %s", record.Revision, ask.Environment),
		}, nil
	}
	return refuse(
		RefusedNothingWaits,
		"the promotion of revision %s to environment %s is not waiting for approval: it is %s",
		record.Revision,
		ask.Environment,
		record.State,
	)
}

// Reject rejects a promotion that has not started.
func Reject(p *pipelines.Pipeline, ask Ask) (Answer, error) {
	e, err := asked(p, ask)
	if err != nil {
		return Answer{}, err
	}
	record := e.Promotion
	switch record.State {
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted:
		decide(e, ask, pipelines.DecisionRejected)
		*e = moveTo(*e, pipelines.PromotionRejected, seconds(ask.Time))
		p.Status.Environments[ask.Environment] = *e
		return Answer{
			Promotion: *e.Promotion,
			Message:   fmt.Sprintf("promotion of revision %s to environment %s is rejected", record.Revision, ask.Environment),
		}, nil
	case pipelines.PromotionRejected:
		return Answer{
			Already:   true,
			Promotion: *record,
			Message:   fmt.Sprintf("revision %s is already rejected for environment %s", record.Revision, ask.Environment),
		}, nil
	}
	return refuse(
		RefusedBegun,
		"the promotion of revision %s to environment %s has started and is %s: close its pull request, or hold the environment",
		record.Revision,
		ask.Environment,
		record.State,
	)
}

// PromoteNow starts a promotion now: it counts as an approval, and overrides minHealthy and windows, but neither suspension nor holds.
func PromoteNow(p *pipelines.Pipeline, ask Ask) (Answer, error) {
	e, err := asked(p, ask)
	if err != nil {
		return Answer{}, err
	}
	record := e.Promotion
	switch record.State {
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted, pipelines.PromotionFailed:
	case pipelines.PromotionAttempting, pipelines.PromotionCreated, pipelines.PromotionSucceeded, pipelines.PromotionComplete:
		return Answer{
			Already:   true,
			Promotion: *record,
			Message:   fmt.Sprintf("the promotion of revision %s to environment %s has already started", record.Revision, ask.Environment),
		}, nil
	default:
		return refuse(
			RefusedNothingWaits,
			"the promotion of revision %s to environment %s is %s; retry it",
			record.Revision,
			ask.Environment,
			record.State,
		)
	}
	if !approved(record) {
		if err := voteAtOnce(p, e, ask); err != nil {
			return Answer{}, err
		}
	}
	record.Expedited = true
	*e = moveTo(*e, pipelines.PromotionUnattempted, seconds(ask.Time))
	p.Status.Environments[ask.Environment] = *e
	return Answer{
		Promotion: *e.Promotion,
		Message:   fmt.Sprintf("promoting revision %s to environment %s now", record.Revision, ask.Environment),
	}, nil
}

// Retry restarts a promotion. One in state Failed continues under its key; otherwise, another promotion of the same revision replaces it,
// which needs a new approval.
func Retry(p *pipelines.Pipeline, ask Ask) (Answer, error) {
	e, err := asked(p, ask)
	if err != nil {
		return Answer{}, err
	}
	record := e.Promotion
	now := seconds(ask.Time)
	switch record.State {
	case pipelines.PromotionFailed:
		*e = moveTo(*e, pipelines.PromotionUnattempted, now)
	case pipelines.PromotionAbandoned, pipelines.PromotionRejected, pipelines.PromotionRolledBack, pipelines.PromotionStalled:
		next := newPromotion(p.Spec, environmentOf(p, ask.Environment), Identity{
			Namespace: p.Namespace, Name: p.Name, Environment: ask.Environment,
			Revision: record.Revision, Run: record.Run, Retries: record.Retries + 1,
		}, now)
		next.Downgrade = record.Downgrade
		*e = keepInHistory(*e)
		e.Promotion = &next
		*e = moveTo(*e, next.State, now)
	default:
		return refuse(
			RefusedNothingWaits,
			"the promotion of revision %s to environment %s needs no retry: it is %s",
			record.Revision,
			ask.Environment,
			record.State,
		)
	}
	p.Status.Environments[ask.Environment] = *e
	return Answer{
		Promotion: *e.Promotion,
		Message:   fmt.Sprintf("retrying the promotion of revision %s to environment %s", record.Revision, ask.Environment),
	}, nil
}

// asked returns a copy of the status of the environment for whose promotion a decision is made.
func asked(p *pipelines.Pipeline, ask Ask) (*pipelines.EnvironmentStatus, error) {
	i := slices.IndexFunc(p.Spec.Environments, func(e pipelines.Environment) bool { return e.Name == ask.Environment })
	if i < 0 {
		return nil, &Refusal{RefusedUnknownEnvironment, fmt.Sprintf("the pipeline has no environment %s", ask.Environment)}
	}
	if i == 0 {
		return nil, &Refusal{
			RefusedUnknownEnvironment,
			fmt.Sprintf("nothing is promoted to environment %s: it is the first one", ask.Environment),
		}
	}
	recorded := p.Status.Environments[ask.Environment]
	e := recorded.DeepCopy()
	record := e.Promotion
	switch {
	case record == nil || record.State == pipelines.PromotionSuperseded:
		return nil, &Refusal{RefusedNothingWaits, fmt.Sprintf("there is no promotion to environment %s", ask.Environment)}
	case record.Revision != ask.Revision:
		return nil, &Refusal{
			RefusedStale,
			fmt.Sprintf("the promotion to environment %s is for revision %s, not %s", ask.Environment, record.Revision, ask.Revision),
		}
	case ask.Run != 0 && record.Run != ask.Run:
		return nil, &Refusal{
			RefusedStale,
			fmt.Sprintf("the promotion to environment %s belongs to run %d, not %d", ask.Environment, record.Run, ask.Run),
		}
	case !current(p, record):
		return nil, &Refusal{
			RefusedStale,
			fmt.Sprintf(
				"revision %s is no longer the current one: it is %s, of run %d",
				record.Revision,
				p.Status.Run.Revision,
				p.Status.Run.Number,
			),
		}
	}
	return e, nil
}

// current reports whether a promotion belongs to the current run. In the mode Pairwise, each environment has its own.
func current(p *pipelines.Pipeline, record *pipelines.PromotionStatus) bool {
	return p.Spec.Mode.OrDefault() == pipelines.ModePairwise || p.Status.Run == nil ||
		isFor(record, p.Status.Run.Revision, p.Status.Run.Number)
}

func environmentOf(p *pipelines.Pipeline, name string) pipelines.Environment {
	i := slices.IndexFunc(p.Spec.Environments, func(e pipelines.Environment) bool { return e.Name == name })
	return p.Spec.Environments[i]
}

func decide(e *pipelines.EnvironmentStatus, ask Ask, decision pipelines.Decision) {
	made := decisionOf(ask, decision)
	e.Promotion.Approval = &made
}

func decisionOf(ask Ask, decision pipelines.Decision) pipelines.Approval {
	return pipelines.Approval{
		Decision: decision, By: shorten(ask.By, maxOldMessage), Method: ask.Method, Time: seconds(ask.Time),
		Message: shorten(ask.Message, maxOldMessage), Nonce: ask.Nonce,
	}
}

func seconds(at time.Time) metav1.Time { return metav1.NewTime(at.UTC().Truncate(time.Second)) }

// answer executes requests, each once, and returns the answers to record, the latest first.
func answer(f facts, l ledger) (ledger, []pipelines.RequestStatus) {
	answers := f.Status.Requests
	for _, request := range f.Requests[:min(len(f.Requests), pipelines.MaxRequests)] {
		if answered(answers, request.ID) {
			continue
		}
		before := l.of(request.Environment)
		after, given := answerTo(f, before, request)
		l = l.each(func(r record) record {
			if r.name == after.name {
				return after
			}
			return r
		}).tell(answerNews(given, before, after))
		answers = slices.Concat([]pipelines.RequestStatus{given}, answers[:min(len(answers), pipelines.MaxRequests-1)])
	}
	return l, answers
}

func answered(answers []pipelines.RequestStatus, id string) bool {
	return slices.ContainsFunc(answers, func(r pipelines.RequestStatus) bool { return r.ID == id })
}

// answerTo executes one request, which concerns one environment.
func answerTo(f facts, r record, request Request) (record, pipelines.RequestStatus) {
	p := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.Name}, Spec: f.Spec}
	p.Status.Run, p.Status.Environments = f.run, map[string]pipelines.EnvironmentStatus{r.name: r.EnvironmentStatus}
	answer, err := carryOut(f, p, request)
	r.EnvironmentStatus = p.Status.Environments[r.name]
	given := pipelines.RequestStatus{
		ID: request.ID, Action: request.Action, Environment: request.Environment, Revision: request.Revision,
		By: shorten(request.By, maxOldMessage), Time: f.now, Accepted: err == nil, Message: answer.Message,
	}
	if err != nil {
		given.Message = err.Error()
	}
	given.Message = shorten(given.Message, maxOldMessage)
	return r, given
}

func answerNews(given pipelines.RequestStatus, before, after record) News {
	news := News{Warning: !given.Accepted, Reason: "RequestRefused", Environment: given.Environment}
	if given.Accepted {
		news.Reason, news.From, news.To = "RequestAccepted", before.Promotion.State, after.Promotion.State
		news.Strategy = after.Promotion.Strategy
	}
	news.Message = shorten(fmt.Sprintf("request to %s%s: %s", given.Action, by(given.By), given.Message), maxMessage)
	return news
}

func carryOut(f facts, p *pipelines.Pipeline, request Request) (Answer, error) {
	if request.Problem != "" {
		return refuse(RefusedMalformed, "annotation %s: %s", request.Annotation, request.Problem)
	}
	if f.Deleted {
		return refuse(RefusedNothingWaits, "the pipeline is being deleted")
	}
	ask := Ask{
		Environment: request.Environment, Revision: request.Revision, Run: request.Run, By: request.By, Message: request.Message,
		Method: pipelines.ApprovalKubernetesAPI, Time: f.now.Time,
	}
	switch request.Action {
	case pipelines.RequestApprove:
		return Approve(p, ask)
	case pipelines.RequestReject:
		return Reject(p, ask)
	case pipelines.RequestPromote:
		return PromoteNow(p, ask)
	case pipelines.RequestRetry:
		return Retry(p, ask)
	}
	return refuse(
		RefusedMalformed,
		"annotation %s requests %q: use approve, reject, promote or retry",
		request.Annotation,
		request.Action,
	)
}

// requestText is the value of an annotation that makes a request or a hold.
type requestText struct {
	ID          string                  `json:"id,omitempty"`
	Action      pipelines.RequestAction `json:"action,omitempty"`
	Environment string                  `json:"environment,omitempty"`
	Revision    string                  `json:"revision,omitempty"`
	Run         int64                   `json:"run,omitempty"`
	By          string                  `json:"by,omitempty"`
	Message     string                  `json:"message,omitempty"`
	Time        metav1.Time             `json:"time,omitzero"`
}

// ReadRequests returns the requests among the annotations of a pipeline, the oldest first.
func ReadRequests(annotations map[string]string) []Request {
	var requests []Request
	for name, value := range annotations {
		if !strings.HasPrefix(name, RequestAnnotationPrefix) {
			continue
		}
		var text requestText
		err := json.Unmarshal([]byte(value), &text)
		request := Request{
			Annotation: name, ID: text.ID, Action: text.Action, Environment: text.Environment, Revision: text.Revision, Run: text.Run,
			By: text.By, Message: text.Message, Time: text.Time.Time,
		}
		switch {
		case err != nil:
			request.Problem = "the value is not a JSON object with id, action, environment and revision"
		case text.Environment == "" || text.Revision == "":
			request.Problem = "environment and revision must be set"
		}
		if requester, named := annotations[RequesterOf(name)]; named {
			request.By = requester
		}
		if request.ID == "" || len(request.ID) > maxID {
			request.ID = digest("request", name, value)[:16]
		}
		requests = append(requests, request)
	}
	slices.SortFunc(requests, func(a, b Request) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Annotation, b.Annotation)
	})
	return requests
}

const maxID = 64

// Text returns the name and value of the annotation that makes the request.
func (r Request) Text() (name, value string) {
	text, _ := json.Marshal(requestText{
		ID:          r.ID,
		Action:      r.Action,
		Environment: r.Environment,
		Revision:    r.Revision,
		Run:         r.Run,
		By:          r.By,
		Message:     r.Message,
		Time:        seconds(r.Time),
	})
	return RequestAnnotationPrefix + AnnotationSuffix(r.Environment), string(text)
}

// Requester returns the name and value of the annotation that names the requester. The admission policy of approvals lets users write
// only their own name there; the name in the request itself counts only if the annotation is missing.
func (r Request) Requester() (name, value string) {
	return RequesterAnnotationPrefix + AnnotationSuffix(r.Environment), r.By
}

// RequesterOf returns the name of the annotation that names the requester of a request.
func RequesterOf(request string) string {
	return RequesterAnnotationPrefix + strings.TrimPrefix(request, RequestAnnotationPrefix)
}

// ReadHolds returns the holds among the annotations of a pipeline, sorted by name. A malformed one holds all environments, because its
// intended scope is unknown.
func ReadHolds(annotations map[string]string) []UserHold {
	var names []string
	for name := range annotations {
		if strings.HasPrefix(name, HoldAnnotationPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var holds []UserHold
	for _, name := range names {
		var text requestText
		if err := json.Unmarshal([]byte(annotations[name]), &text); err != nil {
			holds = append(holds, UserHold{Message: "annotation " + name + " is not a JSON object: correct or remove it"})
			continue
		}
		holds = append(holds, UserHold{
			Environment: text.Environment,
			By:          text.By,
			Message:     shorten(text.Message, maxOldMessage),
			Time:        text.Time.Time,
		})
	}
	return holds
}

// Text returns the name and value of the annotation that makes the hold.
func (h UserHold) Text() (name, value string) {
	text, _ := json.Marshal(requestText{Environment: h.Environment, By: h.By, Message: h.Message, Time: seconds(h.Time)})
	return HoldAnnotationPrefix + AnnotationSuffix(h.Environment), string(text)
}

func decider(p *pipelines.PromotionStatus) string {
	if p.Approval == nil {
		return ""
	}
	return p.Approval.By
}
