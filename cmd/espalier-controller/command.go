// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"espalier.dev/internal/definitions"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/telemetry/otlp"
	"espalier.dev/internal/version"
)

const program = "espalier-controller"

// installLimit is for --install-crds. If it expires, the process ends and its supervisor restarts it.
const installLimit = 2 * time.Minute

type options struct {
	streams    genericiooptions.IOStreams
	kubeconfig string
	qps        float32
	burst      int
	install    bool
	manager    manager.Options
	log        manager.LogOptions
}

func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{streams: streams, qps: -1, manager: manager.DefaultOptions(), log: manager.DefaultLogOptions()}
	cmd := &cobra.Command{
		Use:   program,
		Short: "Run Espalier's controllers against a cluster",
		Long: `Run Espalier's controllers against a cluster: the one that the process runs in,
or the one of a kubeconfig.`,
		Args:          cobra.NoArgs,
		Version:       version.Get().Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), opts) },
	}
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help'", err, program)
	})
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: the cluster that the process runs in)")
	flags.BoolVar(&opts.install, "install-crds", opts.install,
		"install and upgrade the CRDs before the controllers start; CRDs of a newer version are an error")
	opts.manager.AddFlags(flags)
	flags.Float32Var(&opts.qps, "kube-api-qps", opts.qps, "requests per second to the API server; -1 for no limit")
	flags.IntVar(&opts.burst, "kube-api-burst", opts.burst, "burst of requests above --kube-api-qps")
	opts.log.AddFlags(flags)
	return cmd
}

func run(ctx context.Context, opts options) error {
	if err := opts.validate(); err != nil {
		return err
	}
	log, err := manager.NewLogger(opts.streams.ErrOut, opts.log)
	if err != nil {
		return err
	}
	manager.UseLogger(log)
	config, namespace, err := opts.clusterConfig()
	if err != nil {
		return err
	}
	if opts.manager.LeaderElection.Namespace == "" {
		opts.manager.LeaderElection.Namespace = namespace
	}
	build := version.Get()
	log.Info("Starting", "version", build.Version, "go", build.Go, "server", config.Host)
	if opts.install {
		if err := installDefinitions(ctx, config, log); err != nil {
			return err
		}
	}
	stopTraces, err := otlp.Start(ctx, program, os.Getenv, log)
	if err != nil {
		return err
	}
	defer stopTraces()
	mgr, err := manager.New(config, opts.manager, log)
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controllers: %w", err)
	}
	log.Info("Stopped")
	return nil
}

// installDefinitions runs in every replica, leader or not: it writes only differences, and no controller starts before it.
func installDefinitions(ctx context.Context, config *rest.Config, log logr.Logger) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installLimit, errors.New("the API server takes too long"))
	defer cancel()
	changes, err := definitions.Install(ctx, config, definitions.Options{Owner: program, Version: version.Get().Version})
	for _, change := range changes {
		if change.Changed {
			log.Info("Installed a definition", "definition", change.Name, "new", change.Created, "before", change.From)
		}
	}
	if err != nil {
		return fmt.Errorf("--install-crds: %w", err)
	}
	return nil
}

func (o options) validate() error {
	if err := o.manager.Validate(); err != nil {
		return err
	}
	if o.qps > 0 && o.burst < 1 {
		return fmt.Errorf("--kube-api-qps is %v: also set --kube-api-burst to at least 1", o.qps)
	}
	return nil
}

// clusterConfig also returns the namespace of the lease; empty means that of the pod's service account.
func (o options) clusterConfig() (config *rest.Config, namespace string, err error) {
	config, namespace, err = loadConfig(o.kubeconfig)
	if err != nil {
		return nil, "", err
	}
	config.QPS, config.Burst = o.qps, o.burst
	config.UserAgent = version.UserAgent(program)
	return config, namespace, nil
}

func loadConfig(kubeconfig string) (config *rest.Config, namespace string, err error) {
	if kubeconfig == "" {
		config, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, "", errors.New("this process does not run in a cluster: set --kubeconfig FILE")
		}
		return config, "", err
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, nil)
	config, err = loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("--kubeconfig: %w", err)
	}
	namespace, _, err = loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("--kubeconfig: %w", err)
	}
	return config, namespace, nil
}
