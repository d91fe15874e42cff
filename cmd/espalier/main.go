// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command espalier is Espalier's command line, also as a plugin of kubectl, and its
// whole server side for one machine.
package main

import (
	"context"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/cmd/espalier/internal/kubectl"
	"espalier.dev/cmd/espalier/internal/kubeversion"
	"espalier.dev/cmd/espalier/internal/up"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/blueprint"
	"espalier.dev/internal/cli/commands"
	"espalier.dev/internal/cli/render"
	"espalier.dev/internal/cli/version"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	env := cli.NewEnvironment(streams)
	if !cli.IsPlugin(os.Args[0]) { // Who calls kubectl means the cluster that kubectl means.
		env.OwnKubeconfig = kubectl.OwnKubeconfig
	}
	root := cli.NewRoot(streams, up.New(streams))
	root.AddCommand(commands.All(env)...)
	root.AddCommand(render.New(streams), blueprint.New(streams), kubectl.New(streams), version.New(streams, kubeversion.Version))
	cli.NameAfter(root, os.Args[0])
	os.Exit(cli.Run(context.Background(), root))
}
