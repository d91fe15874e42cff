// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package tree is the command "espalier tree".
package tree

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/objecttree"
)

type options struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	failed bool
	names  []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "tree [NAME...]",
		Short: "Show installations with everything below them",
		Long: `Show installations with the installations nested in them, their executions and their
deploy items: the phase of each, since when, and what is wrong or waited for. Without
NAME, all trees of the namespace.

-o wide adds the name that the object above gives to each, the target and the job, and
cuts no message. -o json and -o yaml print the trees for programs: the same facts, and
no specs.

` + connect.FlagsHelp + "\n\n" + cli.ExitCodesHelp,
		Example: `  espalier tree
  espalier tree shop --failed
  espalier tree shop -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.failed, "failed", false, "only what has failed or meets errors, and the objects above it")
	opts.format = display.AddFormatFlag(
		cmd,
		display.FormatTree,
		display.FormatWide,
		display.FormatJSON,
		display.FormatYAML,
		display.FormatName,
	)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	cmd.ValidArgsFunction = opts.access.CompleteInstallations(connect.AllInstallations)
	return cmd
}

func run(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	forest, namespace, err := opts.access.ReadForest(ctx, opts.names)
	if err != nil {
		return err
	}
	nodes, err := opts.access.Select(forest, namespace, opts.names)
	if err != nil {
		return err
	}
	return opts.print(nodes, format)
}

// report is what the command prints for programs.
type report struct {
	Trees []*objecttree.View `json:"trees"`
}

func (o options) print(tops []*objecttree.Node, format display.Format) error {
	var wanted []*objecttree.Node
	for _, top := range tops {
		if o.wants(top) {
			wanted = append(wanted, top)
		}
	}
	printer := display.To(o.env, o.env.Out)
	switch format {
	case display.FormatJSON, display.FormatYAML:
		trees := report{Trees: []*objecttree.View{}}
		for _, top := range wanted {
			trees.Trees = append(trees.Trees, top.DeepView(o.wants))
		}
		return printer.Data(trees, format)
	case display.FormatName:
		return printer.Names(o.flatten(wanted))
	}
	if len(wanted) == 0 {
		_, err := fmt.Fprintln(o.env.ErrOut, o.nothing())
		return err
	}
	shown := display.TreeOptions{Wanted: o.wants, Wide: format == display.FormatWide, Namespaces: o.access.AllNamespaces()}
	if shown.Wide {
		printer = printer.Uncut()
	}
	return printer.Table(printer.Tree(wanted, shown))
}

func (o options) nothing() string {
	if o.failed {
		return "Nothing has failed."
	}
	return "There are no installations."
}

// wants reports whether an object is to be shown, for its own sake or for something below it.
func (o options) wants(node *objecttree.Node) bool {
	if !o.failed {
		return true
	}
	found := false
	node.Walk(func(below *objecttree.Node) { found = found || below.InTrouble() })
	return found
}

func (o options) flatten(tops []*objecttree.Node) []*objecttree.Node {
	var nodes []*objecttree.Node
	for _, top := range tops {
		top.Walk(func(node *objecttree.Node) {
			if o.wants(node) {
				nodes = append(nodes, node)
			}
		})
	}
	return nodes
}
