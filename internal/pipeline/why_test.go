// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// asObject returns the pipeline as API clients see it.
func (s *scene) asObject() *pipelines.Pipeline {
	p := &pipelines.Pipeline{Spec: s.Spec, Status: *s.Status.DeepCopy()}
	p.Namespace, p.Name, p.Generation = s.Namespace, s.Name, s.Generation
	if s.Deleted {
		now := metav1.NewTime(s.Now)
		p.DeletionTimestamp, p.Finalizers = &now, []string{Finalizer}
	}
	return p
}

func TestWhyTellsTheSameFromTheStatusAlone(t *testing.T) {
	for name, prepare := range map[string]func(*scene){
		"waiting for approval": func(*scene) {},
		"attempting":           func(s *scene) { s.ask(pipelines.RequestApprove, "b", "1").decide() },
		"failed":               func(s *scene) { s.ask(pipelines.RequestApprove, "b", "1").decide(); s.finish(failed(false)).decide() },
		"created":              func(s *scene) { s.ask(pipelines.RequestApprove, "b", "1").decide(); s.finish(opened(7)).decide() },
		"arrived":              func(s *scene) { s.set(1, at("1")).decide() },
		"unreadable":           func(s *scene) { s.set(1, unseen).decide() },
		"unsettled":            func(s *scene) { s.set(0, at("1"), sick("2")).decide() },
		"suspended":            func(s *scene) { s.Spec.Suspend = true; s.decide() },
		"withdrawing": func(s *scene) {
			s.ask(pipelines.RequestApprove, "b", "1").decide()
			s.finish(opened(7)).decide()
			s.set(0, at("2"), at("2")).decide()
		},
		"deleted": func(s *scene) {
			s.ask(pipelines.RequestApprove, "b", "1").decide()
			s.finish(opened(7)).decide()
			s.Deleted = true
			s.decide()
			s.finish(failed(false)).decide()
		},
		"looking up": func(s *scene) {
			s.Status, s.Environments[1].ListingPending = pipelines.PipelineStatus{}, true
			s.decide()
			s.Environments[1].ListingProblem = "the server fails"
			s.decide()
		},
		"an environment is gone": func(s *scene) {
			s.ask(pipelines.RequestApprove, "b", "1").decide()
			s.finish(opened(7)).decide()
			s.Spec.Environments, s.Environments = append(s.Spec.Environments[:1:1], s.Spec.Environments[2]), append(s.Environments[:1:1], s.Environments[2])
			s.decide()
			s.finish(failed(false)).decide()
			if !slices.ContainsFunc(Why(s.Observed), func(e Explanation) bool { return e.Environment == "b" && e.Reason == pipelines.HoldWithdrawing }) {
				s.t.Errorf("nothing tells of the pull request that is being closed: %+v", s.Status.Holds)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, manual(pullRequests()), []Target{at("1"), at("1")}, []Target{at("0")}, []Target{at("0")})
			s.decide()
			prepare(s)
			seen := Why(s.Observed)
			if diff := cmp.Diff(seen, Why(Recall(s.asObject(), s.Now))); diff != "" {
				t.Error(diff)
			}
			if plan := Plan(Recall(s.asObject(), s.Now)); len(plan.Promotions)+len(plan.Withdrawals) > 0 {
				t.Errorf("something is begun from memory: %+v", plan)
			}
			for _, line := range seen {
				if line.Message == "" || line.Reason != "" && (line.Remedy == "" || line.Since.IsZero()) {
					t.Errorf("the line %+v says too little", line)
				}
			}
		})
	}
}

func TestWhyGoesThroughTheEnvironmentsInOrder(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("1")}, []Target{at("0")}, []Target{at("0")})
	s.Spec.Environments[1].MinHealthy = "30m"
	s.decide()
	var lines []string
	for _, line := range Why(s.Observed) {
		lines = append(lines, strings.Join([]string{line.Environment, string(line.Reason), line.Message, line.Until.Format(time.TimeOnly)}, "|"))
	}
	want := []string{
		"a||all targets are healthy at revision 1, run 1 of the pipeline|00:00:00",
		"b||all targets are healthy at revision 1|00:00:00",
		"c|Soaking|environment b must be healthy for 30m, and has been since 2026-03-02T12:00:00Z|12:30:00",
		"d||revision 1 has not reached this environment yet|00:00:00",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestWhyOfAPipelineWhoseTargetsWereNotChecked(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("1")})
	if lines := Why(Recall(s.asObject(), noon)); len(lines) != 1 || lines[0].Message != "the targets have not been checked yet" {
		t.Errorf("lines %+v", lines)
	}
}

