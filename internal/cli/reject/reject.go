// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package reject is the command "espalier reject".
package reject

import (
	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/pipeline"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	return promotion.Command{Action: pipelines.RequestReject, Try: pipeline.Reject}.Complete(env, &cobra.Command{
		Short: "Reject a promotion that has not begun",
		Long: `Reject the promotion to an environment of a pipeline. That revision does not get there,
unless somebody asks for a retry; the next one is a new question.`,
		Example: `  espalier reject shop production -m "breaks the checkout"`,
	})
}
