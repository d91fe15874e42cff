// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
)

// Before returns the time some hours before Now, in the form of statuses.
func Before(hours int) metav1.Time {
	return metav1.NewTime(Ago(time.Duration(hours) * time.Hour).UTC().Truncate(time.Second))
}

// Line stores a pipeline in the middle of a run: revision 1.3.0 has reached staging, and waits for approval for production, which consists
// of two clusters.
func Line(t testing.TB, server *testkit.APIServer, namespace string) *pipelines.Pipeline {
	t.Helper()
	line := testkit.Pipeline(namespace, "shop").Notification().
		Environment("dev", "shop-dev").Environment("staging", "shop-staging").
		EnvironmentOn("east", "production", "shop").EnvironmentOn("west", "production", "shop").Build()
	manual := *line.Spec.Promotion
	manual.Manual = true
	line.Spec.Environments[2].Promotion = &manual
	status := &line.Status
	status.ObservedGeneration, status.LatestRevision = 1, "1.3.0"
	status.Run = &pipelines.Run{Number: 4, Revision: "1.3.0", StartTime: Before(20)}
	arrived := Before(19)
	previous := PromotionOf(line, "production", pipelines.PromotionStatus{
		Revision: "1.2.0", Run: 3, State: pipelines.PromotionComplete, StartTime: Before(70), CompletionTime: new(Before(66)), Attempts: 1,
		Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Method: pipelines.ApprovalKubernetesAPI, Time: Before(68)},
	})
	waiting := PromotionOf(line, "production", pipelines.PromotionStatus{
		Revision: "1.3.0", Run: 4, State: pipelines.PromotionUnapproved, StartTime: Before(19),
	})
	carried := PromotionOf(line, "staging", pipelines.PromotionStatus{
		Revision: "1.3.0", Run: 4, State: pipelines.PromotionComplete, StartTime: Before(20), CompletionTime: &arrived, Attempts: 2,
	})
	status.Environments = map[string]pipelines.EnvironmentStatus{
		"dev": {Targets: targetsAt(line, 0, "1.3.0"), Healthy: &pipelines.EnvironmentHealth{Revision: "1.3.0", Since: Before(20)}},
		"staging": {
			Targets:   targetsAt(line, 1, "1.3.0"),
			Healthy:   &pipelines.EnvironmentHealth{Revision: "1.3.0", Since: arrived},
			Promotion: &carried,
		},
		"production": {
			Targets: targetsAt(line, 2, "1.2.0"), Healthy: &pipelines.EnvironmentHealth{Revision: "1.2.0", Since: Before(66)},
			WaitingApproval: pipelines.WaitingApproval{Revision: "1.3.0"}, Promotion: &waiting, History: []pipelines.PromotionStatus{previous},
		},
	}
	status.Holds = []pipelines.Hold{{
		Environment: "production", Reason: pipelines.HoldWaitingForApproval, Revision: "1.3.0", Since: Before(19),
		Message: "revision 1.3.0 needs approval for environment production",
	}}
	status.Conditions = []metav1.Condition{{
		Type:               pipelines.ConditionReady,
		Status:             metav1.ConditionTrue,
		Reason:             pipelines.ReasonReconciliationSucceeded,
		Message:            "All clusters checked",
		LastTransitionTime: Before(20),
	}}
	Store(t, server, line)
	return line
}

// PromotionOf completes a record as the controller does.
func PromotionOf(p *pipelines.Pipeline, environment string, record pipelines.PromotionStatus) pipelines.PromotionStatus {
	record.Strategy = pipelines.StrategyNotification
	record.Key = pipeline.Identity{
		Namespace:   p.Namespace,
		Name:        p.Name,
		Environment: environment,
		Revision:    record.Revision,
		Run:         record.Run,
	}.Key()
	return record
}

func targetsAt(p *pipelines.Pipeline, environment int, revision string) []pipelines.TargetStatus {
	var targets []pipelines.TargetStatus
	for _, target := range p.Spec.Environments[environment].Targets {
		targets = append(targets, pipelines.TargetStatus{
			ClusterAppRef: pipelines.ClusterAppReference{AppReference: p.Spec.AppRef, ClusterRef: target.ClusterRef},
			Namespace:     target.Namespace, Ready: true, Revision: revision,
		})
	}
	return targets
}

// WriteStatus changes the status of a pipeline as a controller does.
func WriteStatus(t testing.TB, server *testkit.APIServer, p *pipelines.Pipeline, change func(*pipelines.Pipeline)) {
	t.Helper()
	current := &pipelines.Pipeline{}
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(p), current); err != nil {
		t.Fatal(err)
	}
	change(current)
	if err := server.Client().Status().Update(t.Context(), current); err != nil {
		t.Fatalf("write the status: %v", err)
	}
}
