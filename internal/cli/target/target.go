// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package target is the command "espalier target" with the commands below it, which create Targets and check them.
package target

import (
	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "target",
		Aliases: []string{"targets"},
		Short:   "Create and check Targets: the clusters that installations deploy to",
		Long:    `Create and check Targets. A Target says where an installation deploys to.`,
		Example: `  espalier target create production --from-kubeconfig production.yaml
  espalier target check --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCreate(env), newCheck(env))
	return cmd
}
