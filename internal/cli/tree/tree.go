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
	"espalier.dev/internal/objecttree"
)

type options struct {
	env     cli.Environment
	access  *connect.Access
	format  *display.FormatFlag
	failed  bool
	objects bool
	live    bool
	names   []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "tree [NAME... | -l SELECTOR]",
		Short: "Show installations with everything below them",
		Long: `Show installations with the installations nested in them, their executions and their
deploy items: the phase of each, since when, and what is wrong or what it waits for.
Without NAME, all trees of the namespace.

--objects adds what deploy items have deployed: Helm releases with their revision and
chart, and objects, as the deployers have recorded them. Of a release, these are the
workloads.

--live checks in the clusters whether these objects, and the pods of workloads, exist and
are ready. It needs the right to read the Targets and, for those with a secretRef, their
Secrets; selfConfig needs the right to create tokens of its service account.

-o wide adds the name of each object in its parent, the target and the job, shows times
instead of ages, and does not truncate messages. -o json and -o yaml print the trees for
programs: the same facts, and no specs.

-o svg draws a picture for browsers, with lines from objects that export a value or come
first to those that wait for them. It omits executions unless they are empty.
-o mermaid and -o dot print the same graph for Mermaid and Graphviz.

` + connect.FlagsHelp,
		Example: `  espalier tree
  espalier tree shop --failed
  espalier tree -A -l team=shop
  espalier tree shop --objects
  espalier tree shop --live
  espalier tree shop -o json
  espalier tree shop -o svg > shop.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.failed, "failed", false, "only objects that have failed or report errors, and the objects above them")
	cmd.Flags().BoolVar(&opts.objects, "objects", false, "also what deploy items have in their target clusters, as recorded by deployers")
	cmd.Flags().BoolVar(&opts.live, "live", false, "also the current state of objects and pods in the target clusters")
	formats := []display.Format{display.FormatTree, display.FormatWide, display.FormatJSON, display.FormatYAML, display.FormatName}
	opts.format = display.AddFormatFlag(cmd, append(formats, display.GraphFormats...)...)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	opts.access.AddSelector(connect.AllInstallations)
	cmd.Args = opts.access.NamesOrSelector(0)
	cmd.ValidArgsFunction = opts.access.CompleteInstallations(connect.AllInstallations)
	return cmd
}

func run(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	nodes, err := opts.access.Trees(ctx, opts.names)
	if err != nil {
		return err
	}
	if opts.live {
		opts.objects = true
		if err := opts.look(ctx, nodes); err != nil {
			return err
		}
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
	switch {
	case format.IsData():
		trees := report{Trees: []*objecttree.View{}}
		for _, top := range wanted {
			trees.Trees = append(trees.Trees, top.DeepView(o.wants, o.objects))
		}
		return printer.Data(trees, format)
	case format == display.FormatName:
		return printer.Names(o.flatten(wanted))
	case format.IsGraph():
		return printer.Graph(o.graphOf(wanted), format)
	}
	if len(wanted) == 0 {
		_, err := fmt.Fprintln(o.env.ErrOut, o.nothing())
		return err
	}
	shown := display.TreeOptions{
		Wanted:     o.wants,
		Wide:       format == display.FormatWide,
		Namespaces: o.access.AllNamespaces(),
		Objects:    o.objects,
	}
	if shown.Wide {
		printer = printer.Exact()
	}
	return printer.Table(printer.Tree(wanted, shown))
}

func (o options) nothing() string {
	if o.failed {
		return "Nothing has failed."
	}
	return "There are no installations."
}

// wants reports whether to show an object, for its own sake or for something below it.
func (o options) wants(node *objecttree.Node) bool {
	if !o.failed {
		return true
	}
	found := false
	node.Walk(func(below *objecttree.Node) { found = found || below.HasError() })
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
