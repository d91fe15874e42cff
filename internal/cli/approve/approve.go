// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package approve is the command "espalier approve".
package approve

import (
	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/pipeline"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	return promotion.Command{Action: pipelines.RequestApprove, Try: pipeline.Approve}.Complete(env, &cobra.Command{
		Short: "Approve a promotion that waits for it",
		Long: `Approve the promotion to an environment of a pipeline, if that waits for approval. Soak
times and windows still hold it; "espalier promote" does not wait for them.`,
		Example: `  espalier approve shop production
  espalier approve shop production --revision 1.2.3 -m "checked with Jo" --wait`,
	})
}
