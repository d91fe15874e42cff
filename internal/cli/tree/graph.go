// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/diagram"
	"espalier.dev/internal/objecttree"
)

// sketch is a graph of trees in the making.
type sketch struct {
	options
	graph diagram.Graph
	drawn map[*objecttree.Node]string
}

// graphOf draws trees: boxes lie in the boxes of those that they belong to, and lines are what they wait for.
func (o options) graphOf(tops []*objecttree.Node) diagram.Graph {
	s := &sketch{options: o, drawn: map[*objecttree.Node]string{}, graph: diagram.Graph{Title: titleOf(tops)}}
	for _, top := range tops {
		s.add(top, "")
	}
	for _, top := range tops {
		top.Walk(s.connect)
	}
	return s.graph
}

func titleOf(tops []*objecttree.Node) string {
	if len(tops) == 1 {
		return tops[0].Title()
	}
	return fmt.Sprintf("%d installations", len(tops))
}

// add adds a node and what is below it. An execution has no separate box if there are deploy items that can stand for it.
func (s *sketch) add(node *objecttree.Node, parent string) {
	below := slices.DeleteFunc(slices.Clone(node.Below), func(n *objecttree.Node) bool { return !s.wants(n) })
	if node.Kind == objecttree.Execution && len(below) > 0 {
		for _, item := range below {
			s.add(item, parent)
		}
		return
	}
	id := fmt.Sprintf("%s/%s/%s", node.Kind, node.Namespace(), node.Name())
	if s.drawn[node] != "" {
		return // It is below another one that was asked for, too.
	}
	s.drawn[node] = id
	title := cmp.Or(node.As, node.Name())
	if parent == "" && s.access.AllNamespaces() {
		title = node.Namespace() + "/" + title
	}
	s.graph.Nodes = append(s.graph.Nodes, diagram.Node{ID: id, Parent: parent, Title: title, Detail: detailOf(node), State: lookOf(node)})
	for _, n := range below {
		s.add(n, id)
	}
	if s.objects {
		s.addDeployed(node.Deployed(), id)
	}
}

// detailOf is the phase, and in a word what is wrong or waited for.
func detailOf(node *objecttree.Node) string {
	phase, reason := node.Phase(), node.Explain().Reason
	if reason == "" || reason == phase {
		return phase
	}
	return phase + ": " + reason
}

// lookOf says how the state of an object is drawn.
func lookOf(node *objecttree.Node) string {
	phase := node.Status.Phase
	switch node.State() {
	case objecttree.Succeeded:
		return "done"
	case objecttree.Failed:
		switch {
		case node.DeletionFailed(), phase == lsv1alpha1.PhaseDeleteFailed:
			return "going-failed"
		case phase == lsv1alpha1.PhaseAborted:
			return "stopped"
		}
		return "failed"
	case objecttree.Running:
		switch {
		case node.Phase() == objecttree.Triggered:
			return "not-yet"
		case phase.IsDeletion():
			return "going"
		}
		return "works"
	}
	return "not-yet"
}

var liveLooks = map[objecttree.LiveState]string{
	objecttree.Ready: "done", objecttree.NotReady: "waits", objecttree.Broken: "failed", objecttree.Gone: "failed",
	objecttree.NotReadable: "unknown",
}

// addDeployed adds what a deploy item has in its target cluster.
func (s *sketch) addDeployed(deployed objecttree.Deployed, parent string) {
	if deployed.Release != nil {
		title := "release " + deployed.Release.Name
		detail := strings.TrimSpace(deployed.Release.Chart + " " + deployed.Release.ChartVersion)
		s.graph.Nodes = append(s.graph.Nodes, diagram.Node{ID: parent + "/release", Parent: parent, Title: title, Detail: detail})
	}
	if deployed.Problem != "" {
		s.graph.Nodes = append(s.graph.Nodes, diagram.Node{
			ID: parent + "/problem", Parent: parent, Title: "its cluster", Detail: string(objecttree.NotReadable),
			State: liveLooks[objecttree.NotReadable],
		})
	}
	s.addObjects(deployed.Objects, parent)
}

func (s *sketch) addObjects(objects []objecttree.DeployedObject, parent string) {
	for i, object := range objects {
		n := diagram.Node{
			ID: fmt.Sprintf("%s/%d", parent, i), Parent: parent, Title: object.Name, Detail: object.Kind, State: liveLooks[object.State],
		}
		if object.State != "" {
			n.Detail += ", " + string(object.State)
		}
		s.graph.Nodes = append(s.graph.Nodes, n)
		s.addObjects(object.Below, n.ID)
	}
}

// connect draws what a node waits for, if that is drawn: siblings that export what it imports, and deploy items that come before it.
func (s *sketch) connect(node *objecttree.Node) {
	to := s.drawn[node]
	if to == "" {
		return
	}
	for _, before := range append(node.Predecessors(), node.Dependencies()...) {
		if from := s.drawn[before]; from != "" {
			s.graph.Edges = append(s.graph.Edges, diagram.Edge{From: from, To: to, Label: passed(before, node), State: edgeLook(before)})
		}
	}
}

// edgeLook says whether what comes from an object exists, or a failure has cut it off.
func edgeLook(from *objecttree.Node) string {
	switch from.State() {
	case objecttree.Succeeded:
		return diagram.There
	case objecttree.Failed:
		return "cut"
	}
	return ""
}

// passed names what one installation exports and another one imports, as the latter calls it.
func passed(from, to *objecttree.Node) string {
	exporter, ok := from.Installation()
	importer, both := to.Installation()
	if !ok || !both {
		return ""
	}
	data, targets := map[string]bool{}, map[string]bool{}
	for _, export := range exporter.Spec.Exports.Data {
		data[export.DataRef] = true
	}
	for _, export := range exporter.Spec.Exports.Targets {
		targets[export.Target] = true
	}
	var names []string
	for _, value := range importer.Spec.Imports.Data {
		if data[value.DataRef] {
			names = append(names, value.Name)
		}
	}
	for _, value := range importer.Spec.Imports.Targets {
		references := slices.Concat([]string{value.Target}, value.Targets, slices.Collect(maps.Values(value.TargetMap)))
		if slices.ContainsFunc(references, func(reference string) bool { return targets[reference] }) {
			names = append(names, value.Name)
		}
	}
	return strings.Join(names, ", ")
}
