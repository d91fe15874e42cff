// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
)

// finishedFixture returns a fixture in which everything was deployed once.
func finishedFixture(t *testing.T) *fixture {
	t.Helper()
	g := newFixture(1)
	g.settle()
	if g.execution.Status.Phase != lsv1alpha1.PhaseSucceeded || g.deployments != 3 {
		t.Fatalf("phase %s after %d deployments, %+v", g.execution.Status.Phase, g.deployments, g.execution.Status)
	}
	return g
}

func (g *fixture) phase() lsv1alpha1.Phase { return g.execution.Status.Phase }

func TestCON53_OnlyWhatHasChangedIsDeployed(t *testing.T) {
	g := finishedFixture(t)
	g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.DeployItems[2] = configured("c", "2") })
	g.settle()
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != 4 {
		t.Errorf("phase %s after %d deployments", g.phase(), g.deployments)
	}
	writes := g.writes
	for range 3 {
		g.pass(false)
	}
	if g.writes != writes {
		t.Errorf("an unchanged execution was written to %d times", g.writes-writes)
	}
	g.report(t, "change")
}

func TestCON54_DriftOfItemsIsRepairedOnce(t *testing.T) {
	g := finishedFixture(t)
	edited := g.items[execution.ItemName("e", "a")]
	edited.Spec.Configuration.Raw, edited.Generation = []byte(`{"by":"hand"}`), edited.Generation+1
	g.settle()
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployed[edited.Name] != string(configured("a", "1").Configuration.Raw) {
		t.Errorf("phase %s, %s", g.phase(), g.deployed[edited.Name])
	}
	deployments := g.deployments
	g.deleteItem(execution.ItemName("e", "c"))
	g.settle()
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != deployments+1 || g.items[execution.ItemName("e", "c")] == nil {
		t.Errorf("after a deletion: phase %s, %d deployments", g.phase(), g.deployments-deployments)
	}
	g.report(t, "drift")
}

func TestCON52_ForceDeploysEverythingAgainAndReconcileWhatHasFailed(t *testing.T) {
	g := finishedFixture(t)
	g.ask(lsv1alpha1.OperationForceReconcile)
	g.settle()
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != 6 || len(g.execution.Annotations) > 0 {
		t.Errorf("force: phase %s after %d deployments, %v", g.phase(), g.deployments, g.execution.Annotations)
	}
	g.broken[string(configured("c", "bad").Configuration.Raw)] = true
	g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.DeployItems[2] = configured("c", "bad") })
	g.settle()
	if g.phase() != lsv1alpha1.PhaseFailed || g.deployments != 7 {
		t.Errorf("broken: phase %s after %d deployments", g.phase(), g.deployments)
	}
	clear(g.broken)
	g.pass(false)
	if g.phase() != lsv1alpha1.PhaseFailed {
		t.Errorf("nobody asked: phase %s", g.phase())
	}
	g.ask(lsv1alpha1.OperationReconcile)
	g.settle()
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != 8 {
		t.Errorf("reconcile: phase %s after %d deployments", g.phase(), g.deployments)
	}
	g.report(t, "operations")
}

func TestCON25_AbortedItemsFailAndStay(t *testing.T) {
	g := newFixture(1)
	g.pass(false)
	g.ask(lsv1alpha1.OperationAbort)
	g.settle()
	if g.phase() != lsv1alpha1.PhaseFailed || len(g.execution.Annotations) > 0 {
		t.Errorf("phase %s, annotations %v", g.phase(), g.execution.Annotations)
	}
	if g.deployments != 0 || len(g.items) != 2 {
		t.Errorf("%d deployments, %d items", g.deployments, len(g.items))
	}
	for _, item := range g.items {
		if item.Status.Phase != lsv1alpha1.PhaseFailed || item.Status.LastError == nil ||
			item.Status.LastError.Reason != lsv1alpha1.ReasonInterrupted {
			t.Errorf("item %s: %+v", item.Name, item.Status)
		}
	}
	g.ask(lsv1alpha1.OperationReconcile)
	g.settle()
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != 3 {
		t.Errorf("reconcile: phase %s, %d deployments", g.phase(), g.deployments)
	}
	g.report(t, "abort")
}

func TestCON50_IgnoredExecutionsRest(t *testing.T) {
	g := finishedFixture(t)
	g.execution.Annotations = map[string]string{lsv1alpha1.IgnoreAnnotation: "true"}
	g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.DeployItems = nil })
	writes := g.writes
	g.settle()
	if g.writes != writes || len(g.items) != 3 {
		t.Errorf("%d writes, %d items", g.writes-writes, len(g.items))
	}
	delete(g.execution.Annotations, lsv1alpha1.IgnoreAnnotation)
	g.settle()
	if g.phase() != lsv1alpha1.PhaseSucceeded || len(g.items) != 0 {
		t.Errorf("then: phase %s, %d items", g.phase(), len(g.items))
	}
}

