// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package blueprint is the command "espalier blueprint".
package blueprint

import (
	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
)

// New returns the command with those below it.
func New(env cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "blueprint",
		Short: "Validate blueprints, and push and pull them",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newValidate(env), newPush(env), newPull(env))
	return cmd
}
