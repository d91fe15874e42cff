// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/diagram"
	"espalier.dev/internal/web/view"
)

// reference is a name under which parts of a blueprint exchange values. Data and targets have separate names.
type reference struct {
	target bool
	name   string
}

// flow is the flow of values through a blueprint: imports, nested installations and templates, exports.
//
// The definitions of nested installations say what they import and export. What templates use is found in their texts: the imports that
// they name, or all if a template uses the imports as a whole.
type flow struct {
	graph diagram.Graph
	kinds map[string]string
	// givers are the nodes that provide a reference: imports and nested installations.
	givers  map[reference]string
	imports map[string]bool // by name; the value reports whether it is a target
	lines   map[line]int
	targets []bool // of edges
}

type line struct {
	from, to string
	target   bool
}

// partsOf draws the flow of values through a blueprint, from imports on the left to exports on the right.
func partsOf(name string, b *blueprint.Blueprint) view.Graph {
	f := &flow{
		graph: diagram.Graph{Title: "Data flow in the blueprint of " + name}, kinds: map[string]string{}, givers: map[reference]string{},
		imports: map[string]bool{}, lines: map[line]int{},
	}
	for _, definition := range allImports(b.Imports) {
		f.addImport(definition)
	}
	f.addInstallations(b.Subinstallations)
	added := f.addTemplates("importExecutions", "more imports", b.ImportExecutions, b.Files)
	nested := f.addTemplates("subinstallationExecutions", "installations", b.SubinstallationExecutions, b.Files)
	deployed := f.addTemplates("deployExecutions", "deploy items", b.DeployExecutions, b.Files)
	exported := f.addTemplates("exportExecutions", "exports", b.ExportExecutions, b.Files)
	for _, t := range slices.Concat(added, nested, deployed, exported) {
		f.takeImports(t)
	}
	for _, t := range nested {
		f.takeReferences(t)
	}
	for _, t := range exported {
		f.takeResults(t, nested, deployed)
	}
	for i := range b.Exports {
		f.addExport(&b.Exports[i].FieldValueDefinition, exported)
	}
	return f.drawn()
}

// allImports returns all imports, conditional ones after those that they depend on.
func allImports(definitions []lsv1alpha1.ImportDefinition) []*lsv1alpha1.FieldValueDefinition {
	var all []*lsv1alpha1.FieldValueDefinition
	for i := range definitions {
		all = append(all, &definitions[i].FieldValueDefinition)
		all = append(all, allImports(definitions[i].ConditionalImports)...)
	}
	return all
}

func (f *flow) add(kind string, node diagram.Node) {
	f.kinds[node.ID] = kind
	node.State = string(view.NotYet)
	f.graph.Nodes = append(f.graph.Nodes, node)
}

// join draws an edge from one node to another. All data between two nodes share one edge, and so do all targets.
func (f *flow) join(from, to, label string, target bool) {
	if from == to {
		return
	}
	l := line{from, to, target}
	at, known := f.lines[l]
	if !known {
		f.lines[l] = len(f.graph.Edges)
		f.graph.Edges = append(f.graph.Edges, diagram.Edge{From: from, To: to, Label: label, State: diagram.There})
		f.targets = append(f.targets, target)
		return
	}
	edge := &f.graph.Edges[at]
	if label != "" && !slices.Contains(strings.Split(edge.Label, ", "), label) {
		edge.Label = strings.TrimPrefix(edge.Label+", "+label, ", ")
	}
}

func isTarget(d *lsv1alpha1.FieldValueDefinition) bool {
	return dataflow.TypeOf(d) != lsv1alpha1.ImportTypeData
}

func parameterWords(d *lsv1alpha1.FieldValueDefinition) string {
	return cmp.Or(view.TypeWords(d), string(dataflow.TypeOf(d)))
}

func (f *flow) addImport(d *lsv1alpha1.FieldValueDefinition) {
	id, kind := "import/"+d.Name, "import"
	if isTarget(d) {
		kind = "target"
	}
	f.add(kind, diagram.Node{ID: id, Title: d.Name, Detail: parameterWords(d), Side: diagram.Start})
	f.imports[d.Name] = isTarget(d)
	f.givers[reference{isTarget(d), d.Name}] = id
}

// addInstallations draws nested installations. An export of one hides an import of the same name from the others.
func (f *flow) addInstallations(all []lsv1alpha1.SubinstallationTemplate) {
	all = slices.DeleteFunc(slices.Clone(all), func(s lsv1alpha1.SubinstallationTemplate) bool { return s.InstallationTemplate == nil })
	for _, sub := range all {
		id := "installation/" + sub.Name
		f.add("installation", diagram.Node{ID: id, Title: sub.Name, Detail: "installation", Side: diagram.Anywhere})
		for _, export := range sub.Exports.Data {
			f.givers[reference{false, export.DataRef}] = id
		}
		for _, export := range sub.Exports.Targets {
			f.givers[reference{true, export.Target}] = id
		}
	}
	for _, sub := range all {
		for _, taken := range sub.Imports.Data {
			f.take("installation/"+sub.Name, reference{false, taken.DataRef})
		}
		for _, taken := range sub.Imports.Targets {
			for _, name := range targetsOf(taken) {
				f.take("installation/"+sub.Name, reference{true, name})
			}
		}
	}
}

