// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipeline is the command "espalier pipeline" with the commands below it, which show pipelines. What they say
// about waiting comes from the functions by which the controller decides, applied to what the status of the Pipeline
// records about the targets.
package pipeline

import (
	"context"

	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pipeline",
		Aliases: []string{"pipelines", "pl"},
		Short:   "Show pipelines: where revisions are, and what they wait for",
		Long: `Show pipelines: where revisions are, what they wait for, and how they got there.

To decide on promotions, use the commands approve, reject, promote, retry and hold.`,
		Example: `  espalier pipeline get
  espalier pipeline why shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGet(env), newStatus(env), newWhy(env), newHistory(env), newGraph(env))
	return cmd
}

// showing is a command that reads one pipeline and prints something about it.
type showing struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	// print shows the pipeline; arguments are those behind its name.
	print func(p display.Printer, s subject, format display.Format) error
}

// subject is what is shown.
type subject struct {
	*pipelines.Pipeline
	arguments []string
}

// complete gives a command the flags for the cluster, and has it read the pipeline that its first argument names.
func (s *showing) complete(cmd *cobra.Command, formats ...display.Format) *cobra.Command {
	cmd.Long += "\n\n" + connect.FlagsHelp
	s.format = display.AddFormatFlag(cmd, formats...)
	s.access = connect.AddFlags(cmd, s.env)
	cmd.ValidArgsFunction = s.access.CompletePipelines(cmd.Args(cmd, []string{"pipeline", "environment"}) == nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args) }
	return cmd
}

func (s *showing) run(ctx context.Context, args []string) error {
	format, err := s.format.Get()
	if err != nil {
		return err
	}
	connection, err := s.access.Connect()
	if err != nil {
		return err
	}
	p, err := s.access.ReadPipeline(ctx, connection.Client, connection.Namespace, args[0])
	if err != nil {
		return err
	}
	return s.print(display.To(s.env, s.env.Out), subject{Pipeline: p, arguments: args[1:]}, format)
}
