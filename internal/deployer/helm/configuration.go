// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	sigsjson "sigs.k8s.io/json"

	"espalier.dev/api/deployer"
	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployer/objects/prune"
)

// configuration is an item's configuration, with its free-form parts decoded.
type configuration struct {
	helmv1alpha1.ProviderConfiguration
	values map[string]any
	// exports are read from objects, valueExports from the data that templates see.
	exports      []deployer.Export
	valueExports []deployer.Export

	install   helmv1alpha1.InstallOptions
	upgrade   helmv1alpha1.InstallOptions
	uninstall helmv1alpha1.UninstallOptions
}

// asRelease reports whether Helm installs the chart.
func (c *configuration) asRelease() bool { return isRelease(c.HelmDeployment) }

func isRelease(helmDeployment *bool) bool { return helmDeployment == nil || *helmDeployment }

// reference returns the name of the release.
func (c *configuration) reference() helmv1alpha1.ReleaseReference {
	return helmv1alpha1.ReleaseReference{Name: c.Name, Namespace: c.Namespace}
}

// readConfiguration reads and checks the configuration of an item.
func readConfiguration(item *lsv1alpha1.DeployItem) (*configuration, error) {
	return parse(item.Spec.Configuration)
}

func parse(raw *runtime.RawExtension) (*configuration, error) {
	config := &configuration{}
	problems := providerconfig.ReadVersion(raw, helmv1alpha1.SchemeGroupVersion.String(), &config.ProviderConfiguration)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	config.complete(&problems)
	validate(config, &problems)
	return config, problems.Err()
}

// complete decodes the free-form parts.
func (c *configuration) complete(problems *providerconfig.Problems) {
	c.values = map[string]any{}
	if c.Values != nil && !c.Values.IsNull() {
		if err := c.Values.Decode(&c.values); err != nil {
			problems.Add("values", "must be an object")
		}
	}
	if options := c.HelmDeploymentConfig; options != nil {
		decodeOptions("helmDeploymentConfig.install", options.Install, &c.install, problems)
		decodeOptions("helmDeploymentConfig.upgrade", options.Upgrade, &c.upgrade, problems)
		decodeOptions("helmDeploymentConfig.uninstall", options.Uninstall, &c.uninstall, problems)
	}
	c.exports = append(c.exports, c.ExportsFromManifests...)
	if c.Exports == nil {
		return
	}
	for _, export := range c.Exports.Exports {
		if export.FromResource == nil {
			c.valueExports = append(c.valueExports, export)
		} else {
			c.exports = append(c.exports, export)
		}
	}
}

func decodeOptions(path string, options map[string]lsv1alpha1.AnyJSON, into any, problems *providerconfig.Problems) {
	text, err := json.Marshal(options)
	if err != nil || len(options) == 0 {
		return
	}
	unknown, err := sigsjson.UnmarshalStrict(text, into)
	if err != nil {
		problems.Add(path, "%v", err)
	}
	for _, each := range unknown {
		problems.Add(path, "%v", each)
	}
}

// continuousReconcile returns when to repair what an item has deployed; nil if never.
func continuousReconcile(item *lsv1alpha1.DeployItem) *deployer.ContinuousReconcile {
	var part struct {
		ContinuousReconcile *deployer.ContinuousReconcile `json:"continuousReconcile"`
	}
	if problems := providerconfig.ReadPart(item, &part); len(problems) > 0 {
		return nil
	}
	return part.ContinuousReconcile
}

// farewell is the part of a configuration that a deletion needs.
type farewell struct {
	reference helmv1alpha1.ReleaseReference
	asRelease bool
	uninstall helmv1alpha1.UninstallOptions
	groups    []deployer.DeletionGroup
}

// readFarewell reads the part of the configuration that a deletion needs.
func readFarewell(item *lsv1alpha1.DeployItem) (farewell, error) {
	var part struct {
		Name                 string                             `json:"name"`
		Namespace            string                             `json:"namespace"`
		HelmDeployment       *bool                              `json:"helmDeployment"`
		HelmDeploymentConfig *helmv1alpha1.HelmDeploymentConfig `json:"helmDeploymentConfig"`
		DeletionGroups       []deployer.DeletionGroup           `json:"deletionGroups"`
	}
	problems := providerconfig.ReadPart(item, &part)
	result := farewell{
		reference: helmv1alpha1.ReleaseReference{Name: part.Name, Namespace: part.Namespace},
		asRelease: isRelease(part.HelmDeployment),
		groups:    part.DeletionGroups,
	}
	if part.HelmDeploymentConfig != nil {
		decodeOptions("helmDeploymentConfig.uninstall", part.HelmDeploymentConfig.Uninstall, &result.uninstall, &problems)
	}
	prune.Validate("deletionGroups", part.DeletionGroups, &problems)
	return result, problems.Err()
}
