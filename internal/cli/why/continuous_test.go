// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// flowing is the status of an object without a job.
func flowing(phase lsv1alpha1.Phase, changes ...func(*lsv1alpha1.RunStatus)) lsv1alpha1.RunStatus {
	return clitest.Status(phase, append(changes, clitest.Of(""))...)
}

// fixture is an installation of the continuous flow with an execution, both in one phase, whose last deploy item depends on the
// first. A deploy item in phase "absent" does not exist.
type fixture struct {
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

func (f fixture) store(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Continuous().Finalizer(lsv1alpha1.Finalizer).Build()
	var names []string
	for _, item := range f.items {
		names = append(names, item.name)
	}
	names[len(names)-1] += ":" + f.items[0].name
	execution := clitest.ExecutionOf(shop, names...)
	execution.Spec.Flow, execution.Finalizers = lsv1alpha1.FlowContinuous, []string{lsv1alpha1.Finalizer}
	shop.Status.RunStatus, execution.Status.RunStatus = flowing(f.phase, f.said...), flowing(f.phase, f.said...)
	if f.phase == lsv1alpha1.PhaseAborted {
		execution.Status.Phase = lsv1alpha1.PhaseFailed
	}
	shop.Status.ConfigGeneration = "1"
	for _, item := range f.items {
		if item.recorded > 0 {
			execution.Status.DeployItemGenerations = append(execution.Status.DeployItemGenerations,
				lsv1alpha1.DeployItemGeneration{Name: item.name, ExecutionGeneration: 1, DeployItemGeneration: item.recorded})
		}
	}
	clitest.Store(t, s.server, shop, execution)
	for _, item := range f.items {
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
		"continuous-in-work": {fixture{lsv1alpha1.PhaseProgressing, []planted{
			{name: "web", phase: lsv1alpha1.PhaseProgressing, recorded: 1, said: []func(*lsv1alpha1.RunStatus){waitsForPods}},
			{name: "database", phase: lsv1alpha1.PhaseSucceeded, recorded: 1},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){waitsForBelow}}.store, "shop"},
		"continuous-failed": {fixture{lsv1alpha1.PhaseFailed, []planted{
			{name: "web", phase: lsv1alpha1.PhaseFailed, recorded: 1, said: []func(*lsv1alpha1.RunStatus){manifestWrong}},
			{name: "database", phase: lsv1alpha1.PhaseSucceeded, recorded: 1},
			{name: "cache", phase: lsv1alpha1.PhaseSucceeded, recorded: 2},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){clitest.Error("SubObjectFailed", "deploy item web has failed")}}.store, "shop"},
		"continuous-due": {fixture{lsv1alpha1.PhaseProgressing, []planted{
			{name: "web", phase: lsv1alpha1.PhaseSucceeded, recorded: 1},
			{name: "cache", phase: lsv1alpha1.PhaseSucceeded},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){waitsForBelow}}.store, "execution/shop"},
		"continuous-dependencies": {dependencies, "mill"},
		"continuous-busy":         {busyBelow, "shop"},
		"continuous-import-gone":  {importGone, "mill"},
		"continuous-standstill":   {standstill, "shop"},
		"continuous-aborted": {fixture{lsv1alpha1.PhaseAborted, []planted{
			{
				name:     "web",
				phase:    lsv1alpha1.PhaseFailed,
				recorded: 1,
				said:     []func(*lsv1alpha1.RunStatus){clitest.Error(lsv1alpha1.ReasonInterrupted, "aborted by annotation")},
			},
			{name: "test", phase: "absent"},
		}, []func(*lsv1alpha1.RunStatus){clitest.Error(lsv1alpha1.ReasonAborted, "aborted; to continue, request a reconcile or change the spec")}}.store, "shop"},
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

// importGone is an installation whose import somebody has deleted after it was installed.
func importGone(t *testing.T, s scene) {
	t.Helper()
	mill := s.root("mill").Continuous().Finalizer(lsv1alpha1.Finalizer).ImportData("word", "word").Build()
	execution := clitest.ExecutionOf(mill, "grind")
	execution.Spec.Flow, execution.Finalizers = lsv1alpha1.FlowContinuous, []string{lsv1alpha1.Finalizer}
	execution.Status.RunStatus = flowing(lsv1alpha1.PhaseSucceeded)
	mill.Status.RunStatus = flowing(
		lsv1alpha1.PhasePendingDependencies,
		clitest.Error("ImportNotFound", "import \"word\": DataObject "+s.namespace+"/word does not exist: create it"),
	)
	mill.Status.ConfigGeneration = "1"
	item := clitest.ItemOf(execution, "grind")
	item.Spec.Flow, item.Status.RunStatus = lsv1alpha1.FlowContinuous, flowing(lsv1alpha1.PhaseSucceeded)
	clitest.Store(t, s.server, mill, execution, item)
}

// standstill is an installation with a nested one that has failed, and with another one that waits for it in vain.
func standstill(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Continuous().Finalizer(lsv1alpha1.Finalizer).Build()
	database := clitest.Nested(shop, "database").Continuous().Finalizer(lsv1alpha1.Finalizer).ExportData("address", "address").Build()
	web := clitest.Nested(shop, "web").Continuous().Finalizer(lsv1alpha1.Finalizer).ImportData("address", "address").Build()
	shop.Status.RunStatus = flowing(lsv1alpha1.PhaseProgressing, clitest.Waits(run.ReasonStandstill, "standstill: as the controller says"))
	database.Status.RunStatus = flowing(lsv1alpha1.PhaseFailed, manifestWrong)
	web.Status.RunStatus = flowing(lsv1alpha1.PhasePendingDependencies)
	shop.Status.ConfigGeneration, database.Status.ConfigGeneration = "1", "1"
	shop.Status.SubInstCache = &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{
		{SpecName: "web", ObjectName: web.Name}, {SpecName: "database", ObjectName: database.Name},
	}}
	clitest.Store(t, s.server, shop, database, web)
}

// busyBelow is an installation whose spec has changed while what is below was on its way.
func busyBelow(t *testing.T, s scene) {
	t.Helper()
	fixture{lsv1alpha1.PhaseProgressing, []planted{
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
