// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/diagram"
)

func newGraph(env cli.Environment) *cobra.Command {
	s := &showing{env: env}
	s.print = func(printer display.Printer, p subject, format display.Format) error {
		v := viewOf(p.Pipeline, env.Now())
		switch {
		case format.IsData():
			return printer.Data(v, format)
		case format == display.FormatName:
			return printer.Lines(promotion.ResourceName(v.Name))
		}
		return draw(printer, v, format)
	}
	formats := []display.Format{display.FormatText, display.FormatTree, display.FormatJSON, display.FormatYAML, display.FormatName}
	return s.complete(&cobra.Command{
		Use:   "graph NAME",
		Short: "Draw a pipeline",
		Long: `Draw the environments of a pipeline with their targets, the revisions that those run,
and the promotions between them: as text, as a picture for browsers (-o svg), or for
Mermaid and Graphviz. -o json and -o yaml are those of "espalier pipeline status".`,
		Example: `  espalier pipeline graph shop
  espalier pipeline graph shop -o svg > shop.svg`,
		Args: cobra.ExactArgs(1),
	}, append(formats, display.GraphFormats...)...)
}

// draw prints a pipeline as a graph: in characters, as a picture, or in a language for diagrams.
func draw(printer display.Printer, v view, format display.Format) error {
	if format.IsGraph() {
		return printer.Graph(graphOf(v), format)
	}
	return printer.Lines(drawing(v)...)
}

// drawing is the graph in characters, from top to bottom.
func drawing(v view) []string {
	lines := []string{display.Clean(v.App)}
	for i, e := range v.Environments {
		if i > 0 {
			lines = append(lines, "│", "▼ "+arrow(e))
		}
		lines = append(lines, display.Clean(e.Name))
		for t, target := range e.Targets {
			branch := "├─ "
			if t == len(e.Targets)-1 {
				branch = "└─ "
			}
			lines = append(lines, branch+display.Clean(targetText(target)))
		}
	}
	return lines
}

func targetText(t pipelines.TargetStatus) string {
	return fmt.Sprintf("%s: %s, %s", nameOf(t), orDash(t.Revision), stateOf(t))
}

// arrow says what the promotion into an environment has come to, and what it waits for.
func arrow(e environmentView) string {
	text := "not promoted yet"
	if e.Promotion != nil {
		text = fmt.Sprintf("%s %s", e.Promotion.Revision, e.Promotion.State)
	}
	for _, hold := range e.Holds {
		text += ", " + string(hold.Reason)
	}
	return display.Clean(text)
}

// graphOf is the graph for diagrams.
func graphOf(v view) diagram.Graph {
	g := diagram.Graph{Title: "Pipeline/" + v.Name + " of " + v.App}
	for i, e := range v.Environments {
		id := strconv.Itoa(i)
		g.Nodes = append(g.Nodes, diagram.Node{ID: id, Title: e.Name, Detail: e.Revision, State: e.look()})
		for t, target := range e.Targets {
			g.Nodes = append(g.Nodes, diagram.Node{
				ID: fmt.Sprintf("%d/%d", i, t), Parent: id, Title: shortName(target),
				Detail: strings.TrimPrefix(target.Revision+", "+stateOf(target), ", "), State: targetLook(target),
			})
		}
		if i > 0 {
			g.Edges = append(g.Edges, diagram.Edge{From: strconv.Itoa(i - 1), To: id, Label: arrow(e), State: e.arrowLook()})
		}
	}
	return g
}

// shortName is a name of a target that fits into a box and differs from those of its neighbours.
func shortName(t pipelines.TargetStatus) string {
	if t.ClusterAppRef.ClusterRef == nil {
		return t.Namespace
	}
	return t.ClusterAppRef.ClusterRef.Name + "/" + t.Namespace
}

// look says how an environment is drawn.
func (e environmentView) look() string {
	if len(e.Holds) > 0 {
		switch reason := e.Holds[0].Reason; {
		case reason == pipelines.HoldWaitingForApproval || reason == pipelines.HoldWaitingForMerge:
			return "person"
		case reason == pipelines.HoldHeld || reason == pipelines.HoldSuspended || reason == pipelines.HoldRejected:
			return "stopped"
		case slices.Contains(broken, reason):
			return "failed"
		}
		return "waits"
	}
	if e.Revision != "" {
		return "done"
	}
	return "not-yet"
}

// arrowLook says how the promotion into an environment is drawn: it has been done, has come to a bad end, or is still missing.
func (e environmentView) arrowLook() string {
	switch {
	case slices.ContainsFunc(e.Holds, func(h pipelines.Hold) bool { return slices.Contains(broken, h.Reason) }):
		return "cut"
	case e.Promotion != nil && e.Promotion.State == pipelines.PromotionComplete:
		return ""
	}
	return "missing"
}

// targetLook says how a target is drawn.
func targetLook(t pipelines.TargetStatus) string {
	switch {
	case t.UnreadableSince != nil:
		return "unknown"
	case t.Ready:
		return "done"
	case t.Revision == "":
		return "not-yet"
	}
	return "works"
}
