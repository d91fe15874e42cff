// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"espalier.dev/api"
)

// Scheme returns a new scheme with the types of the project, of Kubernetes, and of custom resource definitions.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		api.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("assemble the scheme: %w", err)
		}
	}
	return scheme, nil
}
