// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package delete is the command "espalier delete".
package delete

import (
	"context"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/cluster"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/request"
)

type options struct {
	access           *cluster.Access
	flags            *follow.Flags
	withoutUninstall bool
	names            []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete installations and what they have deployed",
		Long: `Delete root installations with everything below them, and uninstall what they have
deployed. A job that is running is finished first; interrupt it if that takes too long.
An installation from which others import waits until those are deleted. A deletion that
failed before is tried again.

With --without-uninstall the objects of the tree are deleted, and everything that they
have deployed stays where it is and is looked after by nobody.

` + cluster.FlagsHelp + "\n\n" + cli.ExitCodesHelp,
		Example: `  espalier delete shop --wait
  espalier delete shop --without-uninstall`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.withoutUninstall, "without-uninstall", false, "leave what was deployed where it is")
	opts.access = cluster.AddFlags(cmd, env)
	opts.flags = follow.AddStartFlags(cmd, env, opts.access, "nothing of the tree is left")
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
	verb := []string{"delete"}
	if opts.withoutUninstall {
		verb = append(verb, "--without-uninstall")
	}
	roots, err := desk.Roots(ctx, opts.names, verb...)
	if err != nil {
		return err
	}
	var started []follow.Started
	for _, root := range roots {
		one, err := opts.start(ctx, desk, root)
		if err != nil {
			return err
		}
		started = append(started, one)
	}
	return opts.flags.Done(ctx, desk.Namespace, started)
}

// start deletes one tree. A deletion that has failed is tried again by a new job, for the object is marked already.
func (o options) start(ctx context.Context, desk *request.Desk, root *lsv1alpha1.Installation) (follow.Started, error) {
	again := !root.DeletionTimestamp.IsZero()
	started := follow.Started{Awaited: follow.Awaited{Name: root.Name, Goal: follow.NewGone(root)}, Said: "is being deleted"}
	if again {
		started.Said = "was being deleted already"
	}
	if err := desk.Delete(ctx, root, o.withoutUninstall); err != nil {
		return started, err
	}
	if again && root.Status.Phase == lsv1alpha1.PhaseDeleteFailed && root.Status.IsFinished() {
		asked, _, err := desk.Reconcile(ctx, root)
		if err != nil {
			return started, err
		}
		started.Goal, started.Said = follow.NewJobOfRequest(asked), "could not be deleted before, and is tried again"
	}
	return started, nil
}
