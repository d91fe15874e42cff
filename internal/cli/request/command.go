// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/follow"
)

// Command is what is specific to a command that sends a request to root installations.
type Command struct {
	// Until says what --wait waits for: "the job has finished".
	Until string
	// Verb is the name of the command, with the flags that suggestions repeat.
	Verb func() []string
	// Check rejects an installation before any request is sent; it may be nil.
	Check func(*Requester, *lsv1alpha1.Installation) error
	// Before is called with all installations, before the first is asked; it may be nil.
	Before func(context.Context, *Requester, []*lsv1alpha1.Installation) error
	// After may say more about the error with which the command ends; it may be nil.
	After func(context.Context, *Requester, error) error
	// Ask asks one installation.
	Ask func(context.Context, *Requester, *lsv1alpha1.Installation) (follow.Started, error)
}

// Complete gives a command the flags for the cluster and for waiting, and has it ask the installations that its
// arguments name or its selector matches. Help texts get the part that is the same for all.
func (c Command) Complete(env cli.Environment, cmd *cobra.Command) *cobra.Command {
	cmd.Long += "\n\n" + connect.FlagsHelp
	access := connect.AddFlags(cmd, env)
	access.AddSelector(connect.RootInstallations)
	cmd.Args = access.NamesOrSelector(1)
	flags := follow.AddStartFlags(cmd, env, access, c.Until)
	cmd.ValidArgsFunction = access.CompleteInstallations(connect.RootInstallations)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := flags.Check(); err != nil {
			return err
		}
		requester, err := NewRequester(access)
		if err != nil {
			return err
		}
		requester.Waits = flags.Waits()
		roots, err := c.prepare(cmd.Context(), requester, names)
		if err != nil {
			return err
		}
		var started []follow.Started
		err = env.Interruptible(cmd.Context(), func(ctx context.Context) (err error) {
			started, err = c.askAll(ctx, requester, roots)
			return err
		})
		if err != nil {
			return cmp.Or(flags.Abandon(requester.Namespace, started), err)
		}
		err = flags.Done(cmd.Context(), requester.Namespace, started)
		if err != nil && c.After != nil {
			return c.After(cmd.Context(), requester, err)
		}
		return err
	}
	return cmd
}

// One does with one installation what the command does, and returns what that says about it.
func (c Command) One(ctx context.Context, requester *Requester, name string) (string, error) {
	roots, err := c.prepare(ctx, requester, []string{name})
	if err != nil {
		return "", err
	}
	started, err := c.askAll(ctx, requester, roots)
	if err != nil {
		return "", err
	}
	return "installation " + name + " " + started[0].Said, nil
}

// prepare reads all installations, and rejects them all if it rejects one.
func (c Command) prepare(ctx context.Context, requester *Requester, names []string) ([]*lsv1alpha1.Installation, error) {
	roots, err := requester.Roots(ctx, names, c.Verb()...)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		if c.Check == nil {
			break
		}
		if err := c.Check(requester, root); err != nil {
			return nil, err
		}
	}
	if c.Before != nil {
		if err := c.Before(ctx, requester, roots); err != nil {
			return nil, err
		}
	}
	return roots, nil
}

// askAll asks one installation after the other. It also returns what was started before an error.
func (c Command) askAll(ctx context.Context, requester *Requester, roots []*lsv1alpha1.Installation) ([]follow.Started, error) {
	var started []follow.Started
	for _, root := range roots {
		one, err := c.Ask(ctx, requester, root)
		if err != nil {
			return started, err
		}
		started = append(started, one)
	}
	return started, nil
}
