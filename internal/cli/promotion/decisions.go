// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion

import (
	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
)

// decision is what is specific to a command that decides on a promotion.
type decision struct {
	action               pipelines.RequestAction
	short, long, example string
}

var decisions = []decision{
	{
		action: pipelines.RequestApprove,
		short:  "Approve a promotion that waits for approval",
		long: `Approve the promotion to an environment of a pipeline that waits for approval. Soak times
and windows still hold it; "espalier promote" ignores them.`,
		example: `  espalier approve shop production
  espalier approve shop production --revision 1.2.3 -m "checked with Jo" --wait`,
	},
	{
		action: pipelines.RequestReject,
		short:  "Reject a promotion that has not started",
		long: `Reject the promotion to an environment of a pipeline. That revision is not promoted unless
a user requests a retry; the next revision needs a new decision.`,
		example: `  espalier reject shop production -m "breaks the checkout"`,
	},
	{
		action: pipelines.RequestPromote,
		short:  "Promote now, without waiting for soak times and windows",
		long: `Promote to an environment of a pipeline now. This counts as an approval, and ignores the
soak time of the previous environment and windows, but not suspension and holds.`,
		example: `  espalier promote shop production -m "urgent fix" --wait`,
	},
	{
		action: pipelines.RequestRetry,
		short:  "Retry a failed or rejected promotion",
		long: `Retry a promotion that failed, was rejected or rolled back, whose pull request was closed
without merging, or that does not arrive. Unless it only failed, this is a new promotion
of the same revision, with its own pull request, and needs its own approval.`,
		example: `  espalier retry shop production --wait`,
	},
}

// Commands returns the commands that decide on promotions: one for each decision, and "espalier hold".
func Commands(env cli.Environment) []*cobra.Command {
	var commands []*cobra.Command
	for _, d := range decisions {
		commands = append(commands, d.command(env))
	}
	return append(commands, newHold(env))
}
