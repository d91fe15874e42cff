// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"slices"
	"testing"

	ktypes "k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/graph"
)

// fixture is a namespace with the objects that a run leaves in it.
type fixture struct {
	t     *testing.T
	facts dataflow.Facts
	job   string
}

// run does for one installation what a job does with its data: import, let the blueprint compute its exports, export. The blueprint gets
// the values of the imports and everything in the scope that the installation opens.
func (g *fixture) run(
	parent string,
	template lsv1alpha1.InstallationTemplate,
	blueprint string,
	compute func(values map[string]any, scope dataflow.ContextValues) map[string]any,
) {
	g.t.Helper()
	scope := dataflow.Scope{Namespace: namespace, Parent: parent, JobID: g.job}
	owner := dataflow.Owner{Namespace: namespace, Name: template.Name, UID: ktypes.UID("uid of " + template.Name), JobID: g.job}
	declared := parse[lsv1alpha1.Blueprint](g.t, blueprint)
	resolved, err := dataflow.Resolve(scope, template.Imports, g.facts)
	if err != nil {
		g.t.Fatalf("%s: %v", template.Name, err)
	}
	imports, err := dataflow.Construct(dataflow.ImportInput{
		Definitions: declared.Imports, Resolved: resolved, Mappings: template.ImportDataMappings, Map: paths, Validate: types,
	})
	if err != nil {
		g.t.Fatalf("%s: %v", template.Name, err)
	}
	objects, err := imports.Objects(owner)
	if err != nil {
		g.t.Fatalf("%s: %v", template.Name, err)
	}
	g.write(objects)
	inside, err := dataflow.CollectContext(template.Name, g.job, g.facts.DataObjects, g.facts.Targets)
	if err != nil {
		g.t.Fatalf("%s: %v", template.Name, err)
	}
	exports, err := dataflow.BuildExports(dataflow.ExportInput{
		Definitions: declared.Exports,
		Values:      compute(imports.Values, inside),
		Exports:     template.Exports,
		Mappings:    template.ExportDataMappings,
		Map:         paths,
		Validate:    types,
	})
	if err != nil {
		g.t.Fatalf("%s: %v", template.Name, err)
	}
	objects, err = exports.Objects(scope, owner, g.existing())
	if err != nil {
		g.t.Fatalf("%s: %v", template.Name, err)
	}
	g.write(objects)
}

func (g *fixture) write(objects dataflow.Objects) {
	for _, object := range objects.DataObjects {
		g.facts.DataObjects = slices.DeleteFunc(g.facts.DataObjects, func(o *lsv1alpha1.DataObject) bool { return o.Name == object.Name })
		g.facts.DataObjects = append(g.facts.DataObjects, object)
	}
	for _, target := range objects.Targets {
		g.facts.Targets = slices.DeleteFunc(g.facts.Targets, func(o *lsv1alpha1.Target) bool { return o.Name == target.Name })
		g.facts.Targets = append(g.facts.Targets, target)
	}
}

func (g *fixture) existing() dataflow.Existing {
	existing := dataflow.Existing{}
	for _, object := range g.facts.DataObjects {
		existing[dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: object.Name}] = object.OwnerReferences
	}
	return existing
}

