// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
)

// fixture is an execution, its deploy items and their deployer, without an API server.
type fixture struct {
	random    *rand.Rand
	now       time.Time
	execution *lsv1alpha1.Execution
	items     map[string]*lsv1alpha1.DeployItem
	// deployed is the configuration that the deployer deployed last, by object; deployments counts.
	deployed    map[string]string
	deployments int
	// broken are configurations that cannot be deployed.
	broken map[string]bool
	// frail processes may die between the two writes that change the flow of a deploy item; dead is set when one has.
	frail, dead bool
	writes      int
	problems    []string
}

func newFixture(seed uint64) *fixture {
	g := &fixture{
		random:   rand.New(rand.NewPCG(seed, 1)),
		now:      noon,
		items:    map[string]*lsv1alpha1.DeployItem{},
		deployed: map[string]string{},
		broken:   map[string]bool{},
	}
	g.execution = &lsv1alpha1.Execution{}
	g.execution.Namespace, g.execution.Name, g.execution.UID, g.execution.Generation = "ns", "e", "uid", 1
	g.execution.Spec.Flow = lsv1alpha1.FlowContinuous
	g.execution.Spec.DeployItems = []lsv1alpha1.DeployItemTemplate{configured("a", "1"), configured("b", "1", "a"), configured("c", "1")}
	return g
}

