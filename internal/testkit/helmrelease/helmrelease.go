// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package helmrelease installs, upgrades and uninstalls charts with Helm's own library, as the command "helm" does.
package helmrelease

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// Release is a release of Helm, which need not exist yet.
type Release struct {
	Kubeconfig, Namespace, Name string
	// Wait is how long an installation or an upgrade waits until everything is ready, as --wait does. Zero means not to wait.
	Wait time.Duration
}

// Install is "helm install --create-namespace". The chart is an archive, the values are YAML.
func (r Release) Install(ctx context.Context, archive []byte, values string) error {
	config, loaded, parsed, err := r.prepare(archive, values)
	if err != nil {
		return err
	}
	run := action.NewInstall(config)
	run.ReleaseName, run.Namespace, run.CreateNamespace = r.Name, r.Namespace, true
	run.WaitStrategy, run.Timeout = r.strategy(), r.Wait
	_, err = run.RunWithContext(ctx, loaded, parsed)
	return err
}

// Upgrade is "helm upgrade --reset-then-reuse-values": previous values stay, unless the new ones override them.
func (r Release) Upgrade(ctx context.Context, archive []byte, values string) error {
	config, loaded, parsed, err := r.prepare(archive, values)
	if err != nil {
		return err
	}
	run := action.NewUpgrade(config)
	run.Namespace, run.ResetThenReuseValues = r.Namespace, true
	run.WaitStrategy, run.Timeout = r.strategy(), r.Wait
	_, err = run.RunWithContext(ctx, r.Name, loaded, parsed)
	return err
}

// Uninstall is "helm uninstall".
func (r Release) Uninstall() error {
	config, err := r.connect()
	if err != nil {
		return err
	}
	run := action.NewUninstall(config)
	run.WaitStrategy, run.Timeout = r.strategy(), r.Wait
	_, err = run.Run(r.Name)
	return err
}

func (r Release) strategy() kube.WaitStrategy {
	if r.Wait > 0 {
		return kube.StatusWatcherStrategy
	}
	return kube.HookOnlyStrategy
}

func (r Release) connect() (*action.Configuration, error) {
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = ptr.To(r.Kubeconfig), ptr.To(r.Namespace)
	config := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := config.Init(flags, r.Namespace, "secret"); err != nil {
		return nil, fmt.Errorf("connect Helm: %w", err)
	}
	return config, nil
}

func (r Release) prepare(archive []byte, values string) (*action.Configuration, *chart.Chart, map[string]any, error) {
	config, err := r.connect()
	if err != nil {
		return nil, nil, nil, err
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the chart: %w", err)
	}
	parsed := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &parsed); err != nil {
		return nil, nil, nil, fmt.Errorf("read the values: %w", err)
	}
	return config, loaded, parsed, nil
}
