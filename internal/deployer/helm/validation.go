// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"slices"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/util/validation"

	"espalier.dev/api/deployer"
	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/export"
	"espalier.dev/internal/deployer/objects/jsonpath"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployer/objects/prune"
	"espalier.dev/internal/deployer/objects/readiness"
)

var strategies = []helmv1alpha1.UpdateStrategy{helmv1alpha1.UpdateStrategyUpdate, helmv1alpha1.UpdateStrategyPatch}

func validate(config *configuration, problems *providerconfig.Problems) {
	validateRelease(config, problems)
	validateChart(config.Chart, problems)
	if config.UpdateStrategy != "" && !slices.Contains(strategies, config.UpdateStrategy) {
		problems.Add("updateStrategy", "is %q, %s", config.UpdateStrategy, providerconfig.OneOf(strategies))
	}
	validateTimeout("helmDeploymentConfig.install.timeout", config.install.Timeout, problems)
	validateTimeout("helmDeploymentConfig.upgrade.timeout", config.upgrade.Timeout, problems)
	validateTimeout("helmDeploymentConfig.uninstall.timeout", config.uninstall.Timeout, problems)
	validateTests(config, problems)
	readiness.Validate(config.ReadinessChecks.Custom, problems)
	validateExports(config, problems)
	providerconfig.ValidateContinuous(config.ContinuousReconcile, problems)
	prune.Validate("deletionGroups", config.DeletionGroups, problems)
	prune.Validate("deletionGroupsDuringUpdate", config.DeletionGroupsDuringUpdate, problems)
}

func validateRelease(config *configuration, problems *providerconfig.Problems) {
	if config.Name == "" {
		problems.Add("name", "is missing")
	} else if chartutil.ValidateReleaseName(config.Name) != nil {
		problems.Add("name", "is not the name of a release: use lower-case letters, digits, '-' and '.', at most 53 of them")
	}
	switch {
	case config.Namespace == "":
		problems.Add("namespace", "is missing")
	case len(validation.IsDNS1123Label(config.Namespace)) > 0:
		problems.Add("namespace", "is not the name of a namespace: use lower-case letters, digits and '-', at most 63 of them")
	}
}

// validateChart checks the effective source: the first in the order archive, ref, helmChartRepo and resourceRef.
func validateChart(chart helmv1alpha1.Chart, problems *providerconfig.Problems) {
	switch {
	case chart.Archive != nil:
		validateArchive(*chart.Archive, problems)
	case chart.Ref != "":
	case chart.HelmChartRepo != nil:
		validateRepository(*chart.HelmChartRepo, problems)
	case chart.FromResource != nil:
		problems.Add("chart.fromResource", "is no longer supported: use resourceRef with the template function getResourceKey")
	case chart.ResourceRef == "":
		problems.Add("chart", "has no source: set archive, ref, helmChartRepo or resourceRef")
	}
}

func validateArchive(archive helmv1alpha1.Archive, problems *providerconfig.Problems) {
	if archive.Raw == "" && (archive.Remote == nil || archive.Remote.URL == "") {
		problems.Add("chart.archive", "needs raw or remote.url")
	}
}

func validateRepository(repo helmv1alpha1.HelmChartRepo, problems *providerconfig.Problems) {
	if repo.HelmChartRepoURL == "" || repo.HelmChartName == "" || repo.HelmChartVersion == "" {
		problems.Add("chart.helmChartRepo", "needs helmChartRepoUrl, helmChartName and helmChartVersion")
	}
}

func validateTimeout(path string, timeout *lsv1alpha1.Duration, problems *providerconfig.Problems) {
	if timeout == nil {
		return
	}
	if _, _, err := timeout.Limit(0); err != nil {
		problems.Add(path, "%v", err)
	}
}

// validateTests rejects settings that have no effect.
func validateTests(config *configuration, problems *providerconfig.Problems) {
	const why = "needs a release: without helmDeployment, chart tests do not run"
	if config.install.Test && !config.asRelease() {
		problems.Add("helmDeploymentConfig.install.test", why)
	}
	if config.upgrade.Test && !config.asRelease() {
		problems.Add("helmDeploymentConfig.upgrade.test", why)
	}
}

func validateExports(config *configuration, problems *providerconfig.Problems) {
	export.ValidateAt("exportsFromManifests", config.ExportsFromManifests, problems)
	if config.Exports == nil {
		return
	}
	if count := len(config.Exports.Exports); count > providerconfig.MaxEntries {
		problems.Add("exports.exports", "has %d entries, at most %d are allowed", count, providerconfig.MaxEntries)
		return
	}
	keys := map[string]bool{}
	for _, each := range config.ExportsFromManifests {
		keys[each.Key] = true
	}
	for i, each := range config.Exports.Exports {
		path := fmt.Sprintf("exports.exports[%d]", i)
		if each.Key != "" && keys[each.Key] {
			problems.Add(path+".key", "%q is used twice", each.Key)
		}
		keys[each.Key] = true
		if each.FromResource != nil {
			export.ValidateOne(path, each, problems)
		} else {
			validateValueExport(path, each, problems)
		}
	}
}

// validateValueExport checks an export of data that the templates see.
func validateValueExport(path string, each deployer.Export, problems *providerconfig.Problems) {
	if each.Key == "" {
		problems.Add(path+".key", "is missing")
	}
	if _, err := jsonpath.Parse(each.JSONPath); err != nil {
		problems.Add(path+".jsonPath", "%v", err)
	}
	if each.FromObjectReference != nil || each.TargetName != nil {
		problems.Add(path, "needs fromResource: fromObjectRef and targetName apply to objects")
	}
}
