// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
	mock "espalier.dev/api/deployer/mock/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// ExecutionBuilder builds an Execution.
type ExecutionBuilder struct {
	metadata[*ExecutionBuilder]
	execution *landscaper.Execution
}

// Execution starts an Execution without deploy items.
func Execution(namespace, name string) *ExecutionBuilder {
	b := &ExecutionBuilder{execution: &landscaper.Execution{ObjectMeta: objectMeta(namespace, name)}}
	b.metadata = metadata[*ExecutionBuilder]{object: b.execution, builder: b}
	return b
}

// Context sets the Context.
func (b *ExecutionBuilder) Context(name string) *ExecutionBuilder {
	b.execution.Spec.Context = name
	return b
}

// Item adds a deploy item.
func (b *ExecutionBuilder) Item(item landscaper.DeployItemTemplate) *ExecutionBuilder {
	b.execution.Spec.DeployItems = append(b.execution.Spec.DeployItems, item)
	return b
}

// MockItem adds a deploy item of the mock deployer that depends on others of this execution.
func (b *ExecutionBuilder) MockItem(name string, config mock.ProviderConfiguration, dependsOn ...string) *ExecutionBuilder {
	return b.Item(landscaper.DeployItemTemplate{
		Name: name, Type: landscaper.DeployItemTypeMock, Configuration: mockConfiguration(config), DependsOn: dependsOn,
	})
}

// ManifestItem adds a deploy item that applies objects to a target in the execution's namespace.
func (b *ExecutionBuilder) ManifestItem(name, target string, objects ...client.Object) *ExecutionBuilder {
	return b.Item(landscaper.DeployItemTemplate{
		Name: name, Type: landscaper.DeployItemTypeManifest, Configuration: manifestConfiguration(objects),
		Target: &landscaper.ObjectReference{Name: target, Namespace: b.execution.Namespace},
	})
}

// Reconcile requests a job, as users do for an execution without an installation.
func (b *ExecutionBuilder) Reconcile() *ExecutionBuilder {
	return b.Annotate(landscaper.OperationAnnotation, string(landscaper.OperationReconcile))
}

// Build returns a new copy of the execution.
func (b *ExecutionBuilder) Build() *landscaper.Execution { return b.execution.DeepCopy() }

// DeployItemBuilder builds a DeployItem.
type DeployItemBuilder struct {
	metadata[*DeployItemBuilder]
	item *landscaper.DeployItem
}

// DeployItem starts a DeployItem of the mock deployer, which succeeds at once.
func DeployItem(namespace, name string) *DeployItemBuilder {
	b := &DeployItemBuilder{item: &landscaper.DeployItem{ObjectMeta: objectMeta(namespace, name)}}
	b.metadata = metadata[*DeployItemBuilder]{object: b.item, builder: b}
	return b.Mock(mock.ProviderConfiguration{})
}

// Mock makes it a deploy item of the mock deployer with the given behaviour.
func (b *DeployItemBuilder) Mock(config mock.ProviderConfiguration) *DeployItemBuilder {
	b.item.Spec.Type, b.item.Spec.Configuration = landscaper.DeployItemTypeMock, mockConfiguration(config)
	return b
}

// Manifests makes it a deploy item that applies objects, whose kinds must be set.
func (b *DeployItemBuilder) Manifests(objects ...client.Object) *DeployItemBuilder {
	b.item.Spec.Type, b.item.Spec.Configuration = landscaper.DeployItemTypeManifest, manifestConfiguration(objects)
	return b
}

// Config makes it a deploy item of any deployer.
func (b *DeployItemBuilder) Config(deployer landscaper.DeployItemType, config any) *DeployItemBuilder {
	b.item.Spec.Type, b.item.Spec.Configuration = deployer, rawExtension(config)
	return b
}

// Target sets the Target, in the deploy item's namespace.
func (b *DeployItemBuilder) Target(name string) *DeployItemBuilder {
	b.item.Spec.Target = &landscaper.ObjectReference{Name: name, Namespace: b.item.Namespace}
	return b
}

// Timeout limits a job of the deploy item: "90s", or "none".
func (b *DeployItemBuilder) Timeout(limit landscaper.Duration) *DeployItemBuilder {
	b.item.Spec.Timeout = &limit
	return b
}

// Build returns a new copy of the deploy item.
func (b *DeployItemBuilder) Build() *landscaper.DeployItem { return b.item.DeepCopy() }

func mockConfiguration(config mock.ProviderConfiguration) *runtime.RawExtension {
	config.SetGroupVersionKind(mock.SchemeGroupVersion.WithKind("ProviderConfiguration"))
	return rawExtension(config)
}

func manifestConfiguration(objects []client.Object) *runtime.RawExtension {
	var config manifest.ProviderConfiguration
	config.SetGroupVersionKind(manifest.SchemeGroupVersion.WithKind("ProviderConfiguration"))
	for _, object := range objects {
		config.Manifests = append(config.Manifests, deployer.Manifest{Manifest: rawExtension(object)})
	}
	return rawExtension(config)
}