// How tools that understand kstatus interpret a pipeline.
func TestConditionsSayWhetherItMoves(t *testing.T) {
	type conditions struct{ ready, reconciling, stalled, pending string }
	for name, test := range map[string]struct {
		prepare func(*scene)
		want    conditions
	}{
		"current":       {func(s *scene) { s.set(1, at("1")) }, conditions{ready: "ReconciliationSucceeded"}},
		"promoting":     {func(*scene) {}, conditions{ready: "ReconciliationSucceeded", reconciling: "Promoting"}},
		"unsettled":     {func(s *scene) { s.set(0, sick("1")) }, conditions{ready: "ReconciliationSucceeded", reconciling: "Unsettled", pending: "EnvironmentNotReady"}},
		"unreadable":    {func(s *scene) { s.set(1, unseen) }, conditions{ready: "TargetNotReadable", reconciling: "TargetNotReadable"}},
		"failed":        {func(s *scene) { s.decide(); s.finish(failed(true)) }, conditions{ready: "Failed", stalled: "Failed"}},
		"to be retried": {func(s *scene) { s.decide(); s.finish(failed(false)) }, conditions{ready: "Retrying", reconciling: "Retrying"}},
		"being retried": {func(s *scene) {
			s.decide()
			s.finish(failed(false)).decide()
			s.pass(time.Minute)
		}, conditions{ready: "Retrying", reconciling: "Promoting"}},
		"to be approved": {func(s *scene) { s.Spec.Promotion = manual(notifications()) }, conditions{ready: "ReconciliationSucceeded", reconciling: "WaitingForApproval"}},
		"to be merged":   {func(s *scene) { s.Spec.Promotion = pullRequests(); s.decide(); s.finish(opened(7)) }, conditions{ready: "ReconciliationSucceeded", reconciling: "WaitingForMerge"}},
		"to be granted": {func(s *scene) {
			s.set(1, Target{Problem: Problem{Reason: pipelines.ReasonReferenceNotPermitted, Message: "may not be referred to"}})
		}, conditions{ready: "RefNotPermitted", reconciling: "RefNotPermitted"}},
		"of no kind that is permitted": {func(s *scene) {
			s.set(1, Target{Problem: Problem{Reason: pipelines.ReasonKindNotPermitted, Message: "is of the wrong kind"}})
		}, conditions{ready: "KindNotPermitted", stalled: "Invalid"}},
		"rejected": {func(s *scene) {
			s.Spec.Promotion = manual(notifications())
			s.decide()
			s.ask(pipelines.RequestReject, "b", "1")
		}, conditions{ready: "Rejected", stalled: "Rejected"}},
		"suspended":       {func(s *scene) { s.Spec.Suspend = true }, conditions{ready: "ReconciliationSucceeded", reconciling: "Suspended"}},
		"to look at only": {func(s *scene) { s.Spec.Promotion = nil }, conditions{ready: "ReconciliationSucceeded"}},
		"invalid":         {func(s *scene) { s.Spec.Environments[0].MinHealthy = "x" }, conditions{ready: "Invalid", stalled: "Invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
			s.Generation = 5
			test.prepare(s)
			s.decide()
			reason := func(kind string) string {
				if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
					return c.Reason
				}
				return ""
			}
			if ready := meta.IsStatusConditionTrue(s.Status.Conditions, pipelines.ConditionReady); ready != (test.want.ready == "ReconciliationSucceeded") {
				t.Errorf("Ready is %t with the reason %s", ready, reason(pipelines.ConditionReady))
			}
			got := conditions{
				reason(
					pipelines.ConditionReady,
				), reason(pipelines.ConditionReconciling), reason(pipelines.ConditionStalled), reason(pipelines.ConditionPromotionPending),
			}
			if got != test.want || s.Status.ObservedGeneration != 5 {
				t.Errorf("the conditions are %+v, want %+v", got, test.want)
			}
		})
	}
}
