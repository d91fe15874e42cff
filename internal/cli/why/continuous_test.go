// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// flowing is the status of an object without a job.
func flowing(phase lsv1alpha1.Phase, changes ...func(*lsv1alpha1.RunStatus)) lsv1alpha1.RunStatus {
	return clitest.Status(phase, append(changes, clitest.Of(""))...)
}

// garden is an installation of the continuous flow with an execution, both in one phase, whose last deploy item depends on the
// first. A deploy item in phase "absent" does not exist.
type garden struct {
	phase lsv1alpha1.Phase
	items []planted
	said  []func(*lsv1alpha1.RunStatus)
}

type planted struct {
	name  string
	phase lsv1alpha1.Phase
	// recorded is the generation of the deploy item at its last update; zero if there was none.
	recorded int64
	said     []func(*lsv1alpha1.RunStatus)
}

func (g garden) store(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Continuous().Finalizer(lsv1alpha1.Finalizer).Build()
	var names []string
	for _, item := range g.items {
		names = append(names, item.name)
	}
	names[len(names)-1] += ":" + g.items[0].name
	execution := clitest.ExecutionOf(shop, names...)
	execution.Spec.Flow, execution.Finalizers = lsv1alpha1.FlowContinuous, []string{lsv1alpha1.Finalizer}
	shop.Status.RunStatus, execution.Status.RunStatus = flowing(g.phase, g.said...), flowing(g.phase, g.said...)
	if g.phase == lsv1alpha1.PhaseAborted {
		execution.Status.Phase = lsv1alpha1.PhaseFailed
	}
	shop.Status.ConfigGeneration = "1"
	for _, item := range g.items {
		if item.recorded > 0 {
			execution.Status.DeployItemGenerations = append(execution.Status.DeployItemGenerations,
				lsv1alpha1.DeployItemGeneration{Name: item.name, ExecutionGeneration: 1, DeployItemGeneration: item.recorded})
		}
	}
	clitest.Store(t, s.server, shop, execution)
	for _, item := range g.items {
		if item.phase == "absent" {
			continue
		}
		object := clitest.ItemOf(execution, item.name)
		object.Spec.Flow, object.Status.RunStatus = lsv1alpha1.FlowContinuous, flowing(item.phase, item.said...)
		clitest.Store(t, s.server, object)
	}
	testkit.Create(t, s.server, testkit.Target(s.namespace, "cluster").Build())
}

var (
	waitsForPods = clitest.Waits(
		lsv1alpha1.ReasonWaitingForReadiness,
		"waiting for Deployment web/nginx in target cluster: 0 of 2 pods are available",
	)
	waitsForBelow = clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for execution shop")
	manifestWrong = clitest.Error("InvalidManifest", "manifest 2: spec.replicas must be a number")
)

// The answers of the continuous flow name the class of each deploy item.
func TestAnswersInTheContinuousFlow(t *testing.T) {
	for name, test := range map[string]struct {
		build func(*testing.T, scene)
		about string
	}{
		"continuous-in-work": {garden{lsv1alpha1.PhaseProgressing, []planted{
			{name: "web", phase: lsv1alpha1.PhaseProgressing, recorded: 1, said: []func(*lsv1alpha1.RunStatus){waitsForPods}},
			{name: "database", phase: lsv1alpha1.PhaseSucceeded, recorded: 1},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){waitsForBelow}}.store, "shop"},
		"continuous-failed": {garden{lsv1alpha1.PhaseFailed, []planted{
			{name: "web", phase: lsv1alpha1.PhaseFailed, recorded: 1, said: []func(*lsv1alpha1.RunStatus){manifestWrong}},
			{name: "database", phase: lsv1alpha1.PhaseSucceeded, recorded: 1},
			{name: "cache", phase: lsv1alpha1.PhaseSucceeded, recorded: 2},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){clitest.Error("SubObjectFailed", "deploy item web has failed")}}.store, "shop"},
		"continuous-due": {garden{lsv1alpha1.PhaseProgressing, []planted{
			{name: "web", phase: lsv1alpha1.PhaseSucceeded, recorded: 1},
			{name: "cache", phase: lsv1alpha1.PhaseSucceeded},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){waitsForBelow}}.store, "execution/shop"},
		"continuous-dependencies": {dependencies, "mill"},
		"continuous-busy":         {busyBelow, "shop"},
		"continuous-aborted": {garden{lsv1alpha1.PhaseAborted, []planted{
			{
				name:     "web",
				phase:    lsv1alpha1.PhaseFailed,
				recorded: 1,
				said:     []func(*lsv1alpha1.RunStatus){clitest.Error(lsv1alpha1.ReasonInterrupted, "the work on it was cut short")},
			},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){clitest.Error(lsv1alpha1.ReasonAborted, "aborted; a reconcile or a change of the spec goes on")}}.store, "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			s := scene{server, server.Namespace(t)}
			test.build(t, s)
			got := s.ask(t, test.about)
			if got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			testkit.Golden(t, name, hideTimes(got.Stdout))
		})
	}
}

// dependencies is an installation that waits for one which has failed.
func dependencies(t *testing.T, s scene) {
	t.Helper()
	source := s.root("source").Continuous().Finalizer(lsv1alpha1.Finalizer).ExportData("word", "word").Build()
	mill := s.root("mill").Continuous().Finalizer(lsv1alpha1.Finalizer).ImportData("word", "word").Build()
	source.Status.RunStatus = flowing(
		lsv1alpha1.PhaseFailed,
		clitest.Error("TemplateError", "deployExecutions[0]: line 3: there is no import \"size\""),
	)
	source.Status.ConfigGeneration = "1"
	mill.Status.RunStatus = flowing(lsv1alpha1.PhasePendingDependencies)
	clitest.Store(t, s.server, source, mill)
}

// busyBelow is an installation whose spec has changed while what is below was on its way.
func busyBelow(t *testing.T, s scene) {
	t.Helper()
	garden{lsv1alpha1.PhaseProgressing, []planted{
		{name: "web", phase: lsv1alpha1.PhaseProgressing, recorded: 1, said: []func(*lsv1alpha1.RunStatus){waitsForPods}},
		{name: "test", phase: "absent"},
	}, []func(*lsv1alpha1.RunStatus){waitsForBelow}}.store(t, s)
	shop := &lsv1alpha1.Installation{}
	shop.Namespace, shop.Name = s.namespace, "shop"
	testkit.Eventually(t, s.server, shop, testkit.Is("there", func(i *lsv1alpha1.Installation) bool { shop = i; return true }))
	shop.Spec.Context = "other"
	if err := s.server.Client().Update(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
}
