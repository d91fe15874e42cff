// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"strings"

	"espalier.dev/internal/objecttree"
)

// TreeOptions say what to show of trees.
type TreeOptions struct {
	// Wanted leaves out objects with everything below them; nil shows all.
	Wanted func(*objecttree.Node) bool
	// Wide adds columns.
	Wide bool
	// Namespaces adds a column for them.
	Namespaces bool
	// Objects adds what deploy items have in their target clusters.
	Objects bool
}

// Tree returns trees as a table.
func (p Printer) Tree(tops []*objecttree.Node, options TreeOptions) Table {
	table := Table{Header: []string{"NAME", "PHASE", "SINCE"}}
	if options.Namespaces {
		table.Header = append([]string{"NAMESPACE"}, table.Header...)
	}
	if options.Wide {
		table.Header = append(table.Header, "AS", "TARGET", "JOB")
	}
	table.Header = append(table.Header, "MESSAGE")
	for _, top := range tops {
		if options.wants(top) {
			p.grow(&table, top, options, branch{})
		}
	}
	return table
}

func (o TreeOptions) wants(node *objecttree.Node) bool { return o.Wanted == nil || o.Wanted(node) }

// branch is what stands in front of a name.
type branch struct {
	stem   string // of the objects above
	joint  string // of this one
	shadow string // what the stem of those below gets in the joint's place
}

// below is the branch of an object below.
func (b branch) below(last bool) branch {
	if last {
		return branch{stem: b.stem + b.shadow, joint: "└─ ", shadow: "   "}
	}
	return branch{stem: b.stem + b.shadow, joint: "├─ ", shadow: "│  "}
}

func (p Printer) grow(table *Table, node *objecttree.Node, options TreeOptions, at branch) {
	table.Rows = append(table.Rows, p.treeRow(node, options, at.stem+at.joint))
	var wanted []*objecttree.Node
	for _, below := range node.Below {
		if options.wants(below) {
			wanted = append(wanted, below)
		}
	}
	for i, below := range wanted {
		p.grow(table, below, options, at.below(i == len(wanted)-1))
	}
	if options.Objects {
		growDeployed(table, node.Deployed(), options, at)
	}
}

// growDeployed adds what a deploy item has deployed. Nothing else is below it.
func growDeployed(table *Table, deployed objecttree.Deployed, options TreeOptions, at branch) {
	objects, complete := deployed.Objects, deployed.Problem == ""
	if deployed.Release != nil {
		row := deployedRow{title: deployed.Release.Title()}
		row.add(table, options, at.below(complete && len(objects) == 0))
	}
	for i, object := range objects {
		growObject(table, object, options, at.below(complete && i == len(objects)-1))
	}
	if !complete {
		row := deployedRow{title: "its cluster", state: objecttree.NotReadable, message: deployed.Problem}
		row.add(table, options, at.below(true))
	}
}

func growObject(table *Table, object objecttree.DeployedObject, options TreeOptions, at branch) {
	deployedRow{title: object.Title(), state: object.State, message: object.Message}.add(table, options, at)
	for i, below := range object.Below {
		growObject(table, below, options, at.below(i == len(object.Below)-1))
	}
}

// deployedRow describes something in a target cluster. Its state is known if the cluster was read.
type deployedRow struct {
	title   string
	state   objecttree.LiveState
	message string
}

func (r deployedRow) add(table *Table, options TreeOptions, at branch) {
	row := make([]Cell, len(table.Header))
	name := 0
	if options.Namespaces {
		name = 1
	}
	row[name] = Cell{Text: at.stem + at.joint + Clean(r.title), Style: Faint}
	row[name+1] = Cell{Text: string(r.state), Style: liveStyles[r.state]}
	row[len(row)-1] = Cell{Text: Summary(r.message)}
	table.Rows = append(table.Rows, row)
}

// LiveCell shows how an object in a target cluster is doing.
func LiveCell(state objecttree.LiveState) Cell {
	if state == "" {
		return OrDash("")
	}
	return Cell{Text: string(state), Style: liveStyles[state]}
}

var liveStyles = map[objecttree.LiveState]Style{
	objecttree.Ready: Green, objecttree.NotReady: Yellow, objecttree.Broken: Red, objecttree.Gone: Red, objecttree.NotReadable: Yellow,
}

func (p Printer) treeRow(node *objecttree.Node, options TreeOptions, prefix string) []Cell {
	row := []Cell{{Text: prefix + node.Title()}, PhaseCell(node), {Text: p.Age(node.Since()), Style: Faint}}
	if options.Namespaces {
		row = append([]Cell{{Text: node.Namespace()}}, row...)
	}
	if options.Wide {
		row = append(row, OrDash(node.As), OrDash(node.Target()), OrDash(ShortJob(node.Status.JobID)))
	}
	return append(row, MessageCell(node))
}

// PhaseCell shows the phase of an object.
func PhaseCell(node *objecttree.Node) Cell { return Cell{Clean(node.Phase()), styles[node.State()]} }

// MessageCell shows what is wrong with an object or what it waits for.
func MessageCell(node *objecttree.Node) Cell {
	cell := Cell{Text: Summary(node.Explain().Message)}
	if node.HasError() {
		cell.Style = Red
	}
	return cell
}

var styles = map[objecttree.State]Style{
	objecttree.Succeeded: Green, objecttree.Failed: Red, objecttree.Running: Yellow,
	objecttree.Requested: Yellow, objecttree.Pending: Faint, objecttree.NotStarted: Faint,
}

// ShortJob is the beginning of a job's ID, which is enough for people to tell jobs apart.
func ShortJob(id string) string {
	short, _, _ := strings.Cut(Clean(id), "-")
	return short
}

// OrDash shows that there is nothing to show.
func OrDash(text string) Cell {
	if text = Clean(text); text != "" {
		return Cell{Text: text}
	}
	return Cell{Text: "-", Style: Faint}
}