func configured(name, config string, dependsOn ...string) lsv1alpha1.DeployItemTemplate {
	return lsv1alpha1.DeployItemTemplate{
		Name: name, Type: "example.org/t", DependsOn: dependsOn,
		Configuration: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"C","value":"` + config + `"}`)},
	}
}

func (g *fixture) violated(format string, args ...any) {
	g.problems = append(g.problems, fmt.Sprintf(format, args...))
}

// pass does what the loop does with the execution. With some probability, the process dies in the middle.
func (g *fixture) pass(crashes bool) {
	if g.execution == nil {
		return
	}
	g.now, g.dead = g.now.Add(time.Second), false
	e := g.execution.DeepCopy()
	s := execution.Snapshot{Execution: e, Complete: true, Now: g.now}
	for _, name := range slices.Sorted(maps.Keys(g.items)) {
		s.Items = append(s.Items, *g.items[name].DeepCopy())
	}
	o := execution.NewObserved(s)
	for step := 0; ; step++ {
		if step > 20 {
			g.violated("no end: %+v", execution.Decide(o))
			return
		}
		d := execution.Decide(o)
		if d.SaveFirst {
			g.store(e)
		}
		var err error
		for _, effect := range d.Do {
			var objects map[string]execution.Object
			if objects, err = g.act(e, effect); err != nil {
				break
			}
			o = execution.After(o, effect, objects)
			if crashes && g.random.IntN(8) == 0 || g.dead {
				return
			}
		}
		if g.execution == nil {
			return
		}
		o = execution.Settle(e, o, d, err)
		if d.Wait || err != nil {
			g.store(e)
			return
		}
	}
}

func (g *fixture) store(e *lsv1alpha1.Execution) {
	if g.execution == nil {
		return
	}
	if !equality.Semantic.DeepEqual(e.Status, g.execution.Status) {
		g.writes++
	}
	g.execution.Status = *e.Status.DeepCopy()
	status := &g.execution.Status
	if status.Phase != lsv1alpha1.PhaseSucceeded || status.ObservedGeneration != g.execution.Generation {
		return
	}
	for _, t := range g.execution.Spec.DeployItems {
		if got := g.deployed[execution.ItemName("e", t.Name)]; got != string(t.Configuration.Raw) {
			g.violated("Succeeded with generation %d, and %s is %s", g.execution.Generation, t.Name, got)
		}
	}
}

func (g *fixture) act(e *lsv1alpha1.Execution, effect execution.Effect) (map[string]execution.Object, error) {
	written := map[string]execution.Object{}
	each := func(items []execution.Item, do func(execution.Item) *lsv1alpha1.DeployItem) (map[string]execution.Object, error) {
		for n, i := range items {
			if n > 0 && g.frail && g.random.IntN(4) == 0 {
				return written, errors.New("somebody else has changed it")
			}
			g.writes++
			if object := do(i); object != nil {
				object.ResourceVersion = strconv.Itoa(g.writes)
				written[object.Name] = execution.Object{
					Name:       object.Name,
					UID:        object.UID,
					Version:    object.ResourceVersion,
					Generation: object.Generation,
				}
			}
		}
		return written, nil
	}
	switch x := effect.(type) {
	case execution.AddFinalizer:
		g.writes++
		g.execution.Finalizers = []string{lsv1alpha1.Finalizer}
	case execution.RemoveFinalizer:
		if len(g.items) > 0 {
			g.violated("the execution goes before its items")
		}
		g.execution = nil
	case execution.DropOperation:
		delete(g.execution.Annotations, lsv1alpha1.OperationAnnotation)
		delete(e.Annotations, lsv1alpha1.OperationAnnotation)
	case execution.Refuse:
		return nil, x.Err
	case execution.CreateItems:
		return each(x.Items, func(i execution.Item) *lsv1alpha1.DeployItem { return g.create(i) })
	case execution.UpdateItems:
		return each(x.Items, func(i execution.Item) *lsv1alpha1.DeployItem { return g.update(i) })
	case execution.AskItems:
		return each(x.Items, func(i execution.Item) *lsv1alpha1.DeployItem {
			item := g.items[i.Object.Name]
			item.Annotations[lsv1alpha1.OperationAnnotation] = string(x.Operation)
			return item
		})
	case execution.ConvertItems:
		return each(x.Items, func(i execution.Item) *lsv1alpha1.DeployItem {
			return g.convert(g.items[i.Object.Name], i, x.Flow)
		})
	case execution.DeleteItems:
		return each(x.Items, func(i execution.Item) *lsv1alpha1.DeployItem { g.deleteItem(i.Object.Name); return nil })
	case execution.InterruptItems:
		return each(x.Items, func(i execution.Item) *lsv1alpha1.DeployItem {
			item := g.items[i.Object.Name]
			item.Status = *i.CutShort.DeepCopy()
			return item
		})
	}
	return nil, nil
}

// convert changes the flow of an item as the controller does: on the way to the job flow, the status follows the spec. The process may die
// in between.
func (g *fixture) convert(item *lsv1alpha1.DeployItem, seen execution.Item, flow lsv1alpha1.Flow) *lsv1alpha1.DeployItem {
	generation := item.Generation
	if item.Spec.Flow != flow {
		generation++
	}
	steps := []func(){
		func() {
			if seen.Current {
				item.Status.ObservedGeneration = generation
			}
		},
		func() {
			item.Spec.Flow, item.Generation = flow, generation
			if seen.Current && flow == lsv1alpha1.FlowJob {
				item.Annotations[execution.FlowGenerationAnnotation] = strconv.FormatInt(generation, 10)
			}
		},
	}
	if flow == lsv1alpha1.FlowJob {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if g.dead = g.dead || g.frail && g.random.IntN(6) == 0; g.dead {
			return item
		}
		step()
	}
	return item
}

func (g *fixture) create(i execution.Item) *lsv1alpha1.DeployItem {
	item := i.Write.DeepCopy()
	if g.items[item.Name] != nil {
		g.violated("%s is created twice", item.Name)
	}
	for _, needed := range i.DependsOn {
		if on := g.items[execution.ItemName("e", needed)]; on == nil || on.Status.Phase != lsv1alpha1.PhaseSucceeded {
			g.violated("%s is created before %s has succeeded", i.Name, needed)
		}
	}
	item.Generation, item.UID = 1, types.UID(item.Name)
	g.items[item.Name] = item
	return item
}

func (g *fixture) update(i execution.Item) *lsv1alpha1.DeployItem {
	item := i.Write.DeepCopy()
	before := g.items[item.Name]
	item.Status, item.Generation = before.Status, before.Generation
	if !equality.Semantic.DeepEqual(item.Spec, before.Spec) {
		item.Generation++
	}
	g.items[item.Name] = item
	return item
}

func (g *fixture) deleteItem(name string) {
	item := g.items[name]
	if item == nil || !item.DeletionTimestamp.IsZero() {
		return
	}
	at := metav1.NewTime(g.now)
	item.DeletionTimestamp, item.Generation = &at, item.Generation+1
}

// deploy makes the deployer take one step on one item with pending work.
func (g *fixture) deploy() (worked bool) {
	for _, name := range slices.Sorted(maps.Keys(g.items)) {
		item := g.items[name]
		if !execution.InWork(item) && item.DeletionTimestamp.IsZero() {
			continue
		}
		if !item.DeletionTimestamp.IsZero() {
			delete(g.items, name)
			return true
		}
		if item.Status.Phase != lsv1alpha1.PhaseProgressing {
			item.Status.Phase = lsv1alpha1.PhaseProgressing
			delete(item.Annotations, lsv1alpha1.OperationAnnotation)
			return true
		}
		config := string(item.Spec.Configuration.Raw)
		item.Status.ObservedGeneration = item.Generation
		g.deployments++
		if item.Status.Phase = lsv1alpha1.PhaseSucceeded; g.broken[config] {
			item.Status.Phase = lsv1alpha1.PhaseFailed
			return true
		}
		g.deployed[name] = config
		return true
	}
	return false
}

// settle lets all parts work until nothing happens any more.
func (g *fixture) settle() {
	for range 200 {
		writes := g.writes
		g.pass(false)
		if !g.deploy() && g.writes == writes {
			return
		}
	}
	g.violated("it does not come to rest")
}

func (g *fixture) edit(change func(*lsv1alpha1.ExecutionSpec)) {
	change(&g.execution.Spec)
	g.execution.Generation++
}

func (g *fixture) ask(operation lsv1alpha1.Operation) {
	if g.execution.Annotations == nil {
		g.execution.Annotations = map[string]string{}
	}
	g.execution.Annotations[lsv1alpha1.OperationAnnotation] = string(operation)
}

func (g *fixture) report(t *testing.T, what string) {
	t.Helper()
	for _, problem := range g.problems {
		t.Errorf("%s: %s", what, problem)
	}
}
