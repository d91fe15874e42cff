// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory relates installations to the objects in target clusters, in both directions: "espalier inventory" lists what
// installations manage, and "espalier trace" leads from a live object to the installation, the job and the promotion that it comes from.
// Of live objects only the metadata is read.
package inventory

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/reach"
	"espalier.dev/internal/objecttree"
)

type options struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	live   bool
	names  []string
}

// New returns the command that lists objects.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "inventory [NAME... | -l SELECTOR]",
		Short: "List the objects that installations manage in target clusters",
		Long: `List every object that installations and those nested in them manage in target
clusters: the Target, the kind, namespace and name, the installation and the deploy item
that it belongs to, and the phase of that deploy item. Without NAME, the objects of all
installations of the namespace.

The list is what deployers have recorded. Of a Helm release, these are the release and
its workloads. Deployers that record nothing, such as the mock deployer, have no objects
in the list.

--live adds whether each object exists in its cluster and is ready. It needs the right to
read the Targets and, for those with a secretRef, their Secrets.

-o wide adds the API version, the policy, the root installation and the job. -o json and
-o yaml print the same facts for programs. -o name prints names as kubectl takes them.
-o tree, svg, mermaid and dot show the objects by Target and installation.
No format prints the content of an object.

` + connect.FlagsHelp,
		Example: `  espalier inventory
  espalier inventory shop -o wide
  espalier inventory shop --live
  espalier inventory shop -o tree
  espalier inventory -l team=shop
  espalier inventory -A -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.live, "live", false, "also how the objects are doing in the target clusters at present")
	formats := []display.Format{
		display.FormatTable, display.FormatWide, display.FormatTree, display.FormatJSON, display.FormatYAML, display.FormatName,
	}
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
	forest, namespace, err := opts.access.ReadForest(ctx, opts.names)
	if err != nil {
		return err
	}
	tops, err := opts.access.Choose(forest, namespace, opts.names)
	if err != nil {
		return err
	}
	items := itemsBelow(tops)
	if opts.live {
		targets, err := reach.Open(opts.access)
		if err != nil {
			return err
		}
		defer targets.Close()
		targets.Look(ctx, items)
	}
	c, err := opts.access.Client()
	if err != nil {
		return err
	}
	entries := entriesOf(items)
	if len(entries) > 0 {
		nameTargets(entries, objecttree.ReadOrigins(ctx, c, forest, namespace))
	}
	return opts.print(entries, format)
}

// itemsBelow are the deploy items of trees, each once, in the order of the trees.
func itemsBelow(tops []*objecttree.Node) []*objecttree.Node {
	var items []*objecttree.Node
	seen := map[*objecttree.Node]bool{}
	for _, top := range tops {
		top.Walk(func(node *objecttree.Node) {
			if node.Kind == objecttree.DeployItem && !seen[node] {
				seen[node] = true
				items = append(items, node)
			}
		})
	}
	return items
}

// list is what the command prints for programs.
type list struct {
	Objects []entry `json:"objects"`
}

func (o options) print(entries []entry, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch {
	case format.IsData():
		return printer.Data(list{Objects: entries}, format)
	case format == display.FormatName:
		return printer.Lines(names(entries)...)
	case format.IsGraph():
		return printer.Graph(o.graph(entries), format)
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintln(o.env.ErrOut, "No objects recorded.")
		return err
	}
	switch {
	case format == display.FormatTree:
		return printer.Outline(o.outline(entries))
	case format == display.FormatWide:
		return printer.Uncut().Table(o.table(entries, true))
	}
	return printer.Table(o.table(entries, false))
}
