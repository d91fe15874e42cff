// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package why is the command "espalier why".
package why

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

type options struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	name   string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "why NAME",
		Short: "Explain why an installation is not done",
		Long: `Explain why an installation waits or has failed. The command follows the chain of waits
to the object that blocks all others: from an installation to its predecessor, to its
execution, to a deploy item, to what that waits for in its target. The first line names
that object, the reason and the details; the chain and the commands to run next follow.
For an error, the last line names the section of the documentation that explains it.

The command calls the same decision functions as the controllers. It changes nothing, and
its exit code is 0 whatever the answer is.

Instead of the name of an installation, you can pass execution/NAME, deployitem/NAME or
targetsync/NAME.

` + connect.FlagsHelp + "\n\n" + cli.ExitCodesHelp,
		Example: `  espalier why shop
  espalier why deployitem/shop-web-nginx
  espalier why targetsync/clusters
  espalier why shop -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.name = args[0]
			if name, is := targetSyncNamed(opts.name); is {
				return explainTargetSync(cmd.Context(), opts, name)
			}
			return run(cmd.Context(), opts)
		},
	}
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML)
	opts.access = connect.AddFlags(cmd, env)
	complete := opts.access.CompleteInstallations(connect.AllInstallations)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
	return cmd
}

func run(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	kind, name, err := objecttree.ParseName(opts.name)
	if err != nil {
		return err
	}
	c, err := opts.access.Client()
	if err != nil {
		return err
	}
	forest, namespace, err := opts.access.ReadForest(ctx, nil)
	if err != nil {
		return err
	}
	node := forest.Find(kind, namespace, name)
	if node == nil {
		return opts.notFound(kind, namespace, name)
	}
	answer := answer{node: node, chains: explain.Find(node, explain.Read(ctx, c, namespace, opts.env.Now())), access: opts.access}
	printer := display.To(opts.env, opts.env.Out)
	if format == display.FormatText {
		return answer.print(printer)
	}
	return printer.Data(answer.report(), format)
}

func (o options) notFound(kind objecttree.Kind, namespace, name string) error {
	if kind == objecttree.Installation {
		return o.access.NotFound(namespace, name)
	}
	return &cli.Problem{
		Code: cli.ExitNotFound, What: fmt.Sprintf("%s %s does not exist", strings.ToLower(string(kind)), name), Where: o.access.Where(namespace),
		Next: []string{o.access.Suggest(namespace, "tree")},
	}
}
