// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
)

// Metrics of pipelines have the exact numbers of what the statuses contain.
func TestPipelinesAreCounted(t *testing.T) {
	var s State
	for _, p := range []*pipelinesv1alpha1.Pipeline{
		pipelineWith(metav1.ConditionTrue, nil, map[string]*pipelinesv1alpha1.PromotionStatus{
			"dev": nil, "staging": promotion(pipelinesv1alpha1.PromotionComplete, pipelinesv1alpha1.PullRequestMerged),
			"prod": promotion(pipelinesv1alpha1.PromotionCreated, pipelinesv1alpha1.PullRequestOpen),
		}),
		pipelineWith(metav1.ConditionFalse, []pipelinesv1alpha1.HoldReason{pipelinesv1alpha1.HoldFailed, pipelinesv1alpha1.HoldSoaking},
			map[string]*pipelinesv1alpha1.PromotionStatus{
				"dev": nil, "staging": promotion(pipelinesv1alpha1.PromotionComplete, ""), "prod": promotion(pipelinesv1alpha1.PromotionFailed, ""),
			}),
		pipelineWith(metav1.ConditionFalse, []pipelinesv1alpha1.HoldReason{pipelinesv1alpha1.HoldSoaking},
			map[string]*pipelinesv1alpha1.PromotionStatus{
				"dev": nil, "prod": promotion(pipelinesv1alpha1.PromotionCreated, pipelinesv1alpha1.PullRequestOpen),
			}),
		pipelineWith("", nil, nil),
	} {
		s.Add(p, start)
	}
	want := map[string]float64{
		"espalier_pipelines True": 1, "espalier_pipelines False": 2, "espalier_pipelines Unknown": 1,
		"espalier_pipeline_holds Failed": 1, "espalier_pipeline_holds Soaking": 2,
		"espalier_pipeline_environments None": 3, "espalier_pipeline_environments Complete": 2,
		"espalier_pipeline_environments Created": 2, "espalier_pipeline_environments Failed": 1,
	}
	if diff := cmp.Diff(want, served(t, &s)); diff != "" {
		t.Errorf("a process that does not work on pipelines (-want +got):\n%s", diff)
	}
	s.HasPipelines, want["espalier_pipeline_pull_requests_open"] = true, 2
	if diff := cmp.Diff(want, served(t, &s)); diff != "" {
		t.Errorf("a process that works on pipelines (-want +got):\n%s", diff)
	}
}

// Metrics of installations have the exact numbers, and the age of the oldest wait.
func TestInstallationsAreCounted(t *testing.T) {
	var s State
	for _, i := range []*lsv1alpha1.Installation{
		installationWith(lsv1alpha1.PhaseSucceeded, "", 0),
		installationWith(lsv1alpha1.PhaseInit, "ImportNotFound", 40),
		installationWith(lsv1alpha1.PhaseInit, "ImportNotFound", 70),
		installationWith(lsv1alpha1.PhaseProgressing, "WaitingForSubObjects", 5),
		installationWith("", "", 0),
	} {
		s.Add(i, start)
	}
	want := map[string]float64{
		"espalier_objects Installation None": 1, "espalier_objects Installation Succeeded": 1,
		"espalier_objects Installation Init": 2, "espalier_objects Installation Progressing": 1,
		"espalier_waiting_objects Installation ImportNotFound": 2, "espalier_waiting_objects Installation WaitingForSubObjects": 1,
		"espalier_waiting_longest_seconds Installation ImportNotFound":       70,
		"espalier_waiting_longest_seconds Installation WaitingForSubObjects": 5,
	}
	if diff := cmp.Diff(want, served(t, &s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// installationWith returns an installation in a phase that has been waiting for some seconds, if there is a reason.
func installationWith(phase lsv1alpha1.Phase, reason string, seconds int) *lsv1alpha1.Installation {
	i := &lsv1alpha1.Installation{}
	i.Status.Phase = phase
	reconciling := lsv1alpha1.Condition{
		Type: lsv1alpha1.ConditionReconciling, Status: lsv1alpha1.ConditionTrue, Reason: reason, LastTransitionTime: *after(-seconds),
	}
	if reason == "" {
		reconciling.Status, reconciling.LastTransitionTime = lsv1alpha1.ConditionFalse, *after(-600)
	}
	i.Status.Conditions = []lsv1alpha1.Condition{reconciling}
	return i
}

func pipelineWith(
	ready metav1.ConditionStatus,
	holds []pipelinesv1alpha1.HoldReason,
	environments map[string]*pipelinesv1alpha1.PromotionStatus,
) *pipelinesv1alpha1.Pipeline {
	p := &pipelinesv1alpha1.Pipeline{}
	if ready != "" {
		p.Status.Conditions = []metav1.Condition{{Type: string(lsv1alpha1.ConditionReady), Status: ready}}
	}
	for _, reason := range holds {
		p.Status.Holds = append(p.Status.Holds, pipelinesv1alpha1.Hold{Reason: reason})
	}
	p.Status.Environments = map[string]pipelinesv1alpha1.EnvironmentStatus{}
	for name, promotion := range environments {
		p.Status.Environments[name] = pipelinesv1alpha1.EnvironmentStatus{Promotion: promotion}
	}
	return p
}

// promotion returns a promotion in a state, with a pull request if that has a state.
func promotion(state pipelinesv1alpha1.PromotionState, pull pipelinesv1alpha1.PullRequestState) *pipelinesv1alpha1.PromotionStatus {
	p := &pipelinesv1alpha1.PromotionStatus{State: state}
	if pull != "" {
		p.PullRequest = &pipelinesv1alpha1.PullRequestStatus{State: pull}
	}
	return p
}

// fixed collects one state, in place of what the caches contain.
type fixed struct {
	*collector
	state *State
}

func (f fixed) Collect(metrics chan<- prometheus.Metric) { f.state.send(metrics) }

// served returns the series that a state is served as: the name and the values of the labels.
func served(t *testing.T, s *State) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(fixed{states, s})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			words := []string{family.GetName()}
			for _, label := range metric.GetLabel() {
				words = append(words, label.GetValue())
			}
			series[strings.Join(words, " ")] = metric.GetGauge().GetValue()
		}
	}
	return series
}
