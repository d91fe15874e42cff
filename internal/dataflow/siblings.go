// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/graph"
)

// Sibling is an existing or planned installation, with the facts that its siblings need.
type Sibling struct {
	Name    string
	Imports lsv1alpha1.InstallationImports
	Exports lsv1alpha1.InstallationExports
}

// Siblings are the installations of one scope and their dependencies: an installation depends on those that export what it imports.
// References are compared by the object that they denote.
type Siblings struct {
	scope     Scope
	exporters map[ObjectID][]string
	exports   map[string][]ObjectID
	imports   map[string][]ObjectID
	// labels are the users' names for the objects.
	labels map[ObjectID]string
	graph  *graph.Graph
}

// NewSiblings relates the installations of a scope. It only returns an error for duplicate names; Check detects all other problems, which
// among root installations affect only those involved.
func NewSiblings(scope Scope, siblings []Sibling) (*Siblings, error) {
	ordered := slices.SortedFunc(slices.Values(siblings), func(a, b Sibling) int { return cmp.Compare(a.Name, b.Name) })
	s := &Siblings{
		scope: scope, exporters: map[ObjectID][]string{}, exports: map[string][]ObjectID{}, imports: map[string][]ObjectID{},
		labels: map[ObjectID]string{},
	}
	for _, sibling := range ordered {
		s.addExports(sibling)
	}
	nodes := make([]graph.Node, 0, len(ordered))
	for _, sibling := range ordered {
		node := graph.Node{Name: sibling.Name}
		s.imports[sibling.Name] = s.importsOf(sibling)
		for _, id := range s.imports[sibling.Name] {
			node.DependsOn = append(node.DependsOn, s.exporters[id]...)
		}
		nodes = append(nodes, node)
	}
	built, err := graph.New(nodes)
	if err != nil {
		return nil, fmt.Errorf("relate installations: %w", err)
	}
	s.graph = built
	return s, nil
}

func (s *Siblings) addExports(sibling Sibling) {
	add := func(kind ObjectKind, reference string) {
		id := ObjectID{Kind: kind, Name: s.scope.ObjectName(reference)}
		s.labels[id] = reference
		s.exports[sibling.Name] = append(s.exports[sibling.Name], id)
		if !slices.Contains(s.exporters[id], sibling.Name) {
			s.exporters[id] = append(s.exporters[id], sibling.Name)
		}
	}
	for _, export := range sibling.Exports.Data {
		add(KindDataObject, export.DataRef)
	}
	for _, export := range sibling.Exports.Targets {
		add(KindTarget, export.Target)
	}
}

// importsOf returns the objects that a sibling imports and that another one may export. Lists and maps as a whole come from the parent.
func (s *Siblings) importsOf(sibling Sibling) []ObjectID {
	var result []ObjectID
	for _, data := range sibling.Imports.Data {
		if data.DataRef != "" {
			result = append(result, ObjectID{Kind: KindDataObject, Name: s.scope.ObjectName(data.DataRef)})
		}
	}
	for _, target := range sibling.Imports.Targets {
		for _, reference := range targetReferences(target) {
			result = append(result, ObjectID{Kind: KindTarget, Name: s.scope.ObjectName(reference)})
		}
	}
	return result
}

// Predecessors returns the siblings that export what the named one imports.
func (s *Siblings) Predecessors(name string) []string { return s.graph.Dependencies(name) }

// Successors returns the siblings that import what the named one exports. It is the reverse of Predecessors, for data,
// targets, lists and maps alike.
func (s *Siblings) Successors(name string) []string { return s.graph.Dependants(name) }

// Graph returns the relation as a graph.
func (s *Siblings) Graph() *graph.Graph { return s.graph }

// Exporters returns the siblings that export an object.
func (s *Siblings) Exporters(id ObjectID) []string { return slices.Clone(s.exporters[id]) }

// ExpectedJobs returns, for Scope.Exported, the job that each object exported by a sibling must belong to. jobOf returns the last job of a
// sibling; if it is empty, the sibling's objects are accepted in any version.
func (s *Siblings) ExpectedJobs(jobOf func(sibling string) string) map[ObjectID]string {
	result := map[ObjectID]string{}
	for id, exporters := range s.exporters {
		if len(exporters) != 1 {
			continue
		}
		if job := jobOf(exporters[0]); job != "" {
			result[id] = job
		}
	}
	return result
}

// Check returns a terminal error if the named installation depends on itself, directly or indirectly, or exports what another one also
// exports.
func (s *Siblings) Check(name string) error {
	if cycle := s.graph.CycleThrough(name); cycle != nil {
		return s.cycleError(cycle)
	}
	return s.duplicates(s.exports[name])
}

// CheckAll returns a terminal error if any installation depends on itself, or two export the same. It is for the nested installations of
// one blueprint, which have the same author.
func (s *Siblings) CheckAll() error {
	if cycle := s.graph.Cycle(); cycle != nil {
		return s.cycleError(cycle)
	}
	return s.duplicates(slices.Collect(maps.Keys(s.exporters)))
}

// cycleError names the cycle, and the references on each of its edges.
func (s *Siblings) cycleError(cycle graph.Cycle) error {
	var ways []string
	for i, name := range cycle {
		next := cycle[(i+1)%len(cycle)]
		ways = append(ways, fmt.Sprintf("%s imports %s from %s", name, s.passed(name, next), next))
	}
	details := failure.DetailsOf(cycle.Err())
	details.Operation = OperationSiblings
	return failure.NewTerminal(details, fmt.Errorf("installations wait for each other: %w: %s", cycle.Err(), strings.Join(ways, ", ")))
}

// passed returns the references by which one installation depends on another.
func (s *Siblings) passed(importer, exporter string) string {
	var references []string
	for _, id := range s.exports[exporter] {
		if slices.Contains(s.imports[importer], id) {
			references = append(references, fmt.Sprintf("%q", s.labels[id]))
		}
	}
	return strings.Join(sorted(slices.Values(references)), " and ")
}

func (s *Siblings) duplicates(ids []ObjectID) error {
	f := &faults{operation: OperationSiblings}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b ObjectID) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(s.labels[a], s.labels[b]))
	})
	for _, id := range slices.Compact(ids) {
		if exporters := s.exporters[id]; len(exporters) > 1 {
			f.wrong(ReasonExportConflict, "%s %q is exported by more than one installation: %s. Let one of them export under another name",
				id.Kind, s.labels[id], strings.Join(exporters, ", "))
		}
	}
	return f.asError()
}
