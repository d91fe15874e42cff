// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package commands lists the commands that speak to a cluster, for the binaries that offer them.
package commands

import (
	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/approve"
	"espalier.dev/internal/cli/delete"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/cli/hold"
	"espalier.dev/internal/cli/interrupt"
	"espalier.dev/internal/cli/pipeline"
	"espalier.dev/internal/cli/promote"
	"espalier.dev/internal/cli/reconcile"
	"espalier.dev/internal/cli/reject"
	"espalier.dev/internal/cli/retry"
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

// ForPipelines returns the commands that show pipelines and decide on promotions.
func ForPipelines(env cli.Environment) []*cobra.Command {
	return []*cobra.Command{
		pipeline.New(env), approve.New(env), reject.New(env), promote.New(env), retry.New(env), hold.New(env),
	}
}

// All returns the commands that speak to a cluster.
func All(env cli.Environment) []*cobra.Command {
	return append(ForInstallations(env), ForPipelines(env)...)
}
