// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// vote is a decision by one user, and its expected result.
type vote struct {
	action pipelines.RequestAction // approve if it is empty
	by     string
	method pipelines.ApprovalMethod
	// refused and already say which answer is expected; without either, the vote must be accepted.
	refused, already bool
	state            pipelines.PromotionState
	// told is an expected part of the answer.
	told string
}

const (
	unapproved  = pipelines.PromotionUnapproved
	unattempted = pipelines.PromotionUnattempted
)

func TestQuorumAndApprovers(t *testing.T) {
	users := func(names ...string) (all []pipelines.Approver) {
		for _, name := range names {
			all = append(all, pipelines.Approver{User: name})
		}
		return all
	}
	for name, test := range map[string]struct {
		demands *pipelines.ApprovalPolicy
		votes   []vote
	}{
		"nothing is demanded": {nil, []vote{{by: "ann", state: unattempted}}},
		"nobody needs a name": {&pipelines.ApprovalPolicy{}, []vote{{state: unattempted}}},
		"two of anybody": {&pipelines.ApprovalPolicy{Quorum: 2}, []vote{
			{by: "ann", state: unapproved, told: "has 1 of 2 approvals (ann): 1 more must approve"},
			{by: "ann", already: true, state: unapproved, told: "ann has already approved"},
			{by: "bob", state: unattempted, told: "is approved"},
			{by: "cay", already: true, state: unattempted},
		}},
		"nameless ones do not count": {&pipelines.ApprovalPolicy{Quorum: 2}, []vote{
			{refused: true, state: unapproved, told: "need a user name"},
			{by: strings.Repeat("x", 251), refused: true, state: unapproved, told: "at most 250 bytes"},
		}},
		"a key is no user": {&pipelines.ApprovalPolicy{Quorum: 2}, []vote{
			{by: "gate", state: unapproved},
			{by: "gate", method: pipelines.ApprovalToken, already: true, state: unapproved},
			{by: "gate", method: pipelines.ApprovalWebhook, state: unattempted},
		}},
		"one key counts once, however it signs": {&pipelines.ApprovalPolicy{Quorum: 2}, []vote{
			{by: "gate", method: pipelines.ApprovalWebhook, state: unapproved, told: "(key gate)"},
			{by: "gate", method: pipelines.ApprovalLegacyWebhook, already: true, state: unapproved},
		}},
		"a list": {&pipelines.ApprovalPolicy{Approvers: append(users("ann"), pipelines.Approver{Key: "gate"})}, []vote{
			{by: "bob", refused: true, state: unapproved, told: "bob is not among the approvers of environment b: 0 of 1 approvals, missing: ann, key gate"},
			{by: "ann", method: pipelines.ApprovalWebhook, refused: true, state: unapproved, told: "key ann is not among"},
			{by: "gate", refused: true, state: unapproved, told: "gate is not among"},
			{action: pipelines.RequestPromote, by: "bob", refused: true, state: unapproved},
			{by: "gate", method: pipelines.ApprovalWebhook, state: unattempted},
		}},
		"two of a list": {&pipelines.ApprovalPolicy{Quorum: 2, Approvers: users("ann", "bob", "cay")}, []vote{
			{by: "bob", state: unapproved, told: "1 of 2 approvals (bob), missing: ann, cay: 1 more must approve"},
			{by: "dan", refused: true, state: unapproved},
			{by: "cay", state: unattempted},
		}},
		"more than there are": {&pipelines.ApprovalPolicy{Quorum: 3, Approvers: users("ann", "bob")}, []vote{
			{by: "ann", state: unapproved, told: "1 of 3 approvals (ann), which can never be enough"},
		}},
		"one rejection is enough, of anybody": {&pipelines.ApprovalPolicy{Quorum: 2, Approvers: users("ann", "bob")}, []vote{
			{by: "ann", state: unapproved},
			{action: pipelines.RequestReject, by: "cay", state: pipelines.PromotionRejected},
			{by: "bob", refused: true, state: pipelines.PromotionRejected},
		}},
		"a retry restarts the count": {&pipelines.ApprovalPolicy{Quorum: 2}, []vote{
			{by: "ann", state: unapproved},
			{action: pipelines.RequestReject, by: "cay", state: pipelines.PromotionRejected},
			{action: pipelines.RequestRetry, by: "ann", state: unapproved},
			{by: "bob", state: unapproved, told: "1 of 2 approvals (bob)"},
		}},
		"to promote now is one approval": {&pipelines.ApprovalPolicy{Quorum: 2}, []vote{
			{action: pipelines.RequestPromote, by: "ann", refused: true, state: unapproved, told: "0 of 2 approvals"},
			{by: "ann", state: unapproved},
			{action: pipelines.RequestPromote, by: "ann", refused: true, state: unapproved, told: "1 of 2 approvals (ann)"},
			{action: pipelines.RequestPromote, by: "bob", state: unattempted},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			block := manual(notifications())
			block.Approval = test.demands
			s := newScene(t, block, []Target{at("1")}, []Target{at("0")})
			s.decide()
			p := &pipelines.Pipeline{Spec: s.Spec, Status: s.Status}
			for i, v := range test.votes {
				v.check(t, i, p)
			}
		})
	}
}

