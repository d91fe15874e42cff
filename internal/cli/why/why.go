// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package why is the command "espalier why".
package why

import (
	"context"
	"fmt"
	"strings"
	"time"

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
		Use:   "why (NAME | -l SELECTOR)",
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

With --selector, the command explains each installation that matches; -o json and -o yaml
then print the list "answers". A nested installation is left out if one above it matches.

-o name prints the names of the objects that block the others, as kubectl takes them.

` + connect.FlagsHelp,
		Example: `  espalier why shop
  espalier why deployitem/shop-web-nginx
  espalier why targetsync/clusters
  espalier why -l team=shop
  espalier why shop -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return explainChosen(cmd.Context(), opts)
			}
			opts.name = args[0]
			if name, is := targetSyncNamed(opts.name); is {
				return explainTargetSync(cmd.Context(), opts, name)
			}
			if name, is := connect.PipelineName(opts.name); is {
				return opts.signpost(name)
			}
			return run(cmd.Context(), opts)
		},
	}
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML, display.FormatName)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddSelector(connect.AllInstallations)
	cmd.Args = cobra.MatchAll(cobra.MaximumNArgs(1), opts.access.NamesOrSelector(1))
	kinds := opts.access.TreeKinds()
	kinds["targetsync"] = opts.access.CompleteTargetSyncs()
	cmd.ValidArgsFunction = connect.CompleteOne(
		connect.CompleteKinds(kinds, opts.access.CompleteInstallations(connect.AllInstallations)))
	return cmd
}

// signpost refuses a pipeline, and names the command that explains it.
func (opts options) signpost(pipeline string) error {
	namespace, err := opts.access.Namespace()
	if err != nil {
		return err
	}
	return &cli.Problem{
		Code: cli.ExitError, What: "another command explains pipelines",
		Next: []string{opts.access.Suggest(namespace, "pipeline", "why", pipeline)},
	}
}

func run(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	question := Question{Now: opts.env.Now()}
	if question.Kind, question.Name, err = objecttree.ParseName(opts.name); err != nil {
		return err
	}
	if question.Connection, err = opts.access.Connect(); err != nil {
		return err
	}
	answer, err := question.Answer(ctx)
	if err != nil {
		return err
	}
	printer := display.To(opts.env, opts.env.Out)
	switch format {
	case display.FormatText:
		return printer.Lines(answer.Lines(printer)...)
	case display.FormatName:
		return printer.Names(answer.culprits())
	}
	return printer.Data(answer.report(), format)
}

// Question asks about an object in the namespace of a connection.
type Question struct {
	connect.Connection
	Kind objecttree.Kind
	Name string
	Now  time.Time
}

// Answer reads all that the answer depends on.
func (q Question) Answer(ctx context.Context) (Answer, error) {
	objects, err := objecttree.Read(ctx, q.Client, q.Namespace)
	if err != nil {
		return Answer{}, q.Access.Explain(err, "read the installations", q.Namespace)
	}
	node := objects.Forest().Find(q.Kind, q.Namespace, q.Name)
	if node == nil {
		return Answer{}, q.notFound()
	}
	return Answer{node: node, chains: explain.Find(node, explain.Read(ctx, q.Client, q.Namespace, q.Now)), access: q.Access}, nil
}

func (q Question) notFound() error {
	if q.Kind == objecttree.Installation {
		return q.Access.NotFound(q.Namespace, q.Name)
	}
	return &cli.Problem{
		Code: cli.ExitNotFound, What: fmt.Sprintf("%s %s does not exist", strings.ToLower(string(q.Kind)), q.Name),
		Where: q.Access.Where(q.Namespace),
		Next:  []string{q.Access.Suggest(q.Namespace, "tree")},
	}
}
