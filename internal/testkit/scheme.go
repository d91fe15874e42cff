// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"espalier.dev/api"
)

// ownKinds is set before the first test runs and never again, because a scheme must not change while others read it.
var ownKinds []func(*runtime.Scheme) error

// Scheme returns a new scheme with the types of the project, of Kubernetes, of custom resource definitions, and those given to Main.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	builtin := []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, api.AddToScheme}
	for _, add := range slices.Concat(builtin, ownKinds) {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("assemble the scheme: %w", err)
		}
	}
	return scheme, nil
}
