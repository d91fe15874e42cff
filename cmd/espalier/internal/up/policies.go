// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/config/admission"
)

// installPolicies applies the admission policy of approvals, so that a trial behaves like a cluster. The API server needs a moment to load
// it; until then, it accepts requests without the policy.
func installPolicies(ctx context.Context, config *rest.Config) error {
	policy, binding, err := admission.Approvals()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("install the admission policy of approvals: %w", err)
	}
	for _, object := range []client.Object{policy, binding} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("read the admission policy of approvals: %w", err)
		}
		delete(fields, "status")
		applied := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: fields})
		if err := c.Apply(ctx, applied, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("install %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
	}
	return nil
}
