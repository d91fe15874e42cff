// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command espalier is Espalier's command line, also as a plugin of kubectl, and its
// whole server side for one machine.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	// The image contains only the program; if the system has CA certificates, those are used.
	_ "golang.org/x/crypto/x509roots/fallback"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/cmd/espalier/internal/kubectl"
	"espalier.dev/cmd/espalier/internal/kubeversion"
	"espalier.dev/cmd/espalier/internal/up"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/blueprint"
	"espalier.dev/internal/cli/commands"
	"espalier.dev/internal/cli/component"
	"espalier.dev/internal/cli/explain"
	"espalier.dev/internal/cli/man"
	"espalier.dev/internal/cli/render"
	"espalier.dev/internal/cli/version"
	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/deployer/manifest"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/offline"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	env := cli.NewEnvironment(streams)
	if !cli.IsPlugin(os.Args[0]) { // A plugin uses the cluster that kubectl uses.
		env.OwnKubeconfig = kubectl.OwnKubeconfig
	}
	root := newRoot(env)
	cli.NameAfter(root, os.Args[0])
	root.SetArgs(cli.Arguments(os.Args))
	os.Exit(cli.Run(context.Background(), root))
}

// newRoot returns the root command with all its subcommands.
func newRoot(env cli.Environment) *cobra.Command {
	inspectors := map[lsv1alpha1.DeployItemType]offline.Inspector{lsv1alpha1.DeployItemTypeHelm: helm.Preview}
	env.Inspectors = inspectors
	env.Forecasters = map[lsv1alpha1.DeployItemType]forecast.Forecaster{
		lsv1alpha1.DeployItemTypeManifest: manifest.Forecast, lsv1alpha1.DeployItemTypeHelm: helm.Forecast,
	}
	root := cli.NewRoot(env.IOStreams, up.New(env.IOStreams))
	root.AddCommand(commands.All(env)...)
	root.AddCommand(render.New(env, inspectors), blueprint.New(env), component.New(env), kubectl.New(env.IOStreams))
	root.AddCommand(explain.New(env), man.New(env), version.New(env, kubeversion.Version))
	return root
}
