// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package wait is the command "espalier wait".
package wait

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/objecttree"
)

const (
	forSucceeded = "succeeded"
	forFinished  = "finished"
	forDeleted   = "deleted"
)

// goals are the values of the flag --for.
var goals = map[string]func() follow.Goal{
	forSucceeded: func() follow.Goal { return &follow.Finished{Successfully: true} },
	forFinished:  func() follow.Goal { return &follow.Finished{} },
	forDeleted:   func() follow.Goal { return &follow.Gone{} },
}

type options struct {
	access *connect.Access
	flags  *follow.Flags
	goal   string
	names  []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:   "wait (NAME... | -l SELECTOR)",
		Short: "Wait until installations have finished their jobs, or are gone",
		Long: `Wait for root installations:

  --for=succeeded  until the running or requested job has finished; exit code 2 if it
                   failed. If there is none, the last job counts.
  --for=finished   the same, but exit code 0 even if it failed.
  --for=deleted    until nothing of the tree is left; exit code 2 if the deletion
                   failed.

In the continuous flow, which has no jobs, the first two wait until the installation is
at rest and its status reflects the current spec.

The command starts nothing. In a terminal it shows the tree meanwhile, elsewhere a line
for each change, both on standard error. Ctrl-C ends the wait and nothing else.

` + connect.FlagsHelp,
		Example: `  espalier wait shop
  espalier wait shop blog --for=finished --timeout 1h
  espalier wait -l team=shop
  espalier wait shop --for=deleted`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.goal, "for", forSucceeded, "what to wait for: succeeded, finished or deleted")
	if err := cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(slices.Sorted(maps.Keys(goals)), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag is defined above.
	}
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddSelector(connect.RootInstallations)
	cmd.Args = opts.access.NamesOrSelector(1)
	opts.flags = follow.AddWaitFlags(cmd, env, opts.access)
	cmd.ValidArgsFunction = opts.access.CompleteInstallations(connect.RootInstallations)
	return cmd
}

func run(ctx context.Context, opts options) error {
	newGoal, known := goals[opts.goal]
	if !known {
		return fmt.Errorf("--for is %q: it takes %s, %s or %s", opts.goal, forSucceeded, forFinished, forDeleted)
	}
	if err := opts.flags.Check(); err != nil {
		return err
	}
	requester, err := request.NewRequester(opts.access)
	if err != nil {
		return err
	}
	names, err := opts.choose(ctx, requester)
	if err != nil {
		return err
	}
	var started []follow.Started
	for _, name := range names {
		started = append(started, follow.Started{Awaited: follow.Awaited{Name: name, Goal: newGoal()}})
	}
	return opts.flags.Done(ctx, requester.Namespace, started)
}

// choose returns the names of the root installations to wait for. One that is named may be gone already if its deletion is awaited.
func (o options) choose(ctx context.Context, requester *request.Requester) ([]string, error) {
	if len(o.names) == 0 {
		roots, err := requester.Roots(ctx, nil, "wait")
		var chosen []string
		for _, root := range roots {
			chosen = append(chosen, root.Name)
		}
		return chosen, err
	}
	names, err := objecttree.InstallationNames(o.names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, err := requester.Roots(ctx, []string{name}, "wait", "--for="+o.goal)
		if err != nil && !(o.goal == forDeleted && isAbsent(err)) {
			return nil, err
		}
	}
	return names, nil
}

// isAbsent tells an installation that does not exist from one that may not be seen.
func isAbsent(err error) bool {
	var problem *cli.Problem
	return errors.As(err, &problem) && apierrors.IsNotFound(problem.Cause)
}
