// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/api/deployer"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// ManagedDeployItemLabel is put on the objects that the deployer applies without a release: the name of the deploy item. They
// have the label of the manifest deployer as well.
const ManagedDeployItemLabel = GroupName + "/deployitem"

// ProviderConfiguration says which chart to install.
//
// +kubebuilder:object:root=true
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// updateStrategy says how to change objects that exist, if helmDeployment is false. If it is empty, it is update.
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`

	// readinessChecks say when the objects are ready.
	ReadinessChecks deployer.ReadinessChecks `json:"readinessChecks,omitzero"`

	// chart says where the chart is.
	Chart Chart `json:"chart"`

	// name of the release.
	Name string `json:"name"`

	// namespace of the release.
	Namespace string `json:"namespace"`

	// createNamespace creates the namespace if it does not exist.
	CreateNamespace bool `json:"createNamespace,omitempty"`

	// values for the chart.
	Values *landscaper.AnyJSON `json:"values,omitempty"`

	// exportsFromManifests is the older form of exports.
	ExportsFromManifests []deployer.Export `json:"exportsFromManifests,omitempty"`

	// exports say what to export from objects in the target cluster.
	Exports *deployer.Exports `json:"exports,omitempty"`

	// continuousReconcile installs the chart again at certain times.
	ContinuousReconcile *deployer.ContinuousReconcile `json:"continuousReconcile,omitempty"`

	// helmDeployment says whether Helm installs the chart. If it is false, the chart is only rendered, and the deployer
	// applies the result. If it is not set, Helm installs it.
	HelmDeployment *bool `json:"helmDeployment,omitempty"`

	// helmDeploymentConfig are options for Helm.
	HelmDeploymentConfig *HelmDeploymentConfig `json:"helmDeploymentConfig,omitempty"`

	// deletionGroups are the order in which objects are deleted with the deploy item, if helmDeployment is false.
	DeletionGroups []deployer.DeletionGroup `json:"deletionGroups,omitempty"`

	// deletionGroupsDuringUpdate are the order in which objects are deleted that an update no longer contains, if
	// helmDeployment is false.
	DeletionGroupsDuringUpdate []deployer.DeletionGroup `json:"deletionGroupsDuringUpdate,omitempty"`
}

// UpdateStrategy says how to change objects that exist.
type UpdateStrategy string

// Update strategies.
const (
	// UpdateStrategyUpdate replaces the object. It is the default.
	UpdateStrategyUpdate UpdateStrategy = "update"
	// UpdateStrategyPatch sends the difference between the existing object and the rendered one.
	UpdateStrategyPatch UpdateStrategy = "patch"
)

// Chart says where a chart is. If several fields are set, the first in the order archive, ref, helmChartRepo and
// resourceRef counts.
type Chart struct {
	// ref is an OCI reference.
	Ref string `json:"ref,omitempty"`

	// fromResource is no longer supported.
	FromResource *RemoteChartReference `json:"fromResource,omitempty"`

	// archive is the packed chart itself, or a URL of it.
	Archive *Archive `json:"archive,omitempty"`

	// helmChartRepo is a chart in a Helm repository.
	HelmChartRepo *HelmChartRepo `json:"helmChartRepo,omitempty"`

	// resourceRef is the key of a resource in the component, as the template function getResourceKey returns it.
	ResourceRef string `json:"resourceRef,omitempty"`
}

// RemoteChartReference names a chart among the resources of a component.
type RemoteChartReference struct {
	landscaper.ComponentDescriptorDefinition `json:",inline"`

	// resourceName is the name of the resource.
	ResourceName string `json:"resourceName"`
}

// Archive is a packed chart.
type Archive struct {
	// raw is the packed chart in base64.
	Raw string `json:"raw,omitempty"`

	// remote says where it can be downloaded.
	Remote *RemoteArchive `json:"remote,omitempty"`
}

// RemoteArchive says where a packed chart can be downloaded.
type RemoteArchive struct {
	// url of the packed chart.
	URL string `json:"url,omitempty"`
}

// HelmChartRepo is a chart in a Helm repository.
type HelmChartRepo struct {
	// helmChartRepoUrl is the URL of the repository.
	HelmChartRepoURL string `json:"helmChartRepoUrl,omitempty"`

	// helmChartName is the name of the chart.
	HelmChartName string `json:"helmChartName,omitempty"`

	// helmChartVersion is the version of the chart.
	HelmChartVersion string `json:"helmChartVersion,omitempty"`
}

// HelmDeploymentConfig are options for Helm. They are kept as written, because an unknown option is an error that the
// deployer reports. InstallOptions and UninstallOptions list the known ones.
type HelmDeploymentConfig struct {
	// install are InstallOptions for the first installation.
	Install map[string]landscaper.AnyJSON `json:"install,omitempty"`

	// upgrade are InstallOptions for upgrades.
	Upgrade map[string]landscaper.AnyJSON `json:"upgrade,omitempty"`

	// uninstall are UninstallOptions.
	Uninstall map[string]landscaper.AnyJSON `json:"uninstall,omitempty"`
}

// InstallOptions are options for helm install and helm upgrade.
type InstallOptions struct {
	// atomic undoes an installation or upgrade that fails.
	Atomic bool `json:"atomic,omitempty"`

	// force writes objects as a whole, so that what others have added to them goes.
	Force bool `json:"force,omitempty"`

	// skipSchemaValidation does not check the values against the chart's schema.
	SkipSchemaValidation bool `json:"skipSchemaValidation,omitempty"`

	// takeOwnership takes over objects that do not belong to the release.
	TakeOwnership bool `json:"takeOwnership,omitempty"`

	// wait lets Helm wait until the objects are ready.
	Wait bool `json:"wait,omitempty"`

	// test runs the tests of the chart when the objects are ready. A test that fails ends the job.
	Test bool `json:"test,omitempty"`

	// timeout has no effect: the deploy item's timeout counts.
	Timeout *landscaper.Duration `json:"timeout,omitempty"`
}

// UninstallOptions are options for helm uninstall.
type UninstallOptions struct {
	// wait lets Helm wait until the objects are gone.
	Wait bool `json:"wait,omitempty"`

	// timeout has no effect: the deploy item's timeout counts.
	Timeout *landscaper.Duration `json:"timeout,omitempty"`
}

// ProviderStatus says which objects were installed.
//
// +kubebuilder:object:root=true
type ProviderStatus struct {
	metav1.TypeMeta `json:",inline"`

	// managedResources are the objects. Those that Helm manages have no policy: they are listed for information, and only
	// if they are workloads.
	ManagedResources []deployer.ManagedResource `json:"managedResources,omitempty"`

	// helmDeployment says whether Helm installs the chart, as the configuration said when this was written.
	HelmDeployment *bool `json:"helmDeployment,omitempty"`

	// release is the release that Helm manages. It is not set if helmDeployment is false.
	Release *ReleaseStatus `json:"release,omitempty"`

	// formerReleases are releases of the deploy item that are still to be removed, because it has got another name, another
	// namespace or helmDeployment false.
	FormerReleases []ReleaseReference `json:"formerReleases,omitempty"`
}

// ReleaseReference names a release.
type ReleaseReference struct {
	// name of the release.
	Name string `json:"name"`

	// namespace of the release.
	Namespace string `json:"namespace"`
}

// ReleaseStatus is what is known of a release.
type ReleaseStatus struct {
	ReleaseReference `json:",inline"`

	// revision is the number of the revision that is deployed; 0 if none is yet.
	Revision int `json:"revision,omitempty"`

	// chart is the name of the chart.
	Chart string `json:"chart,omitempty"`

	// chartVersion is the version of the chart.
	ChartVersion string `json:"chartVersion,omitempty"`

	// appVersion is the version of what the chart installs.
	AppVersion string `json:"appVersion,omitempty"`

	// takenOverBy is the deploy item, as namespace/name, that has created a later revision than the one that this deploy item deployed, and
	// owns the release since then. It is "another deploy item" if its name is unknown.
	TakenOverBy string `json:"takenOverBy,omitempty"`
}
