// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	espalier "espalier.dev/api/espalier/v1alpha1"
	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/pipeline"
)

// system is one that a cluster can be taken over from.
type system struct {
	// name is that of the command, title that of the system.
	name, title string
	// groups are the API groups of its kinds.
	groups []string
	// images are those of its controllers, without registry and tag; others those of the other system.
	images, others []string
	// another is the title of the other system.
	another string
	// visitors look at the objects of a kind, by the plural name of the kind.
	visitors map[string]func(context.Context, *examination, *unstructured.Unstructured) error
	// conclude looks at what the visitors have collected.
	conclude func(context.Context, *examination) error
	// unused are kinds that only its own controllers need, and that stay without harm.
	unused []string
	// jobs says that its objects have jobs.
	jobs bool
	// finalizer is one of Pipelines that no controller but Espalier's removes; empty if there is none.
	finalizer string
	// remains is what going back does not undo.
	remains []string
}

// webhookName is the configuration that Landscaper's webhook server writes at its start, webhookSuffix the end of the names in it.
const (
	webhookName   = "landscaper-validation-webhook"
	webhookSuffix = ".validation." + lsv1alpha1.GroupName
)

func landscaper() *system {
	return &system{
		name: "landscaper", title: "Landscaper", groups: []string{lsv1alpha1.GroupName},
		images: check.LandscaperImages, others: check.WeaveImages, another: "Weave's pipeline-controller", jobs: true,
		visitors: map[string]func(context.Context, *examination, *unstructured.Unstructured) error{
			"installations": visitInstallation, "executions": visitExecution, "deployitems": visitDeployItem, "contexts": visitContext,
		},
		conclude: concludeLandscaper,
		unused:   []string{"syncobjects", "lshealthchecks", "criticalproblems"},
		remains: []string{
			"What jobs of Espalier have deployed stays deployed, and their exports and states stay.",
			"Conditions and status fields that only Espalier writes disappear when Landscaper next writes a status.",
			"status.importsHash was computed by Espalier; Landscaper computes its own in its next job.",
		},
	}
}

func weavePipelines() *system {
	return &system{
		name: "weave-pipelines", title: "Weave's pipeline-controller", groups: []string{pipelines.GroupName, gitops.GroupName},
		images: check.WeaveImages, others: check.LandscaperImages, another: "Landscaper",
		visitors:  map[string]func(context.Context, *examination, *unstructured.Unstructured) error{"pipelines": visitPipeline},
		finalizer: pipeline.Finalizer,
		remains: []string{
			"Promotions stay as they are: merged changes stay merged, and pull requests of Espalier stay open. Close those that you do not want.",
			"What Espalier has recorded about runs, approvals and promotions disappears when the other controller next writes a status.",
		},
	}
}

// recordName is the ConfigMap that says what was there before.
func (s *system) recordName() string { return "espalier-migration-" + s.name }

// owns reports whether a group is one of those that are taken over.
func (s *system) owns(group string) bool { return slices.Contains(s.groups, group) }

// installs reports whether a CRD is installed, whatever exists now.
func (s *system) installs(group string) bool { return s.owns(group) || group == espalier.GroupName }

// ownsWebhook distinguishes the system's own webhooks from third-party ones, which stay. Weave's controller has none.
func (s *system) ownsWebhook(configuration string, webhooks []string) bool {
	if !s.owns(lsv1alpha1.GroupName) || len(webhooks) == 0 {
		return false
	}
	foreign := func(name string) bool { return !strings.HasSuffix(name, webhookSuffix) }
	return configuration == webhookName || !slices.ContainsFunc(webhooks, foreign)
}
