// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package create is the command "espalier create" with the commands below it, which write objects for users.
package create

import (
	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an installation from a component or a blueprint",
		Long:  `Create objects without writing manifests. For Targets, there is espalier target create.`,
		Example: `  espalier create installation shop --component example.com/shop:1.2.0 --repository registry.example.com/components
  espalier create installation shop --blueprint ./blueprint`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInstallation(env))
	return cmd
}
