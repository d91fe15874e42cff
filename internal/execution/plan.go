// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/graph"
)

// planned is an item that the job processes.
type planned struct {
	name      string
	dependsOn []string
	// template is nil if the item is only known from its record.
	template *lsv1alpha1.DeployItemTemplate
}

// planOfSpec returns the items of the spec. If they cannot be read or ordered, the error is terminal.
func planOfSpec(e *lsv1alpha1.Execution) ([]planned, error) {
	templates, err := e.Spec.Items()
	if err != nil {
		return nil, failure.NewTerminal(failure.Details{
			Operation: operationPrepare, Reason: ReasonInvalidSpec, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
		}, err)
	}
	plan := make([]planned, len(templates))
	for i := range templates {
		plan[i] = planned{name: templates[i].Name, dependsOn: templates[i].DependsOn, template: &templates[i]}
	}
	g, err := graphOf(plan)
	if err == nil {
		_, err = g.Order()
	}
	return plan, err
}

func graphOf(plan []planned) (*graph.Graph, error) {
	nodes := make([]graph.Node, len(plan))
	for i, p := range plan {
		nodes[i] = graph.Node{Name: p.name, DependsOn: p.dependsOn}
	}
	return graph.New(nodes)
}

// planOfRecord returns the items that the status records, or, if it records none, those of the existing objects. It is used when the spec
// is no longer the one that the job started with.
func planOfRecord(e *lsv1alpha1.Execution, objects []*lsv1alpha1.DeployItem) []planned {
	var names []string
	if cache := e.Status.DeployItemCache; cache != nil {
		for _, pair := range cache.ActiveDIs {
			names = append(names, pair.SpecName)
		}
	} else {
		for _, object := range objects {
			if object.DeletionTimestamp.IsZero() {
				names = append(names, object.Labels[lsv1alpha1.ExecutionManagedNameLabel])
			}
		}
		slices.Sort(names)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	plan := make([]planned, 0, len(names))
	for _, name := range slices.Compact(names) {
		plan = append(plan, planned{name: name})
	}
	return plan
}

// onlyKnown returns the names that are in known.
func onlyKnown(names []string, known map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !known[name] })
}

// matching maps objects to items.
type matching struct {
	// chosen is the object of an item. If several objects claim to be it, the others are surplus.
	chosen  map[string]*lsv1alpha1.DeployItem
	surplus []*lsv1alpha1.DeployItem
}

func match(e *lsv1alpha1.Execution, plan []planned, objects []*lsv1alpha1.DeployItem) matching {
	known := newNames(e, plan)
	sorted := slices.Clone(objects)
	slices.SortFunc(sorted, known.compare)
	m := matching{chosen: make(map[string]*lsv1alpha1.DeployItem, len(plan))}
	for _, object := range sorted {
		name := known.itemOf(object)
		if !known.planned[name] || m.chosen[name] != nil {
			m.surplus = append(m.surplus, object)
			continue
		}
		m.chosen[name] = object
	}
	return m
}

// names maps object names to items.
type names struct {
	planned map[string]bool
	// recorded and computed map the name of an object to that of its item.
	recorded, computed map[string]string
}

func newNames(e *lsv1alpha1.Execution, plan []planned) names {
	n := names{planned: make(map[string]bool, len(plan)), recorded: map[string]string{}, computed: make(map[string]string, len(plan))}
	for _, p := range plan {
		n.planned[p.name] = true
		n.computed[ItemName(e.Name, p.name)] = p.name
	}
	if cache := e.Status.DeployItemCache; cache != nil {
		for _, pair := range cache.ActiveDIs {
			n.recorded[pair.ObjectName] = pair.SpecName
		}
	}
	return n
}

func (n names) itemOf(object *lsv1alpha1.DeployItem) string {
	return cmp.Or(object.Labels[lsv1alpha1.ExecutionManagedNameLabel], n.recorded[object.Name], n.computed[object.Name])
}

// compare sorts the preferred object of an item first.
func (n names) compare(a, b *lsv1alpha1.DeployItem) int {
	return cmp.Or(
		falseFirst(!a.DeletionTimestamp.IsZero(), !b.DeletionTimestamp.IsZero()),
		falseFirst(n.recorded[a.Name] == "", n.recorded[b.Name] == ""),
		falseFirst(n.computed[a.Name] == "", n.computed[b.Name] == ""),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Name, b.Name),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
