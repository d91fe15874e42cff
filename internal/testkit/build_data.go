// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"testing"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// DataObjectBuilder builds a DataObject.
type DataObjectBuilder struct {
	metadata[*DataObjectBuilder]
	data *landscaper.DataObject
}

// DataObject starts a DataObject with any value.
func DataObject(namespace, name string, value any) *DataObjectBuilder {
	b := &DataObjectBuilder{data: &landscaper.DataObject{ObjectMeta: objectMeta(namespace, name), Data: anyJSON(value)}}
	b.metadata = metadata[*DataObjectBuilder]{object: b.data, builder: b}
	return b
}

// Build returns a new copy of the data object.
func (b *DataObjectBuilder) Build() *landscaper.DataObject { return b.data.DeepCopy() }

// TargetBuilder builds a Target.
type TargetBuilder struct {
	metadata[*TargetBuilder]
	target *landscaper.Target
}

// Target starts a Target of the type Kubernetes cluster, still without access to the cluster.
func Target(namespace, name string) *TargetBuilder {
	b := &TargetBuilder{target: &landscaper.Target{ObjectMeta: objectMeta(namespace, name)}}
	b.target.Spec.Type = landscaper.TargetTypeKubernetesCluster
	b.metadata = metadata[*TargetBuilder]{object: b.target, builder: b}
	return b
}

// Type sets another type.
func (b *TargetBuilder) Type(name landscaper.TargetType) *TargetBuilder {
	b.target.Spec.Type = name
	return b
}

// Config sets the configuration, in the form of the type.
func (b *TargetBuilder) Config(config any) *TargetBuilder {
	content := anyJSON(config)
	b.target.Spec.Configuration = &content
	return b
}

// Kubeconfig accesses the cluster with the text of a kubeconfig.
func (b *TargetBuilder) Kubeconfig(text string) *TargetBuilder {
	content := anyJSON(text)
	return b.Config(landscaper.KubernetesClusterConfig{Kubeconfig: &content})
}

// Cluster accesses the given test server as its administrator.
func (b *TargetBuilder) Cluster(t testing.TB, server *APIServer) *TargetBuilder {
	t.Helper()
	text, err := os.ReadFile(server.Kubeconfig())
	if err != nil {
		t.Fatalf("make a target of a test server: %v", err)
	}
	return b.Kubeconfig(string(text))
}

// Secret reads the configuration from a key of a Secret.
func (b *TargetBuilder) Secret(name, key string) *TargetBuilder {
	b.target.Spec.SecretRef = &landscaper.LocalSecretReference{Name: name, Key: key}
	return b
}

// Build returns a new copy of the target.
func (b *TargetBuilder) Build() *landscaper.Target { return b.target.DeepCopy() }

// ContextBuilder builds a Context.
type ContextBuilder struct {
	metadata[*ContextBuilder]
	context *landscaper.Context
}

// Context starts an empty Context.
func Context(namespace, name string) *ContextBuilder {
	b := &ContextBuilder{context: &landscaper.Context{ObjectMeta: objectMeta(namespace, name)}}
	b.metadata = metadata[*ContextBuilder]{object: b.context, builder: b}
	return b
}

// Repository sets where component versions are found.
func (b *ContextBuilder) Repository(repositoryContext any) *ContextBuilder {
	content := anyJSON(repositoryContext)
	b.context.RepositoryContext = &content
	return b
}

// PullSecret adds credentials for registries.
func (b *ContextBuilder) PullSecret(name string) *ContextBuilder {
	b.context.RegistryPullSecrets = append(b.context.RegistryPullSecrets, landscaper.LocalObjectReference{Name: name})
	return b
}

// Configuration adds a value that deployers can look up.
func (b *ContextBuilder) Configuration(key string, value any) *ContextBuilder {
	if b.context.Configurations == nil {
		b.context.Configurations = map[string]landscaper.AnyJSON{}
	}
	b.context.Configurations[key] = anyJSON(value)
	return b
}

// Build returns a new copy of the context.
func (b *ContextBuilder) Build() *landscaper.Context { return b.context.DeepCopy() }
