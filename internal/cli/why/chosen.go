// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"slices"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// explainChosen answers for each installation that the selector matches.
func explainChosen(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	connection, err := opts.access.Connect()
	if err != nil {
		return err
	}
	nodes, err := opts.access.Trees(ctx, nil)
	if err != nil {
		return err
	}
	controllers := explain.Read(ctx, connection.Client, connection.Namespace, opts.env.Now())
	var answers []Answer
	for _, node := range nodes {
		answers = append(answers, Answer{node: node, chains: explain.Find(node, controllers), access: opts.access})
	}
	return opts.printAll(answers, format)
}

// reports are the answers for programs.
type reports struct {
	Answers []report `json:"answers"`
}

func (o options) printAll(answers []Answer, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	var lines []string
	var culprits []*objecttree.Node
	var all reports
	for i, answer := range answers {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, answer.Lines(printer)...)
		for _, node := range answer.culprits() {
			if !slices.Contains(culprits, node) {
				culprits = append(culprits, node)
			}
		}
		all.Answers = append(all.Answers, answer.report())
	}
	switch format {
	case display.FormatText:
		return printer.Lines(lines...)
	case display.FormatName:
		return printer.Names(culprits)
	}
	return printer.Data(all, format)
}
