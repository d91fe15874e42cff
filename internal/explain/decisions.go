// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/deployitem/watchdog"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/objecttree"
)

// installation calls the decision function for installations.
func (c Controllers) installation(node *objecttree.Node) (objecttree.Explanation, bool) {
	o := installation.NewObserved(c.snapshot(node))
	if o.Continuous && node.State() == objecttree.Failed {
		return objecttree.Explanation{}, false
	}
	explanation, found := verdict(node, staying(installation.DecideRestored(o), o.Phase))
	return explanation, found && !saysMore(node.Explain(), explanation)
}

// saysMore reports whether a status announces an update after the same wait. Only the controller reads imports, and notices that they have
// changed.
func saysMore(said, decided objecttree.Explanation) bool {
	more, same := strings.CutPrefix(said.Message, decided.Message+"; ")
	return same && said.Reason == decided.Reason && strings.Contains(more, ", which takes effect afterwards")
}

// inEndingNamespace calls the decision functions for a namespace that is being deleted: neither jobs nor what is deployed matter there.
func (c Controllers) inEndingNamespace(node *objecttree.Node) (objecttree.Explanation, bool) {
	var why decision.Reason
	switch node.Kind {
	case objecttree.Installation:
		s := c.snapshot(node)
		s.NamespaceEnds = true
		why = installation.Decide(installation.NewObserved(s)).Why
	case objecttree.Execution:
		s := c.executionSnapshot(node)
		s.NamespaceEnds = true
		why = execution.Decide(execution.NewObserved(s)).Why
	default:
		item, _ := node.DeployItem()
		if item.DeletionTimestamp.IsZero() {
			return objecttree.Explanation{Reason: reasonNamespaceEnds, Message: "the namespace is being deleted: no new work starts"}, true
		}
		why = watchdog.Decide(watchdog.NewObserved(watchdog.Snapshot{Item: item, NamespaceEnds: true, Now: c.Now})).Why
	}
	return objecttree.Explanation{Reason: reasonNamespaceEnds, Message: why.Message}, true
}

// snapshot returns the snapshot of an installation from its node. Everything below it was read from the API server itself, so what is
// missing there is deleted.
func (c Controllers) snapshot(node *objecttree.Node) installation.Snapshot {
	object, _ := node.Installation()
	s := installation.Snapshot{Installation: object, Now: c.Now, ExecutionGone: true, Turn: turnOf(node)}
	for _, below := range node.Below {
		if nested, ok := below.Installation(); ok {
			s.Subinstallations = append(s.Subinstallations, nested)
		}
		if own, ok := below.Execution(); ok {
			s.Execution, s.ExecutionGone = own, false
		}
	}
	s.Gone = missing(object, s.Subinstallations)
	hints := object.Spec.Optimization
	if hints == nil || !hints.HasNoSiblingImports {
		s.Predecessors = installations(node.Predecessors())
		s.DependencyError = node.DependencyError()
	}
	if hints == nil || !hints.HasNoSiblingExports {
		s.Successors = installations(node.Successors())
	}
	return s
}

// turnOf returns the position of a root's job among the others of its namespace, if its status says that it waits for them.
func turnOf(node *objecttree.Node) *installation.Turn {
	object, _ := node.Installation()
	job, running := installation.RootJobOf(object)
	limit := installation.ToldJobQuota(&object.Status.RunStatus)
	if !running || limit == 0 {
		return nil
	}
	var jobs []installation.RootJob
	for _, other := range installations(node.Peers()) {
		if found, running := installation.RootJobOf(other); running {
			jobs = append(jobs, found)
		}
	}
	turn := installation.TurnOf(node.Namespace(), limit, job, jobs)
	return &turn
}

// underWay returns the roots of a namespace whose jobs keep others from starting.
func underWay(nodes []*objecttree.Node) []*objecttree.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(node *objecttree.Node) bool {
		object, ok := node.Installation()
		if !ok {
			return true
		}
		job, running := installation.RootJobOf(object)
		return !running || job.Stage != installation.JobBegun
	})
}

func installations(nodes []*objecttree.Node) []*lsv1alpha1.Installation {
	var result []*lsv1alpha1.Installation
	for _, node := range nodes {
		if object, ok := node.Installation(); ok {
			result = append(result, object)
		}
	}
	return result
}

