// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// column is one of the table.
type column struct {
	title string
	cell  func(display.Printer, *objecttree.Node) display.Cell
}

func (o options) table(printer display.Printer, nodes []*objecttree.Node, wide bool) display.Table {
	return Table(printer, nodes, o.access.AllNamespaces(), wide)
}

// Table lists installations.
func Table(printer display.Printer, nodes []*objecttree.Node, namespaces, wide bool) display.Table {
	columns := []column{
		{"NAME", func(_ display.Printer, n *objecttree.Node) display.Cell { return display.Cell{Text: n.Name()} }},
		{"PHASE", func(_ display.Printer, n *objecttree.Node) display.Cell { return display.PhaseCell(n) }},
		{"PROGRESS", func(_ display.Printer, n *objecttree.Node) display.Cell { return progress(n) }},
		{printer.AgeTitle(), func(p display.Printer, n *objecttree.Node) display.Cell {
			created := n.Object.GetCreationTimestamp()
			return age(p, &created)
		}},
	}
	if namespaces {
		columns = append(
			[]column{{"NAMESPACE", func(_ display.Printer, n *objecttree.Node) display.Cell { return display.Cell{Text: n.Namespace()} }}},
			columns...)
	}
	if wide {
		columns = append(columns, wideColumns...)
	}
	columns = append(columns, column{"MESSAGE", func(_ display.Printer, n *objecttree.Node) display.Cell { return display.MessageCell(n) }})
	var table display.Table
	for _, c := range columns {
		table.Header = append(table.Header, c.title)
	}
	for _, node := range nodes {
		var row []display.Cell
		for _, c := range columns {
			row = append(row, c.cell(printer, node))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

var wideColumns = []column{
	{"SINCE", func(p display.Printer, n *objecttree.Node) display.Cell {
		return display.Cell{Text: p.Age(n.Since()), Style: display.Faint}
	}},
	{"FLOW", func(_ display.Printer, n *objecttree.Node) display.Cell {
		installation, _ := n.Installation()
		return display.Cell{Text: string(installation.Spec.Flow.OrDefault())}
	}},
	{"PARENT", func(_ display.Printer, n *objecttree.Node) display.Cell {
		return display.OrDash(objecttree.ParentOf(n.Object))
	}},
	{"JOB", func(_ display.Printer, n *objecttree.Node) display.Cell {
		return display.OrDash(display.ShortJob(n.Status.JobID))
	}},
	{"REASON", func(_ display.Printer, n *objecttree.Node) display.Cell { return display.OrDash(n.Explain().Reason) }},
}

// age is how long ago something was, if it was.
func age(p display.Printer, at *metav1.Time) display.Cell {
	if at == nil {
		at = &metav1.Time{}
	}
	return display.Cell{Text: p.Age(at.Time), Style: display.Faint}
}

// progress is how many deploy items below have finished.
func progress(n *objecttree.Node) display.Cell {
	p := n.Progress()
	if p.All == 0 {
		return display.Cell{Text: "-", Style: display.Faint}
	}
	parts := []string{fmt.Sprintf("%d/%d", p.Finished, p.All)}
	if p.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", p.Failed))
	}
	cell := display.Cell{Text: strings.Join(parts, ", ")}
	if p.Failed > 0 {
		cell.Style = display.Red
	}
	return cell
}