func (v vote) check(t *testing.T, i int, p *pipelines.Pipeline) {
	t.Helper()
	do := map[pipelines.RequestAction]func(*pipelines.Pipeline, Ask) (Answer, error){
		"": Approve, pipelines.RequestReject: Reject, pipelines.RequestPromote: PromoteNow, pipelines.RequestRetry: Retry,
	}[v.action]
	if v.method == "" {
		v.method = pipelines.ApprovalKubernetesAPI
	}
	answer, err := do(p, Ask{Environment: "b", Revision: "1", By: v.by, Method: v.method, Time: noon})
	said := answer.Message
	if err != nil {
		said = err.Error()
	}
	if (err != nil) != v.refused || answer.Already != v.already || !strings.Contains(said, v.told) {
		t.Errorf("vote %d is answered with %+v, %v", i, answer, err)
	}
	if err != nil && !errors.As(err, new(*Refusal)) {
		t.Errorf("vote %d is refused by a %T", i, err)
	}
	e := p.Status.Environments["b"]
	if e.Promotion.State != v.state {
		t.Errorf("after vote %d it is %s, want %s", i, e.Promotion.State, v.state)
	}
	if waits := e.WaitingApproval.Revision != ""; waits != (v.state == unapproved) || waits && e.Promotion.Approval != nil {
		t.Errorf("after vote %d the marker is %q, and the approval %+v", i, e.WaitingApproval.Revision, e.Promotion.Approval)
	}
	if p.Status.Environments["b"].Promotion.Expedited != (v.action == pipelines.RequestPromote && !v.refused) {
		t.Errorf("after vote %d expedited is %v", i, p.Status.Environments["b"].Promotion.Expedited)
	}
}

// quorumOfTwo returns a promotion that ann has approved, and that waits for a second approval.
func quorumOfTwo(t *testing.T) *scene {
	t.Helper()
	block := manual(notifications())
	block.Approval = &pipelines.ApprovalPolicy{Quorum: 2}
	s := newScene(t, block, []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.askAs("ann", "b", "1").wantPromotions()
	s.wantState("b", unapproved)
	s.wantHolds("b:WaitingForApproval")
	if told := s.Status.Holds[0].Message; !strings.Contains(told, "has 1 of 2 approvals (ann)") {
		t.Errorf("the hold says %q", told)
	}
	return s
}

// askAs approves in the name of a user.
func (s *scene) askAs(user, environment, revision string) *scene {
	s.t.Helper()
	s.pass(time.Second).ask(pipelines.RequestApprove, environment, revision)
	s.Requests[len(s.Requests)-1].By = user
	return s
}

func TestAQuorumIsReachedByDifferentUsers(t *testing.T) {
	s := quorumOfTwo(t)
	s.askAs("ann", "b", "1").wantPromotions()
	s.askAs("bob", "b", "1").wantPromotions("b:1")
	given := s.record("b")
	if len(given.Approvals) != 2 || given.Approvals[0].By != "ann" || given.Approvals[1].By != "bob" || given.Approval.By != "bob" {
		t.Errorf("recorded are %+v, the last is %+v", given.Approvals, given.Approval)
	}
}

func TestANewRevisionHasNoApprovals(t *testing.T) {
	s := quorumOfTwo(t)
	s.set(0, at("2"))
	s.decide()
	s.askAs("bob", "b", "2").wantPromotions()
	if given := s.record("b").Approvals; len(given) != 1 || given[0].By != "bob" {
		t.Errorf("recorded are %+v", given)
	}
}

// The current demands count, as long as the promotion has not started.
func TestApprovalsCountByWhatIsDemandedNow(t *testing.T) {
	for name, test := range map[string]struct {
		demands *pipelines.ApprovalPolicy
		want    []string
		message string
	}{
		"less":                   {&pipelines.ApprovalPolicy{Quorum: 1}, []string{"b:1"}, ""},
		"nothing":                {nil, []string{"b:1"}, ""},
		"more":                   {&pipelines.ApprovalPolicy{Quorum: 3}, nil, "1 of 3 approvals (ann)"},
		"somebody else":          {&pipelines.ApprovalPolicy{Approvers: []pipelines.Approver{{User: "cay"}}}, nil, "0 of 1 approvals, missing: cay"},
		"somebody else and more": {&pipelines.ApprovalPolicy{Quorum: 1, Approvers: []pipelines.Approver{{Key: "ann"}}}, nil, "missing: key ann"},
	} {
		t.Run(name, func(t *testing.T) {
			s := quorumOfTwo(t)
			s.Spec.Promotion.Approval = test.demands
			s.Generation++
			s.wantPromotions(test.want...)
			if test.message == "" {
				if given := s.record("b").Approval; given == nil || given.By != "ann" {
					t.Errorf("recorded is %+v", given)
				}
				return
			}
			if told := s.Status.Holds[0].Message; !strings.Contains(told, test.message) {
				t.Errorf("the hold says %q", told)
			}
		})
	}
}

// The annotation that the admission policy guards names the requester; what the request says counts only without it.
func TestTheRequesterIsTheOneOfTheAnnotation(t *testing.T) {
	request := Request{ID: "a", Action: pipelines.RequestApprove, Environment: "b", Revision: "1", By: "claimed", Time: noon}
	name, value := request.Text()
	if got := ReadRequests(map[string]string{name: value}); len(got) != 1 || got[0].By != "claimed" {
		t.Errorf("without the annotation it is %+v", got)
	}
	request.By = "real"
	beside, user := request.Requester()
	if beside != RequesterOf(name) || user != "real" {
		t.Errorf("the annotation is %s: %s", beside, user)
	}
	if got := ReadRequests(map[string]string{name: value, beside: user}); len(got) != 1 || got[0].By != "real" {
		t.Errorf("with the annotation it is %+v", got)
	}
	other := RequesterAnnotationPrefix + AnnotationSuffix("c")
	if got := ReadRequests(map[string]string{name: value, other: user}); len(got) != 1 || got[0].By != "claimed" {
		t.Errorf("with that of another environment it is %+v", got)
	}
}
