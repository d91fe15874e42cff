// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package commands lists the commands that speak to a cluster, for the binaries that offer them.
package commands

import (
	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/delete"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/cli/interrupt"
	"espalier.dev/internal/cli/reconcile"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/cli/why"
)

// ForInstallations returns the commands that show and steer installations.
func ForInstallations(env cli.Environment) []*cobra.Command {
	return []*cobra.Command{
		get.New(env), tree.New(env), why.New(env),
		reconcile.New(env), wait.New(env), interrupt.New(env), delete.New(env),
	}
}