// TestDataFlowsThroughATree runs a root with three nested installations, twice. Each letter joins what it imports and its own name, so
// that the result shows the path of the data.
func TestDataFlowsThroughATree(t *testing.T) {
	rootTemplate := parse[lsv1alpha1.InstallationTemplate](t, `
name: tree
imports:
  data: [{name: seed, dataRef: seed}]
  targets: [{name: houses, targetMap: {north: north-house, south: south-house}}]
exports: {data: [{name: fruit, dataRef: fruit}]}
`)
	const rootBlueprint = `
imports: [{name: seed, type: data}, {name: houses, type: targetMap, targetType: kubernetes-cluster}]
exports: [{name: fruit, type: data, schema: {type: string}}]
`
	inner := templates(t, `
- name: c
  `+inline+`
  imports: {data: [{name: in, dataRef: from-b}], targets: [{name: t, target: a-target}]}
  exports: {data: [{name: out, dataRef: from-c}]}
- name: a
  `+inline+`
  imports: {data: [{name: in, dataRef: seed}], targets: [{name: t, target: "houses[north]"}]}
  exports: {data: [{name: out, dataRef: from-a}], targets: [{name: t, target: a-target}]}
- name: b
  `+inline+`
  imports: {data: [{name: given, dataRef: from-a}], targets: [{name: t, target: "houses[south]"}]}
  importDataMappings: {in: (( given ))}
  exports: {data: [{name: mapped, dataRef: from-b}]}
  exportDataMappings: {mapped: (( exports.out ))}
`)
	const innerBlueprint = `
imports: [{name: in, type: data, schema: {type: string}}, {name: t, type: target, targetType: kubernetes-cluster}]
exports: [{name: out, type: data, schema: {type: string}}, {name: t, type: target, targetType: kubernetes-cluster}]
`
	if err := dataflow.ValidateSubinstallations(inner, parse[lsv1alpha1.Blueprint](t, rootBlueprint).Imports, all); err != nil {
		t.Fatal(err)
	}
	siblings := make([]dataflow.Sibling, 0, len(inner))
	byName := map[string]lsv1alpha1.InstallationTemplate{}
	for _, template := range inner {
		siblings = append(siblings, dataflow.Sibling{Name: template.Name, Imports: template.Imports, Exports: template.Exports})
		byName[template.Name] = template
	}
	related, err := dataflow.NewSiblings(dataflow.Scope{Namespace: namespace, Parent: "tree"}, siblings)
	if err != nil {
		t.Fatal(err)
	}
	order, err := related.Graph().Order()
	if err != nil || !slices.Equal(order, []string{"a", "b", "c"}) {
		t.Fatalf("order = %q, %v", order, err)
	}
	if ready := related.Graph().Ready(graph.Progress{}); !slices.Equal(ready, []string{"a"}) {
		t.Fatalf("ready = %q", ready)
	}

	g := &fixture{t: t, facts: dataflow.Facts{
		DataObjects: []*lsv1alpha1.DataObject{dataObject(t, "seed", `s`)},
		Targets:     []*lsv1alpha1.Target{cluster(t, "north-house"), cluster(t, "south-house")},
	}}
	for _, g.job = range []string{"job-1", "job-2"} {
		// The root writes its imports first, and its exports when its scope is complete.
		g.run("", lsv1alpha1.InstallationTemplate{
			Name:    "tree",
			Imports: rootTemplate.Imports,
		}, rootBlueprint, func(map[string]any, dataflow.ContextValues) map[string]any { return nil })
		for _, name := range order {
			g.run("tree", byName[name], innerBlueprint, func(values map[string]any, _ dataflow.ContextValues) map[string]any {
				target := values["t"].(map[string]any)["spec"].(map[string]any)
				return map[string]any{"out": values["in"].(string) + name, "t": target}
			})
		}
		g.run("", rootTemplate, rootBlueprint, func(_ map[string]any, scope dataflow.ContextValues) map[string]any {
			return map[string]any{"fruit": scope.DataObjects["from-c"].(string) + " of " + scope.DataObjects["seed"].(string)}
		})
		resolved := resolve(t, root, `data: [{name: x, dataRef: fruit}]`, g.facts)
		if resolved["x"].Data != "sabc of s" || !slices.Equal(resolved["x"].Exporters, []string{"tree"}) {
			t.Errorf("%s: the fruit is %v, from %q", g.job, resolved["x"].Data, resolved["x"].Exporters)
		}
	}
	// seed and fruit; the seed of tree; in of a, b and c; and what they export
	if len(g.facts.DataObjects) != 9 {
		t.Errorf("%d data objects, want 9", len(g.facts.DataObjects))
	}
}
