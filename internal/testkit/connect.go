// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"testing"

	crlog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Connect returns an API server that the test does not run, such as that of a cluster with a node. It can be neither stopped nor started.
func Connect(t testing.TB, kubeconfig string) *APIServer {
	t.Helper()
	crlog.SetLogger(controllerLog()) // for packages without Main
	s, err := join(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// join returns access to a server that this process does not run.
func join(kubeconfig string) (*APIServer, error) {
	s := &APIServer{starts: 1}
	s.options.Kubeconfig = kubeconfig
	return s, s.connect()
}
