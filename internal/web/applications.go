// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/web/hub"
	"espalier.dev/internal/web/mirror"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

// addApplications adds to the scene of a pipeline the installations in other namespaces that it promotes to, as far as readers of the class
// may see them: their specs show what a promotion changes.
func (s *Server) addApplications(scene view.Scene, class *rights.Class, topic hub.Topic) {
	see := func(r mirror.Resource, namespace string) bool {
		allowed, _ := class.May(toList(r), namespace)
		return allowed
	}
	for _, namespace := range otherNamespaces(scene, topic) {
		targets := s.targetNames(namespace)
		s.mirror.Each(namespace, see, func(object client.Object) {
			switch o := object.(type) {
			case *lsv1alpha1.Installation, *lsv1alpha1.Execution:
				scene.Objects.Put(object)
			case *lsv1alpha1.DeployItem:
				scene.Objects.Put(withKnownTarget(o, targets))
			}
		})
	}
}

// otherNamespaces returns the other namespaces of this cluster that a pipeline refers to.
func otherNamespaces(scene view.Scene, topic hub.Topic) []string {
	var found []string
	for _, p := range scene.Pipelines {
		if p.Name != topic.Name || p.Namespace != topic.Namespace {
			continue
		}
		for _, environment := range p.Spec.Environments {
			for _, target := range environment.Targets {
				known := target.Namespace == "" || target.Namespace == p.Namespace || slices.Contains(found, target.Namespace)
				if target.ClusterRef == nil && !known {
					found = append(found, target.Namespace)
				}
			}
		}
	}
	return found
}
