// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package promote is the command "espalier promote".
package promote

import (
	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/pipeline"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	return promotion.Command{Action: pipelines.RequestPromote, Try: pipeline.PromoteNow}.Complete(env, &cobra.Command{
		Short: "Promote now, without waiting for soak times and windows",
		Long: `Promote to an environment of a pipeline now. It counts as approval, and neither the soak
time of the environment before nor windows hold it. What is suspended or held by
somebody stays held.`,
		Example: `  espalier promote shop production -m "urgent fix" --wait`,
	})
}
