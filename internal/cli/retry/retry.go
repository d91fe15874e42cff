// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package retry is the command "espalier retry".
package retry

import (
	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/pipeline"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	return promotion.Command{Action: pipelines.RequestRetry, Try: pipeline.Retry}.Complete(env, &cobra.Command{
		Short: "Try a promotion again that came to no good end",
		Long: `Begin a promotion again that has failed, was rejected, whose pull request was closed
without merging, that was rolled back or does not arrive. Unless it has merely failed,
it is a new promotion of the same revision: it gets a pull request of its own and needs an
approval of its own.`,
		Example: `  espalier retry shop production --wait`,
	})
}
