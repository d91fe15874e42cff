// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/diagram"
	"espalier.dev/internal/objecttree"
)

// noTarget is where objects of deploy items without a Target are shown.
const noTarget = "no target"

// shelf is where an entry is shown: with its Target, and with the installation that manages it.
type shelf struct {
	// kind is Target, or empty if the deploy item has none.
	kind, target, installation string
}

func (o options) shelf(e entry) shelf {
	s := shelf{kind: "Target", target: e.TargetName, installation: e.Installation.Name}
	if o.access.AllNamespaces() {
		s.target, s.installation = e.DeployItem.Namespace+"/"+s.target, e.Installation.Namespace+"/"+s.installation
	}
	if e.TargetName == "" {
		s.kind, s.target = "", noTarget
	}
	return s
}

// outline shows objects below the installations that manage them, below the Targets.
func (o options) outline(entries []entry) display.Outline {
	var all display.Outline
	for _, e := range entries {
		s := o.shelf(e)
		text := e.Kind + " " + e.title()
		if e.State != "" {
			text = strings.TrimSuffix(fmt.Sprintf("%s: %s, %s", text, e.State, display.Summary(e.Message)), ", ")
		}
		all.Add(strings.TrimSpace(s.kind+" "+s.target), "Installation "+s.installation, text)
	}
	return all
}

var liveLooks = map[objecttree.LiveState]string{
	objecttree.Ready: "done", objecttree.NotReady: "waits", objecttree.Broken: "failed", objecttree.Gone: "failed",
	objecttree.NotReadable: "unknown",
}

// graph draws the same: boxes of objects lie in those of installations, which lie in those of Targets.
func (o options) graph(entries []entry) diagram.Graph {
	g := diagram.Graph{Title: "Objects in target clusters"}
	for i, e := range entries {
		s := o.shelf(e)
		around := "t/" + s.target
		within := around + "\n" + s.installation // No name has a line break.
		// A node that is there already is left out.
		g.Nodes = append(g.Nodes,
			diagram.Node{ID: around, Title: s.target, Detail: s.kind},
			diagram.Node{ID: within, Parent: around, Title: s.installation, Detail: "Installation"},
			diagram.Node{
				ID: fmt.Sprintf("o/%d", i), Parent: within, Title: e.title(), State: liveLooks[e.State],
				Detail: strings.TrimSuffix(e.Kind+", "+string(e.State), ", "),
			})
	}
	return g
}

// step is one thing on the way from what people have made to an object.
type step struct{ title, detail, state string }

// steps lead to the object from the root installation, or from the pipeline if only that knows the object.
func (r *report) steps() []step {
	var steps []step
	for _, o := range append([]liveView{r.Object}, r.Owners...) {
		if len(r.Chain) == 0 || !isLink(r.Chain[0], o) {
			steps = append(steps, step{title: o.Kind + "/" + o.Name, detail: o.Namespace})
		}
	}
	for _, l := range r.Chain {
		steps = append(steps, step{title: l.node.Title(), detail: l.node.Phase(), state: stateLooks[l.node.State()]})
	}
	for _, o := range r.Origins {
		steps = append(steps, step{title: "Pipeline/" + o.Pipeline.Name, detail: o.Environment + " " + o.Revision})
		break // Others lead to the same.
	}
	slices.Reverse(steps)
	return steps
}

var stateLooks = map[objecttree.State]string{
	objecttree.Succeeded: "done", objecttree.Failed: "failed", objecttree.Running: "works", objecttree.Requested: "not-yet",
	objecttree.Pending: "not-yet", objecttree.NotStarted: "not-yet",
}

func (r *report) outline() display.Outline {
	var all display.Outline
	var path []string
	for _, s := range r.steps() {
		path = append(path, strings.TrimSuffix(s.title+": "+s.detail, ": "))
	}
	all.Add(path...)
	return all
}

func (r *report) graph() diagram.Graph {
	g := diagram.Graph{Title: "Origin of " + r.Object.Kind + "/" + r.Object.Name}
	for i, s := range r.steps() {
		g.Nodes = append(g.Nodes, diagram.Node{ID: strconv.Itoa(i), Title: s.title, Detail: s.detail, State: s.state})
		if i > 0 {
			g.Edges = append(g.Edges, diagram.Edge{From: strconv.Itoa(i - 1), To: strconv.Itoa(i)})
		}
	}
	return g
}

// names is what the object comes from, in the form that kubectl takes.
func (r *report) names() []string {
	if len(r.Chain) > 0 {
		top := r.Chain[len(r.Chain)-1]
		return []string{display.ResourceName(top.Kind, top.Name)}
	}
	return []string{promotion.ResourceName(r.Origins[0].Pipeline.Name)}
}