// missing returns the nested installations that a status names and that do not exist.
func missing(object *lsv1alpha1.Installation, present []*lsv1alpha1.Installation) []string {
	cache := object.Status.SubInstCache
	if cache == nil {
		return nil
	}
	names := slices.Clone(cache.OrphanedSubs)
	for _, pair := range cache.ActiveSubs {
		names = append(names, pair.ObjectName)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(present, func(nested *lsv1alpha1.Installation) bool { return nested.Name == name })
	})
}

func (c Controllers) execution(node *objecttree.Node) (objecttree.Explanation, bool) {
	o := execution.NewObserved(c.executionSnapshot(node))
	if o.Continuous {
		return continuousExecution(node, o)
	}
	return verdict(node, execution.Decide(o))
}

// executionSnapshot returns the snapshot of an execution from its node.
func (c Controllers) executionSnapshot(node *objecttree.Node) execution.Snapshot {
	object, _ := node.Execution()
	s := execution.Snapshot{Execution: object, Complete: true, Now: c.Now}
	for _, below := range node.Below {
		if item, ok := below.DeployItem(); ok {
			s.Items = append(s.Items, *item)
		}
	}
	s.Gone = slices.DeleteFunc(execution.Recorded(object), func(name string) bool {
		return slices.ContainsFunc(node.Below, func(below *objecttree.Node) bool { return below.Name() == name })
	})
	return s
}

// staying returns a decision without its next phase if that is the current one.
func staying[E any](d decision.Of[lsv1alpha1.Phase, E], phase lsv1alpha1.Phase) decision.Of[lsv1alpha1.Phase, E] {
	if d.Next == phase {
		d.Next = ""
	}
	return d
}

// continuousExecution also determines the class of each deploy item, which decides what happens to it.
func continuousExecution(node *objecttree.Node, o execution.Observed) (objecttree.Explanation, bool) {
	explanation, found := node.Explain(), true
	if node.State() != objecttree.Failed {
		explanation, found = verdict(node, staying(execution.Decide(o), o.Phase))
	}
	var classes []string
	for _, pair := range o.Pairs() {
		classes = append(classes, pair.Name+" "+string(pair.Class))
	}
	if found && len(classes) > 0 {
		explanation.Message += " (classes: " + strings.Join(classes, ", ") + ")"
	}
	return explanation, found
}

// deployItem asks the watchdog whether a deployer has picked up the deploy item. What that deployer waits for is in the status, except for
// a missing Target.
func (c Controllers) deployItem(node *objecttree.Node) (objecttree.Explanation, bool) {
	item, _ := node.DeployItem()
	if node.State() == objecttree.Failed {
		return objecttree.Explanation{}, false
	}
	observed := watchdog.NewObserved(watchdog.Snapshot{Item: item, PickupTimeout: deployitem.DefaultPickupTimeout, Now: c.Now})
	if !observed.PickedUp {
		why := watchdog.DecideRestored(observed).Why
		return objecttree.Explanation{Reason: why.Code, Message: why.Message, Since: observed.Since}, true
	}
	if c.targets == nil {
		return objecttree.Explanation{}, false
	}
	s := deployitem.Snapshot{
		Item: item, Target: c.target(item), Role: deployitem.Role{Type: item.Spec.Type, Info: item.Status.Deployer}, Now: c.Now,
	}
	if top := node.Top(); top.Kind == objecttree.Installation {
		s.Root = top.Name()
	}
	d := deployitem.Decide(deployitem.NewObserved(s))
	// Once the deployer has reported it, its message counts: it masks a name that came from a Secret.
	if d.Wait && d.Why.Code == lsv1alpha1.ReasonNoTargetFound && node.Explain().Reason != lsv1alpha1.ReasonNoTargetFound {
		return objecttree.Explanation{Reason: d.Why.Code, Message: d.Why.Message}, true
	}
	return objecttree.Explanation{}, false
}

// target returns the metadata of a deploy item's Target; nil if it does not exist.
func (c Controllers) target(item *lsv1alpha1.DeployItem) *lsv1alpha1.Target {
	reference := item.Spec.Target
	if reference == nil || !slices.Contains(c.targets[item.Namespace], reference.Name) {
		return nil
	}
	return &lsv1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: reference.Name}}
}
