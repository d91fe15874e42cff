// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package deployer is the command "espalier deployer".
package deployer

import (
	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
)

// New returns the command with those below it.
func New(env cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "deployer",
		Short:   "Check deployers, including third-party ones",
		Long:    "Check deployers, including third-party ones.",
		Example: `  espalier deployer conformance --type example.espalier.dev/files --config files.yaml`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newConformance(env))
	return cmd
}
