// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/installation"
)

// Interrupt is what the command "espalier interrupt" does.
func Interrupt() Command {
	return Command{
		Until: "the job has ended",
		Verb:  func() []string { return []string{"interrupt"} },
		Ask:   interrupt,
	}
}

// NewInterrupt returns the command "espalier interrupt".
func NewInterrupt(env cli.Environment) *cobra.Command {
	return Interrupt().Complete(env, &cobra.Command{
		Use:   "interrupt (NAME... | -l SELECTOR)",
		Short: "End running jobs as failed",
		Long: `End the running job of installations: unfinished deploy items fail, and the tree ends
as Failed. Deployed objects stay as they are; a new job brings them up to date. In the
continuous flow, which has no jobs, the work is aborted; it continues with a new spec or
on request.

With --wait, the exit code is 0 once the job has ended, however it ended.`,
		Example: `  espalier interrupt shop
  espalier interrupt shop --wait && espalier reconcile shop --wait`,
	})
}

func interrupt(ctx context.Context, requester *Requester, root *lsv1alpha1.Installation) (follow.Started, error) {
	started := follow.Started{Awaited: follow.Awaited{Name: root.Name, Goal: &follow.Finished{}}, Said: "has no job to interrupt"}
	continuous := installation.FlowOf(root) == lsv1alpha1.FlowContinuous
	if root.Status.IsFinished() && !continuous || root.Status.Phase.IsCompleted() && continuous {
		return started, nil
	}
	dropped, err := requester.Interrupt(ctx, root)
	if err != nil {
		return started, err
	}
	if dropped {
		requester.Access.Tell("warning: the request for another job of installation %s was dropped; to request it again: %s",
			root.Name, requester.Access.Suggest(requester.Namespace, "reconcile", root.Name))
	}
	started.Said = "is interrupted"
	return started, nil
}