// targetsOf returns the names of the targets, lists and maps that an import uses.
func targetsOf(taken lsv1alpha1.TargetImport) []string {
	names := append([]string{taken.Target, taken.TargetListReference, taken.TargetMapReference}, taken.Targets...)
	for _, name := range taken.TargetMap {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// take draws an edge from the node that provides a reference, if the blueprint contains it.
func (f *flow) take(id string, r reference) {
	giver, known := f.givers[r]
	if !known {
		return
	}
	label := r.name
	if f.kinds[giver] != "installation" {
		label = "" // The name of an import is already that of its node.
	}
	f.join(giver, id, label, r.target)
}

// templateText is a template in the drawing, with its text.
type templateText struct{ id, text string }

func (f *flow) addTemplates(list, detail string, executors []lsv1alpha1.TemplateExecutor, files blueprint.Files) []templateText {
	var all []templateText
	for i, executor := range executors {
		t := templateText{id: fmt.Sprintf("%s/%d", list, i), text: textOf(executor, files)}
		title := cmp.Or(executor.Name, fmt.Sprintf("template %d", i+1))
		f.add("template", diagram.Node{ID: t.id, Title: title, Detail: detail, Side: diagram.Anywhere})
		all = append(all, t)
	}
	return all
}

func textOf(executor lsv1alpha1.TemplateExecutor, files blueprint.Files) string {
	if executor.Template == nil {
		return string(files[executor.File])
	}
	var text string
	if json.Unmarshal(executor.Template.Raw, &text) == nil {
		return text
	}
	return string(executor.Template.Raw)
}

// named matches entries of an object that a template names: imports.size, index .imports "size", imports["size"].
func named(object string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + object + `(?:\.|\s*\[?\s*["'` + "`" + `])([\w-]+)`)
}

var (
	namedImports     = named("imports")
	namedDeployItems = named("deployitems")
	namedDataObjects = named("dataobjects")
	namedTargets     = named("targets")
	// wholeImports matches the imports used as a value, as in toYaml .imports and (( imports )).
	wholeImports = regexp.MustCompile(`[.($]\s*imports\s*[)}|,\s]`)
	references   = regexp.MustCompile(`\b(dataRef|target|targetListRef|targetMapRef)["']?:\s*["']?([\w.-]+)`)
)

func namesIn(text string, pattern *regexp.Regexp) []string {
	var names []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

// takeImports draws edges from the imports that a template uses.
func (f *flow) takeImports(t templateText) {
	used := namesIn(t.text, namedImports)
	whole := wholeImports.MatchString(namedImports.ReplaceAllString(t.text, ""))
	for _, node := range slices.Clone(f.graph.Nodes) {
		name, isImport := strings.CutPrefix(node.ID, "import/")
		if isImport && (whole || slices.Contains(used, name)) {
			f.join(node.ID, t.id, "", f.imports[name])
		}
	}
}

// takeReferences draws edges to a template that creates installations, from the references that these name.
func (f *flow) takeReferences(t templateText) {
	for _, match := range references.FindAllStringSubmatch(t.text, -1) {
		f.take(t.id, reference{match[1] != "dataRef", match[2]})
	}
}

// takeResults draws edges to a template that creates exports, from the nested installations and deploy items whose results it reads.
func (f *flow) takeResults(t templateText, nested, deployed []templateText) {
	take := func(r reference) {
		if _, known := f.givers[r]; known {
			f.take(t.id, r)
			return
		}
		for _, maker := range nested {
			if mentions(maker.text, r.name) {
				f.join(maker.id, t.id, r.name, r.target)
			}
		}
	}
	for _, name := range namesIn(t.text, namedDataObjects) {
		take(reference{false, name})
	}
	for _, name := range namesIn(t.text, namedTargets) {
		take(reference{true, name})
	}
	f.takeItems(t, deployed)
}

// takeItems draws edges from the templates whose deploy items an export template reads, or from all if none of them names these.
func (f *flow) takeItems(t templateText, deployed []templateText) {
	if !mentions(t.text, "deployitems") {
		return
	}
	names := namesIn(t.text, namedDeployItems)
	found := false
	for _, maker := range deployed {
		for _, name := range names {
			if mentions(maker.text, name) {
				f.join(maker.id, t.id, name, false)
				found = true
			}
		}
	}
	for _, maker := range deployed {
		if !found {
			f.join(maker.id, t.id, strings.Join(names, ", "), false)
		}
	}
}

func mentions(text, name string) bool {
	return regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(name) + `(?:[^\w-]|$)`).MatchString(text)
}

// addExport draws an export, with edges from the templates that provide it: those that name it, or the only one.
func (f *flow) addExport(d *lsv1alpha1.FieldValueDefinition, exported []templateText) {
	id := "export/" + d.Name
	f.add("export", diagram.Node{ID: id, Title: d.Name, Detail: parameterWords(d), Side: diagram.End})
	for _, t := range exported {
		if len(exported) == 1 || mentions(t.text, d.Name) {
			f.join(t.id, id, "", isTarget(d))
		}
	}
}

func (f *flow) drawn() view.Graph {
	drawing := f.graph.Layout()
	graph := view.Graph{Width: drawing.Width, Height: drawing.Height, Nodes: []view.Node{}, Edges: []view.Edge{}}
	for _, box := range drawing.Boxes {
		graph.Nodes = append(graph.Nodes, view.Node{
			ID: box.ID, X: box.X, Y: box.Y, Width: box.Width, Height: box.Height, Title: box.Title, Detail: box.Detail,
			Status: view.Status{Tone: view.NotYet}, Group: box.Group, Kind: f.kinds[box.ID],
		})
	}
	for i, line := range drawing.Lines {
		graph.Edges = append(graph.Edges, view.NewEdge(line, f.targets[i]))
	}
	return graph
}
