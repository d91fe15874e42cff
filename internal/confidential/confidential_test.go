// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package confidential_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// A Secret may have changed since the last job. What that has deployed contains the former value, and so may errors about it.
func TestFormerValuesStaySecret(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "login"}
	inst := testkit.Installation(namespace, "shop").Blueprint("{}").ImportSecret("password", "login", "password").
		ImportSecret("certificate", "login", "certificate").ImportData("colour", "colour").Build()
	inside := dataflow.Scope{Namespace: namespace, Parent: "shop"}
	testkit.Create(t, server, inst,
		&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"password": "swordfish-of-today"}},
		testkit.DataObject(namespace, inside.ObjectName("password"), "swordfish-of-yesterday").Build(),
		testkit.DataObject(namespace, inside.ObjectName("certificate"), map[string]any{"key": "key-of-yesterday"}).Build(),
		testkit.DataObject(namespace, inside.ObjectName("colour"), "crimson").Build(),
	)
	reader := confidential.Reader{Live: server.Client()}
	item := testkit.DeployItem(namespace, "web").Label(lsv1alpha1.ExecutionManagedByLabel, "shop").Build()
	const text = "swordfish-of-today, swordfish-of-yesterday, key-of-yesterday, crimson"
	for of, secrets := range map[string]interface{ Text(string) string }{
		"the installation": reader.OfInstallation(t.Context(), inst), "a deploy item": reader.OfDeployItem(t.Context(), item),
	} {
		if got := secrets.Text(text); got != "<masked>, <masked>, <masked>, crimson" {
			t.Errorf("%s: %q", of, got)
		}
	}
}
