// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package get is the command "espalier get".
package get

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

type options struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	nested bool
	names  []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "get [NAME...]",
		Short: "List installations with phase and progress",
		Long: `List installations: the phase, how many of the deploy items below have finished, and
what is wrong or what they wait for. Without NAME, all root installations of the
namespace.

The phase is that of the status, or one of these words: NotStarted (it never had a job),
Requested (a job is requested and has not started), Pending (the job of the tree has not
reached it), Triggered (the job has reached it, and work has not started).

-o json and -o yaml print the objects themselves; templates (jsonpath, go-template) are
filled with the same document.

"espalier get targetsyncs [NAME...]" lists TargetSyncs instead: whether their Targets
match the source, and what is wrong.

` + connect.FlagsHelp,
		Example: `  espalier get
  espalier get -A -o wide
  espalier get shop --context prod -n shops
  espalier get -o jsonpath='{.items[*].metadata.name}'
  espalier get targetsyncs`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if len(args) > 0 && connect.IsTargetSync(args[0]) {
				opts.names = args[1:]
				return targetSyncs(cmd.Context(), opts)
			}
			if opts.names, err = withoutKind(args); err != nil {
				return err
			}
			return run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.nested, "nested", false, "include nested installations")
	opts.format = display.AddFormatFlag(
		cmd,
		display.FormatTable,
		display.FormatWide,
		display.FormatTree,
		display.FormatJSON,
		display.FormatYAML,
		display.FormatName,
	)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	opts.access.AddSelector(connect.AllInstallations)
	cmd.ValidArgsFunction = opts.access.CompleteInstallations(connect.AllInstallations)
	return cmd
}

// withoutKind takes away the kind that people write who know kubectl. An installation of such a name is reached as installation/NAME.
func withoutKind(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	switch strings.ToLower(args[0]) {
	case "installation", "installations", "inst":
		return args[1:], nil
	case "pipeline", "pipelines":
		return nil, errors.New("this command lists installations; pipelines are listed by: espalier pipeline get")
	case "execution", "executions", "exec", "deployitem", "deployitems", "di":
		return nil, errors.New("this command lists installations; what is below them is shown by: espalier tree")
	default:
		return args, nil
	}
}

func run(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	selector, err := opts.selector()
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
	return opts.print(matching(nodes, selector, opts.nested && len(opts.names) == 0), namespace, format)
}

// selector is what -l demands of labels; without the flag, nothing.
func (o options) selector() (labels.Selector, error) {
	selector, err := o.access.Selector()
	switch {
	case err != nil:
		return nil, err
	case selector == nil:
		return labels.Everything(), nil
	case len(o.names) > 0:
		return nil, connect.ErrNamesAndSelector
	}
	return selector, nil
}

// matching returns the installations with the wanted labels, with those nested in them if that is wanted.
func matching(nodes []*objecttree.Node, selector labels.Selector, nested bool) []*objecttree.Node {
	var found []*objecttree.Node
	for _, node := range nodes {
		node.Walk(func(below *objecttree.Node) {
			wanted := below == node || nested && below.Kind == objecttree.Installation
			if wanted && selector.Matches(labels.Set(below.Object.GetLabels())) {
				found = append(found, below)
			}
		})
	}
	return found
}

func (o options) print(nodes []*objecttree.Node, namespace string, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch {
	case format.IsData():
		return printer.Objects(nodes, format, len(o.names) == 1)
	case format == display.FormatName:
		return printer.Names(nodes)
	}
	if len(nodes) == 0 {
		_, err := fmt.Fprintln(o.env.ErrOut, o.nothing(namespace))
		return err
	}
	switch format {
	case display.FormatTree:
		return printer.Table(printer.Tree(nodes, display.TreeOptions{Namespaces: o.access.AllNamespaces()}))
	case display.FormatWide:
		exact := printer.Exact()
		err := exact.Table(o.table(exact, nodes, true))
		return errors.Join(err, o.details(printer, nodes))
	default:
		err := printer.Table(o.table(printer, nodes, false))
		return errors.Join(err, o.details(printer, nodes))
	}
}

// details prints what messages say beyond their first line, for installations requested by name.
func (o options) details(printer display.Printer, nodes []*objecttree.Node) error {
	var lines []string
	for _, node := range nodes {
		details := display.Details(node.Explain().Message)
		if len(o.names) == 0 || len(details) == 0 {
			continue
		}
		lines = append(lines, "", node.Title()+":")
		for _, line := range details {
			lines = append(lines, "  "+line)
		}
	}
	return printer.Lines(lines...)
}

func (o options) nothing(namespace string) string {
	if selector, err := o.access.Selector(); err == nil && selector != nil {
		return "No installation matches --selector " + selector.String() + "."
	}
	if namespace == "" {
		return "There are no installations."
	}
	return fmt.Sprintf("There are no installations in namespace %s. To look in all namespaces, use -A.", namespace)
}
