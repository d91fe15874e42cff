// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package interrupt is the command "espalier interrupt".
package interrupt

import (
	"context"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/cluster"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/request"
)

type options struct {
	access *cluster.Access
	flags  *follow.Flags
	names  []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:   "interrupt NAME...",
		Short: "End running jobs as failed",
		Long: `End the running job of installations: deploy items that have not finished are given
up, and the tree ends as Failed. What was deployed stays as it is; a new job brings it
up to date.

With --wait, the exit code is 0 once the job has ended, in whatever way.

` + cluster.FlagsHelp + "\n\n" + cli.ExitCodesHelp,
		Example: `  espalier interrupt shop
  espalier interrupt shop --wait && espalier reconcile shop --wait`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	opts.access = cluster.AddFlags(cmd, env)
	opts.flags = follow.AddStartFlags(cmd, env, opts.access, "the job has ended")
	cmd.ValidArgsFunction = opts.access.CompleteInstallations(cluster.RootInstallations)
	return cmd
}

func run(ctx context.Context, opts options) error {
	if err := opts.flags.Check(); err != nil {
		return err
	}
	desk, err := request.NewDesk(opts.access)
	if err != nil {
		return err
	}
	roots, err := desk.Roots(ctx, opts.names, "interrupt")
	if err != nil {
		return err
	}
	var started []follow.Started
	for _, root := range roots {
		interrupted := follow.Started{Awaited: follow.Awaited{Name: root.Name, Goal: &follow.Finished{}}, Said: "has no job to interrupt"}
		if !root.Status.IsFinished() {
			dropped, err := desk.Interrupt(ctx, root)
			if err != nil {
				return err
			}
			interrupted.Said = "is interrupted"
			opts.warn(dropped, desk.Namespace, root.Name)
		}
		started = append(started, interrupted)
	}
	return opts.flags.Done(ctx, desk.Namespace, started)
}

// warn tells of a request that the interrupt has replaced.
func (o options) warn(dropped bool, namespace, name string) {
	if dropped {
		o.access.Tell("warning: another job of installation %s was asked for, and that request is gone; to ask again: %s",
			name, o.access.Suggest(namespace, "reconcile", name))
	}
}