func TestCON55_ItemsAreDeletedInReverseOrder(t *testing.T) {
	g := finishedFixture(t)
	at := metav1.NewTime(noon)
	g.execution.DeletionTimestamp, g.execution.Generation = &at, g.execution.Generation+1
	g.pass(false)
	if a, b := g.items[execution.ItemName("e", "a")], g.items[execution.ItemName("e", "b")]; !a.DeletionTimestamp.IsZero() ||
		b.DeletionTimestamp.IsZero() ||
		g.phase() != lsv1alpha1.PhaseDeleting {
		t.Errorf("first: a %v, b %v, phase %s", a.DeletionTimestamp, b.DeletionTimestamp, g.phase())
	}
	stuck := g.items[execution.ItemName("e", "b")]
	stuck.Status.Phase, stuck.Status.ObservedGeneration = lsv1alpha1.PhaseFailed, stuck.Generation
	g.pass(false)
	if g.phase() != lsv1alpha1.PhaseFailed || g.execution.Status.ObservedGeneration != g.execution.Generation {
		t.Errorf("an item could not be deleted: phase %s of generation %d", g.phase(), g.execution.Status.ObservedGeneration)
	}
	delete(g.items, stuck.Name)
	g.settle()
	if g.execution != nil || len(g.items) > 0 {
		t.Errorf("left: %v, %v", g.execution, g.items)
	}
	g.report(t, "deletion")
}

func TestCON05_CON52_ClassesOfAPair(t *testing.T) {
	recorded := func(e, i int64) []lsv1alpha1.DeployItemGeneration {
		return []lsv1alpha1.DeployItemGeneration{{Name: "a", ExecutionGeneration: e, DeployItemGeneration: i}}
	}
	for name, test := range map[string]struct {
		state     execution.State
		recorded  []lsv1alpha1.DeployItemGeneration
		dependsOn []string
		want      execution.Class
	}{
		"succeeded":                {execution.StateSucceeded, recorded(2, 3), nil, execution.ClassDeployed},
		"failed":                   {execution.StateFailed, recorded(2, 3), nil, execution.ClassBroken},
		"in work":                  {execution.StateRunning, recorded(2, 3), nil, execution.ClassInWork},
		"not visible yet":          {execution.StateUnseen, recorded(2, 3), nil, execution.ClassInWork},
		"not there":                {execution.StateAbsent, recorded(2, 3), nil, execution.ClassDue},
		"never updated":            {execution.StateSucceeded, nil, nil, execution.ClassDue},
		"a new execution":          {execution.StateSucceeded, recorded(1, 3), nil, execution.ClassDue},
		"changed by somebody":      {execution.StateSucceeded, recorded(2, 2), nil, execution.ClassDue},
		"the same, but depends":    {execution.StateSucceeded, recorded(2, 2), []string{"b"}, execution.ClassPending},
		"depends, but is deployed": {execution.StateSucceeded, recorded(2, 3), []string{"b"}, execution.ClassDeployed},
	} {
		o := execution.Observed{Generation: 2, Generations: test.recorded}
		o.Wanted = []execution.Item{
			{Name: "a", State: test.state, DependsOn: test.dependsOn, Object: execution.Object{Name: "x", Generation: 3}},
			{Name: "b", State: execution.StateAbsent},
		}
		if got := o.Pairs()[0].Class; got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Whatever happens, in whatever order, with crashes: in the end, everything matches the spec, and nothing was Succeeded before.
func TestCON53_RandomLives(t *testing.T) {
	for seed := range uint64(400) {
		g := newFixture(seed)
		for range 5 + g.random.IntN(40) {
			g.disturb()
		}
		g.ask(lsv1alpha1.OperationReconcile)
		g.settle()
		if g.phase() != lsv1alpha1.PhaseSucceeded {
			g.violated("it ends in phase %s: %+v", g.phase(), g.execution.Status.LastError)
		}
		g.report(t, fmt.Sprint("seed ", seed))
	}
}

func (g *fixture) disturb() {
	switch g.random.IntN(12) {
	case 0, 1, 2, 3:
		g.pass(true)
	case 4, 5, 6, 7:
		g.deploy()
	case 8:
		i := g.random.IntN(3)
		g.edit(func(s *lsv1alpha1.ExecutionSpec) {
			s.DeployItems[i] = configured(s.DeployItems[i].Name, fmt.Sprint(g.random.IntN(5)), s.DeployItems[i].DependsOn...)
		})
	case 9:
		for _, item := range g.items {
			item.Spec.Configuration.Raw, item.Generation = []byte(`{"by":"hand"}`), item.Generation+1
			return
		}
	case 10:
		for name := range g.items {
			g.deleteItem(name)
			return
		}
	case 11:
		g.ask(operations[g.random.IntN(len(operations))])
	}
}

// A change of the flow is passed to the items, and causes no deployment.
func TestCON60_FlowsChangeWithoutDeployments(t *testing.T) {
	g := finishedFixture(t)
	g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.Flow = lsv1alpha1.FlowJob })
	g.settle()
	if flow := execution.FlowOf(g.execution); flow != lsv1alpha1.FlowJob || len(g.execution.Status.DeployItemGenerations) > 0 ||
		g.phase() != lsv1alpha1.PhaseSucceeded {
		t.Errorf("flow %s, phase %s", flow, g.phase())
	}
	g.checkFlows(t, lsv1alpha1.FlowJob)
	g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.Flow = lsv1alpha1.FlowContinuous })
	g.settle()
	g.checkFlows(t, lsv1alpha1.FlowContinuous)
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != 3 || g.execution.Status.ObservedGeneration != g.execution.Generation {
		t.Errorf("phase %s after %d deployments", g.phase(), g.deployments)
	}
	g.report(t, "flow")
}

