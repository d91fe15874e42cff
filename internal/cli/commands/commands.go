// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package commands lists the commands that speak to a cluster, for the binaries that offer them.
package commands

import (
	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/bugreport"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/create"
	"espalier.dev/internal/cli/deployer"
	"espalier.dev/internal/cli/diff"
	"espalier.dev/internal/cli/export"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/cli/history"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/cli/job"
	"espalier.dev/internal/cli/migrate"
	"espalier.dev/internal/cli/pipeline"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/cli/target"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/cli/ui"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/cli/watch"
	"espalier.dev/internal/cli/why"
)

// ForInstallations returns the commands that show and steer installations.
func ForInstallations(env cli.Environment) []*cobra.Command {
	return []*cobra.Command{
		get.New(env), tree.New(env), watch.New(env), why.New(env), inventory.New(env), inventory.NewTrace(env),
		job.NewTimeline(env), job.NewLogs(env), diff.New(env), request.NewReconcile(env), wait.New(env), request.NewInterrupt(env),
		request.NewSuspend(env), request.NewResume(env), request.NewDelete(env),
		history.New(env), history.NewRollback(env), create.New(env), export.New(env),
	}
}

// ForPipelines returns the commands that show pipelines and decide on promotions.
func ForPipelines(env cli.Environment) []*cobra.Command {
	return append([]*cobra.Command{pipeline.New(env)}, promotion.Commands(env)...)
}

// All returns the commands that speak to a cluster.
func All(env cli.Environment) []*cobra.Command {
	return append(append(ForInstallations(env), ForPipelines(env)...),
		ui.New(env), target.New(env), deployer.New(env), check.New(env), migrate.New(env), bugreport.New(env))
}
