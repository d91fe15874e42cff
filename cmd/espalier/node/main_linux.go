// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command node contains all parts of Kubernetes that "espalier up --node" runs beside the API server: the kubelet, the scheduler, the
// controller manager and the proxy, each as a separate process, a name server, and the process that starts them. Its first
// argument names the part to run.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"espalier.dev/cmd/espalier/internal/dns"
	_ "espalier.dev/cmd/espalier/internal/kubeversion" // sets the version of each of them
	"espalier.dev/cmd/espalier/internal/nodeinit"
)

var parts = map[string]func() *cobra.Command{
	"init":                    initCommand,
	"dns":                     dns.Command,
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
}

func main() {
	var name string
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	part, found := parts[name]
	if !found {
		fmt.Fprintf(os.Stderr, "espalier-node: the first argument must be one of %s\n",
			strings.Join(slices.Sorted(maps.Keys(parts)), ", "))
		os.Exit(1)
	}
	os.Args = append([]string{name}, os.Args[2:]...) // as if each of them were a separate program
	os.Exit(cli.Run(part()))
}

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init STATE-DIRECTORY HOSTNAME",
		Short: "Be the first process of a node",
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return nodeinit.Run(args[0], args[1], os.Stdin, os.Stdout)
		},
	}
}