// The flow changes repeatedly while processes die: nothing is deployed because of it, and in the end everything is as before.
func TestCON16_FlowsChangeThereAndBack(t *testing.T) {
	for seed := range uint64(400) {
		g := newFixture(seed)
		if seed%2 == 1 {
			g.broken[string(configured("", "1").Configuration.Raw)] = true
		}
		g.settle()
		if seed%4 == 3 {
			g.ask(lsv1alpha1.OperationAbort)
			g.settle()
		}
		phase, deployments := g.phase(), g.deployments
		g.frail = true
		for range 8 {
			flow := []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous}[g.random.IntN(2)]
			g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.Flow = flow })
			for range g.random.IntN(4) {
				g.pass(true)
				g.deploy()
			}
		}
		g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.Flow = lsv1alpha1.FlowContinuous })
		g.settle()
		g.checkFlows(t, lsv1alpha1.FlowContinuous)
		if g.phase() != phase || g.deployments != deployments || g.execution.Status.ObservedGeneration != g.execution.Generation {
			t.Errorf("seed %d: phase %s and before %s, %d deployments and before %d", seed, g.phase(), phase, g.deployments, deployments)
		}
		g.report(t, fmt.Sprintf("seed %d", seed))
	}
}

// A user aborts while the flow changes: the abort is executed, and every item nevertheless returns to the flow of its execution.
func TestCON16_AnAbortLeavesNoItemInAnotherFlow(t *testing.T) {
	for seed := range uint64(400) {
		g := newFixture(seed)
		g.settle()
		g.frail = true
		for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
			g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.Flow = flow })
			for range g.random.IntN(4) {
				g.pass(true)
				g.deploy()
			}
		}
		g.ask(lsv1alpha1.OperationAbort)
		for range g.random.IntN(4) {
			g.pass(true)
		}
		g.settle()
		g.checkFlows(t, lsv1alpha1.FlowContinuous)
		if g.phase() != lsv1alpha1.PhaseFailed || g.deployments != 3 || g.execution.Status.ObservedGeneration != g.execution.Generation {
			t.Errorf("seed %d: phase %s after %d deployments", seed, g.phase(), g.deployments)
		}
		g.ask(lsv1alpha1.OperationReconcile)
		g.settle()
		if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != 3 {
			t.Errorf("seed %d: reconcile: phase %s after %d deployments", seed, g.phase(), g.deployments)
		}
		g.report(t, fmt.Sprintf("seed %d", seed))
	}
}

