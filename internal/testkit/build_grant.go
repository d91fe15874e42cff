// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"testing"

	espalier "espalier.dev/api/espalier/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// Grant returns a grant that lets pipelines of a namespace refer to all applications in another one.
func Grant(namespace, pipelinesOf string) *espalier.ReferenceGrant {
	grant := &espalier.ReferenceGrant{ObjectMeta: objectMeta(namespace, "pipelines")}
	grant.Spec.From = []espalier.ReferenceGrantFrom{{Group: pipelines.GroupName, Kind: "Pipeline", Namespace: pipelinesOf}}
	for _, kind := range pipeline.DefaultKinds() {
		grant.Spec.To = append(grant.Spec.To, espalier.ReferenceGrantTo{Group: kind.Group, Kind: kind.Kind})
	}
	return grant
}

// GrantedNamespace creates a namespace to whose applications pipelines of another one may refer.
func (s *APIServer) GrantedNamespace(t testing.TB, pipelinesOf string) string {
	t.Helper()
	namespace := s.Namespace(t)
	Create(t, s, Grant(namespace, pipelinesOf))
	return namespace
}
