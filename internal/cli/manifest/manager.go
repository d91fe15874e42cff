// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	fluxKustomization = "a Flux Kustomization"
	fluxRelease       = "a Flux HelmRelease"
	argoApplication   = "an Argo CD Application"
)

// ManagerOf tells who brings an object back into its former state when somebody changes it; empty if nobody is known to.
func ManagerOf(object metav1.Object) string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	for _, mark := range []struct{ name, who string }{
		{"kustomize.toolkit.fluxcd.io/name", fluxKustomization}, {"helm.toolkit.fluxcd.io/name", fluxRelease},
		{"argocd.argoproj.io/instance", argoApplication}, {"argocd.argoproj.io/tracking-id", argoApplication},
	} {
		if object.GetLabels()[mark.name] != "" || object.GetAnnotations()[mark.name] != "" {
			return mark.who
		}
	}
	for _, writer := range []struct{ name, who string }{
		{"kustomize-controller", fluxKustomization}, {"helm-controller", fluxRelease},
		{"argocd-controller", argoApplication}, {"argocd-application-controller", argoApplication},
	} {
		if slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == writer.name && entry.Subresource == ""
		}) {
			return writer.who
		}
	}
	return ""
}