// A user aborts an execution that has just started, whose status may not yet record which items it has created. Then its flow changes:
// every item follows, and nothing is deployed because of it.
func TestCON16_WhatWasAbortedAtItsBeginningFollowsAChangeOfTheFlow(t *testing.T) {
	for seed := range uint64(400) {
		g := newFixture(seed)
		for range 1 + g.random.IntN(3) {
			g.pass(true)
			for range g.random.IntN(4) {
				g.deploy()
			}
		}
		if g.random.IntN(3) == 0 {
			g.edit(func(s *lsv1alpha1.ExecutionSpec) {
				s.DeployItems[2] = configured([]string{"c", "new"}[g.random.IntN(2)], "2")
			})
		}
		g.ask(lsv1alpha1.OperationAbort)
		g.settle()
		deployments := g.deployments
		for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
			g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.Flow = flow })
			g.settle()
			g.checkFlows(t, flow)
			if g.phase() != lsv1alpha1.PhaseFailed || g.deployments != deployments || execution.FlowOf(g.execution) != flow {
				t.Errorf("seed %d: %s: phase %s, %d deployments and before %d", seed, flow, g.phase(), g.deployments, deployments)
			}
		}
		g.ask(lsv1alpha1.OperationReconcile)
		g.settle()
		if g.phase() != lsv1alpha1.PhaseSucceeded {
			t.Errorf("seed %d: reconcile: phase %s", seed, g.phase())
		}
		g.report(t, fmt.Sprintf("seed %d", seed))
	}
}

// A user changes the flow of an execution in progress: it finishes first, and then everything switches.
func TestTheFlowOfAnExecutionIsNotChangedOnItsWay(t *testing.T) {
	g := newFixture(1)
	g.pass(false)
	g.edit(func(s *lsv1alpha1.ExecutionSpec) { s.Flow = lsv1alpha1.FlowJob })
	g.pass(false)
	g.pass(false)
	for _, item := range g.items {
		if item.Spec.Flow != lsv1alpha1.FlowContinuous {
			t.Errorf("item %s was told of the change on the way", item.Name)
		}
	}
	g.settle()
	g.checkFlows(t, lsv1alpha1.FlowJob)
	if g.phase() != lsv1alpha1.PhaseSucceeded || g.deployments != 3 || execution.FlowOf(g.execution) != lsv1alpha1.FlowJob {
		t.Errorf("phase %s after %d deployments", g.phase(), g.deployments)
	}
	g.report(t, "flow on the way")
}

func (g *fixture) checkFlows(t *testing.T, flow lsv1alpha1.Flow) {
	t.Helper()
	for _, item := range g.items {
		if item.Spec.Flow.OrDefault() != flow || item.Status.ObservedGeneration != item.Generation {
			t.Errorf("item %s: flow %s, generation %d of %d", item.Name, item.Spec.Flow, item.Status.ObservedGeneration, item.Generation)
		}
	}
}

func TestCON51_WhichOperation(t *testing.T) {
	const deletes, reconciles, rechecks = "delete", "reconcile", "re-check"
	for _, phase := range []lsv1alpha1.Phase{"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed} {
		for _, operation := range operations[:3] {
			for bits := range 4 {
				o := execution.Observed{Continuous: true, Chosen: lsv1alpha1.FlowContinuous, Operation: operation, UpToDate: bits&1 == 0}
				o.Phase, o.Deleted, o.Finalizer, o.Complete, o.Own = phase, bits&2 != 0, true, true, true
				want := rechecks
				switch {
				case o.Deleted:
					want = deletes
				case !o.UpToDate || !phase.IsCompleted() || operation != "":
					want = reconciles
				}
				got := reconciles
				switch d := execution.Decide(o); {
				case d.Next == lsv1alpha1.PhaseDeleting || o.Deleted && len(d.Do) > 0:
					got = deletes
				case d.Wait && d.Why.Code == run.ReasonIdle:
					got = rechecks
				}
				if got != want {
					t.Errorf("phase %q, operation %q, up to date %v, deleted %v: %s, want %s", phase, operation, o.UpToDate, o.Deleted, got, want)
				}
			}
		}
	}
}

// A pass that could not read the items does not change what the status records of them.
func TestCON05_WhatCouldNotBeReadIsNotForgotten(t *testing.T) {
	g := newFixture(1)
	g.pass(false)
	g.deploy()
	if g.phase() != lsv1alpha1.PhaseProgressing || len(g.execution.Status.DeployItemGenerations) == 0 {
		t.Fatalf("%+v", g.execution.Status)
	}
	after := g.execution.DeepCopy()
	o := execution.NewObserved(execution.Snapshot{Execution: after, Now: g.now})
	execution.Settle(after, o, execution.Decision{}, errors.New("the API server does not answer"))
	if diff := cmp.Diff(g.execution.Status.DeployItemGenerations, after.Status.DeployItemGenerations); diff != "" {
		t.Errorf("generations (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(g.execution.Status.DeployItemCache, after.Status.DeployItemCache); diff != "" {
		t.Errorf("names (-before +after):\n%s", diff)
	}
}
