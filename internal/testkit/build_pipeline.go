// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// PipelineBuilder builds a Pipeline. Settings of an environment apply to the one that was added last.
type PipelineBuilder struct {
	metadata[*PipelineBuilder]
	pipeline *pipelines.Pipeline
}

// Pipeline starts a Pipeline that carries the HelmRelease of the same name.
func Pipeline(namespace, name string) *PipelineBuilder {
	b := &PipelineBuilder{pipeline: &pipelines.Pipeline{ObjectMeta: objectMeta(namespace, name)}}
	b.metadata = metadata[*PipelineBuilder]{object: b.pipeline, builder: b}
	return b.App("helm.toolkit.fluxcd.io/v2", "HelmRelease", name)
}

// App sets which object of each environment shows the revision.
func (b *PipelineBuilder) App(apiVersion, kind, name string) *PipelineBuilder {
	b.pipeline.Spec.AppRef = pipelines.AppReference{APIVersion: apiVersion, Kind: kind, Name: name}
	return b
}

// Environment adds an environment with a target in the given namespace of the pipeline's own cluster.
func (b *PipelineBuilder) Environment(name, namespace string) *PipelineBuilder {
	return b.environment(name, pipelines.Target{Namespace: namespace})
}

// EnvironmentOn adds an environment with a target in the given namespace of the cluster that a GitopsCluster names.
func (b *PipelineBuilder) EnvironmentOn(cluster, name, namespace string) *PipelineBuilder {
	reference := &pipelines.ClusterReference{Kind: pipelines.ClusterKindGitopsCluster, Name: cluster}
	return b.environment(name, pipelines.Target{Namespace: namespace, ClusterRef: reference})
}

func (b *PipelineBuilder) environment(name string, target pipelines.Target) *PipelineBuilder {
	environments := b.pipeline.Spec.Environments
	if len(environments) > 0 && b.last().Name == name {
		b.last().Targets = append(b.last().Targets, target)
		return b
	}
	b.pipeline.Spec.Environments = append(environments, pipelines.Environment{Name: name, Targets: []pipelines.Target{target}})
	return b
}

func (b *PipelineBuilder) last() *pipelines.Environment {
	return &b.pipeline.Spec.Environments[len(b.pipeline.Spec.Environments)-1]
}

// MinHealthy sets how long the last environment must have been healthy before it is promoted from.
func (b *PipelineBuilder) MinHealthy(period pipelines.Duration) *PipelineBuilder {
	b.last().MinHealthy = period
	return b
}

// Promotion sets how the last environment is promoted to, instead of the pipeline's setting.
func (b *PipelineBuilder) Promotion(promotion pipelines.Promotion) *PipelineBuilder {
	b.last().Promotion = &promotion
	return b
}

// Manual makes promotions wait for an approval.
func (b *PipelineBuilder) Manual() *PipelineBuilder {
	b.promotion().Manual = true
	return b
}

// Notification promotes by notifying others.
func (b *PipelineBuilder) Notification() *PipelineBuilder {
	b.promotion().Strategy.Notification = &pipelines.NotificationStrategy{}
	return b
}

// PullRequest promotes by pull requests.
func (b *PipelineBuilder) PullRequest(strategy pipelines.PullRequestStrategy) *PipelineBuilder {
	b.promotion().Strategy.PullRequest = &strategy
	return b
}

func (b *PipelineBuilder) promotion() *pipelines.Promotion {
	if b.pipeline.Spec.Promotion == nil {
		b.pipeline.Spec.Promotion = &pipelines.Promotion{}
	}
	return b.pipeline.Spec.Promotion
}

// Pairwise carries a revision only from one environment to the next.
func (b *PipelineBuilder) Pairwise() *PipelineBuilder {
	b.pipeline.Spec.Mode = pipelines.ModePairwise
	return b
}

// Suspended suspends promotions.
func (b *PipelineBuilder) Suspended() *PipelineBuilder {
	b.pipeline.Spec.Suspend = true
	return b
}

// Build returns a new copy of the pipeline.
func (b *PipelineBuilder) Build() *pipelines.Pipeline { return b.pipeline.DeepCopy() }
