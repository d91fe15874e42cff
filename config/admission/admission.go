// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package admission holds the admission policies that go with Espalier, as they are in the Kustomizations and in the chart.
package admission

import (
	_ "embed"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

//go:embed approvals.yaml
var approvals string

// Approvals returns the policy that makes deciding on promotions a separate right, and its binding.
func Approvals() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding, error) {
	policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	first, second, found := strings.Cut(approvals, "\n---\n")
	if !found {
		return nil, nil, fmt.Errorf("read the embedded policy of approvals: want two documents")
	}
	for text, into := range map[string]any{first: policy, second: binding} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			return nil, nil, fmt.Errorf("read the embedded policy of approvals: %w", err)
		}
	}
	return policy, binding, nil
}
