// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package kubectl is the command "espalier kubectl": the real kubectl, so that users do not need to install one.
package kubectl

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	// Kubeconfigs may use these authentication plugins, as with any kubectl.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	"k8s.io/kubectl/pkg/cmd/util"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/cmd/espalier/internal/datadir"
)

// New returns the command. It builds kubectl only when it is called, because building it takes longer than most other commands run.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [command]",
		Short: "Run the kubectl that is built in",
		Long: `Run the kubectl that is built in.

Without --kubeconfig and KUBECONFIG it speaks to the control plane that 'espalier up'
has started last without --data-dir or --ephemeral. If there never was one, it finds
its cluster as every kubectl does.`,
		Example: `  espalier kubectl get installations --all-namespaces
  espalier kubectl explain installation.spec.flow`,
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { run(streams, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return complete(args, toComplete)
		},
	}
}

// run ends the process with kubectl's exit code if kubectl fails.
func run(streams genericiooptions.IOStreams, args []string) {
	command := build(streams, args)
	if err := cli.RunNoErrOutput(command); err != nil {
		util.CheckErr(err)
	}
}

func build(streams genericiooptions.IOStreams, args []string) *cobra.Command {
	useOwnControlPlane()
	argv := append([]string{"kubectl"}, args...)
	// As in kubectl's main: the verbosity applies before flags are parsed.
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(argv))
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     argv,
		IOStreams:     streams,
	})
	command.SetArgs(args)
	command.SetIn(streams.In)
	command.SetOut(streams.Out)
	command.SetErr(streams.ErrOut)
	return command
}

// useOwnControlPlane points KUBECONFIG at the control plane of this machine, unless the user names another cluster.
func useOwnControlPlane() {
	if os.Getenv("KUBECONFIG") != "" {
		return
	}
	if path := OwnKubeconfig(); path != "" {
		_ = os.Setenv("KUBECONFIG", path)
	}
}

// OwnKubeconfig returns the kubeconfig of the control plane that this machine runs by default, empty if there never was one. A stopped
// control plane counts, too: an error is better than the wrong cluster.
func OwnKubeconfig() string {
	dir, err := datadir.Default()
	if err != nil {
		return ""
	}
	if path := controlplane.KubeconfigIn(dir); exists(path) {
		return path
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// complete asks kubectl for its own completions.
func complete(args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var out bytes.Buffer
	request := append([]string{cobra.ShellCompRequestCmd}, append(args, toComplete)...)
	command := build(genericiooptions.IOStreams{In: os.Stdin, Out: &out, ErrOut: io.Discard}, request)
	if err := command.Execute(); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return parseCompletions(out.String())
}

// parseCompletions reads cobra's protocol: a suggestion on each line, and a colon with
// a number on the last.
func parseCompletions(output string) ([]string, cobra.ShellCompDirective) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := len(lines) - 1
	number, ok := strings.CutPrefix(lines[last], ":")
	directive, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}
