// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"helm.sh/helm/v4/pkg/chart/common"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/deployer/helm/render"
)

// Preview checks the configuration of a deploy item, and returns the objects that it would apply: if it has no release, and
// its chart is inline in the configuration. Nothing is fetched. Templates see the capabilities that Helm assumes without a
// cluster, and lookup finds nothing.
func Preview(ctx context.Context, item lsv1alpha1.DeployItemTemplate) ([]*unstructured.Unstructured, error) {
	quietly()
	config, err := parse(item.Configuration)
	if err != nil {
		return nil, err
	}
	if config.Chart.Archive == nil || config.Chart.Archive.Raw == "" {
		return nil, nil
	}
	p := &pass{config: config}
	if p.chart, err = charts.New(charts.Options{}).Fetch(ctx, charts.Request{Chart: config.Chart}); err != nil {
		return nil, err
	}
	result, err := render.Render(ctx, render.Input{
		Package: p.chart, Values: config.values, SkipSchema: config.install.SkipSchemaValidation,
		Release: common.ReleaseOptions{Name: config.Name, Namespace: config.Namespace, IsInstall: true},
	})
	if err != nil {
		return nil, p.unrendered(ctx, err)
	}
	objects, err := Objects(result, config.ProviderConfiguration)
	if err != nil {
		return nil, p.unrendered(ctx, err)
	}
	if config.asRelease() {
		return nil, nil
	}
	var manifests []*unstructured.Unstructured
	for _, o := range objects {
		manifests = append(manifests, o.Manifest)
	}
	return manifests, nil
}
