// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	espalier "espalier.dev/api/espalier/v1alpha1"
	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

const pipelineKind = "Pipeline"

// Reference is a reference of a pipeline to an object in another namespace of the management cluster. It is valid only if that namespace
// permits it. References within a namespace need no permission: anyone who may create pipelines there may use the objects there.
type Reference struct {
	// From is the namespace of the pipeline.
	From string
	// To is the referenced object.
	To ObjectName
}

// ObjectName names an object of the management cluster.
type ObjectName struct{ Group, Kind, Namespace, Name string }

// String names the object in messages.
func (n ObjectName) String() string { return fmt.Sprintf("%s %s/%s", n.Kind, n.Namespace, n.Name) }

// ReferenceOf returns the reference to another namespace that a target of a pipeline makes; ok is false if it makes none. On another
// cluster, the rights of the credential apply, so the reference is to the cluster and not to the application.
func ReferenceOf(namespace string, app pipelines.AppReference, target pipelines.Target) (r Reference, ok bool) {
	version, _ := schema.ParseGroupVersion(app.APIVersion)
	to := ObjectName{Group: version.Group, Kind: app.Kind, Namespace: target.Namespace, Name: app.Name}
	if c := target.ClusterRef; c != nil {
		to = ObjectName{Group: clusterGroups[c.Kind], Kind: string(c.Kind), Namespace: c.Namespace, Name: c.Name}
	}
	if to.Namespace == "" || to.Namespace == namespace {
		return Reference{}, false
	}
	return Reference{From: namespace, To: to}, true
}

var clusterGroups = map[pipelines.ClusterKind]string{
	pipelines.ClusterKindGitopsCluster: gitops.GroupName, pipelines.ClusterKindTarget: lsv1alpha1.GroupName,
}

// PermittedBy reports whether one of the grants, which may be in any namespace, permits the reference.
func (r Reference) PermittedBy(grants []espalier.ReferenceGrant) bool {
	return slices.ContainsFunc(grants, func(g espalier.ReferenceGrant) bool {
		return g.Namespace == r.To.Namespace && slices.ContainsFunc(g.Spec.From, r.isFrom) && slices.ContainsFunc(g.Spec.To, r.isTo)
	})
}

func (r Reference) isFrom(from espalier.ReferenceGrantFrom) bool {
	return from.Group == pipelines.GroupName && from.Kind == pipelineKind && from.Namespace == r.From
}

func (r Reference) isTo(to espalier.ReferenceGrantTo) bool {
	return to.Group == r.To.Group && to.Kind == r.To.Kind && (to.Name == "" || to.Name == r.To.Name)
}

// Refused returns the problem that a grant is missing, and names the grant. The message does not depend on whether the object or its
// namespace exists.
func (r Reference) Refused() Problem {
	return Problem{Reason: pipelines.ReasonReferenceNotPermitted, Message: fmt.Sprintf(
		"pipelines in namespace %s may not refer to %s: namespace %s must permit it with a ReferenceGrant of %s from %s/%s in namespace %s to %s/%s %s",
		r.From,
		r.To,
		r.To.Namespace,
		espalier.GroupName,
		pipelines.GroupName,
		pipelineKind,
		r.From,
		r.To.Group,
		r.To.Kind,
		r.To.Name,
	)}
}

// Manifest returns a grant that permits the reference and nothing more, for kubectl apply. Values from the pipeline are quoted.
func (r Reference) Manifest() string {
	return strings.Join([]string{
		"apiVersion: " + espalier.SchemeGroupVersion.String(),
		"kind: ReferenceGrant",
		"metadata:",
		fmt.Sprintf("  namespace: %q", r.To.Namespace),
		"  name: pipelines-of-" + r.From + "-" + digest("grant", r.To.Group, r.To.Kind, r.To.Name)[:8],
		"spec:",
		"  from:",
		"  - group: " + pipelines.GroupName,
		"    kind: " + pipelineKind,
		fmt.Sprintf("    namespace: %q", r.From),
		"  to:",
		fmt.Sprintf("  - group: %q", r.To.Group),
		fmt.Sprintf("    kind: %q", r.To.Kind),
		fmt.Sprintf("    name: %q", r.To.Name),
	}, "\n") + "\n"
}

// MissingGrants returns the references of an environment that are recorded as not permitted, without duplicates, in the order of its
// targets.
func MissingGrants(p *pipelines.Pipeline, environment string) []Reference {
	var missing []Reference
	recorded := p.Status.Environments[environment].Targets
	for _, e := range p.Spec.Environments {
		if e.Name != environment {
			continue
		}
		for i, target := range e.Targets {
			r, foreign := ReferenceOf(p.Namespace, p.Spec.AppRef, target)
			refused := i < len(recorded) && recorded[i].Reason == pipelines.ReasonReferenceNotPermitted
			if foreign && refused && !slices.Contains(missing, r) {
				missing = append(missing, r)
			}
		}
	}
	return missing
}

// DefaultKinds are the kinds that spec.appRef may name by default.
func DefaultKinds() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"},
		{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"},
		{Group: "infra.contrib.fluxcd.io", Kind: "Terraform"},
		{Group: lsv1alpha1.GroupName, Kind: "Installation"},
	}
}

// KindRefused returns why spec.appRef may not name its kind; zero if it may. If it may not, nothing is watched, in any cluster: otherwise,
// a pipeline could be used to find out for any kind whether an object with a given name exists.
func KindRefused(app pipelines.AppReference, kinds []schema.GroupKind) Problem {
	version, err := schema.ParseGroupVersion(app.APIVersion)
	if err == nil && slices.Contains(kinds, schema.GroupKind{Group: version.Group, Kind: app.Kind}) {
		return Problem{}
	}
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.String())
	}
	return Problem{Reason: pipelines.ReasonKindNotPermitted, Message: fmt.Sprintf(
		"spec.appRef: pipelines may not follow kind %q of %q: use one of %s, or ask the operator to add the kind to --application-kinds",
		app.Kind,
		app.APIVersion,
		strings.Join(names, ", "),
	)}
}
