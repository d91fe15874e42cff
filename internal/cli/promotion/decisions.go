// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion

import (
	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
)

// decision is what a command by which somebody decides on a promotion has of its own.
type decision struct {
	action               pipelines.RequestAction
	short, long, example string
}

var decisions = []decision{
	{
		action: pipelines.RequestApprove,
		short:  "Approve a promotion that waits for it",
		long: `Approve the promotion to an environment of a pipeline, if that waits for approval. Soak
times and windows still hold it; "espalier promote" does not wait for them.`,
		example: `  espalier approve shop production
  espalier approve shop production --revision 1.2.3 -m "checked with Jo" --wait`,
	},
	{
		action: pipelines.RequestReject,
		short:  "Reject a promotion that has not begun",
		long: `Reject the promotion to an environment of a pipeline. That revision does not get there,
unless somebody asks for a retry; the next one is a new question.`,
		example: `  espalier reject shop production -m "breaks the checkout"`,
	},
	{
		action: pipelines.RequestPromote,
		short:  "Promote now, without waiting for soak times and windows",
		long: `Promote to an environment of a pipeline now. It counts as approval, and neither the soak
time of the environment before nor windows hold it. What is suspended or held by
somebody stays held.`,
		example: `  espalier promote shop production -m "urgent fix" --wait`,
	},
	{
		action: pipelines.RequestRetry,
		short:  "Try a promotion again that came to no good end",
		long: `Begin a promotion again that has failed, was rejected, whose pull request was closed
without merging, that was rolled back or does not arrive. Unless it has merely failed,
it is a new promotion of the same revision: it gets a pull request of its own and needs an
approval of its own.`,
		example: `  espalier retry shop production --wait`,
	},
}

// Commands returns the commands by which somebody decides on promotions: one for each decision, and "espalier hold".
func Commands(env cli.Environment) []*cobra.Command {
	var commands []*cobra.Command
	for _, d := range decisions {
		commands = append(commands, d.command(env))
	}
	return append(commands, newHold(env))
}
