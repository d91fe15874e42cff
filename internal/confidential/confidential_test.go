// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package confidential_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/masking"
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

// However many imports one installation exports, those of the others are read, too.
func TestManyImportsOfOneExporterHideNoOther(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	importer := testkit.Installation(namespace, "importer").Blueprint("{}")
	export := func(exporter, name string) {
		importer.ImportData(name, name)
		testkit.Create(t, server, testkit.DataObject(namespace, name, "x").
			Label(lsv1alpha1.DataObjectSourceLabel, dataflow.ContextOf(exporter)).Build())
	}
	for i := range 70 {
		export("a", fmt.Sprintf("a-%d", i))
	}
	export("b", "b")
	testkit.Create(t, server,
		testkit.Installation(namespace, "a").Blueprint("{}").Build(),
		testkit.Installation(namespace, "b").Blueprint("{}").ImportSecret("password", "login", "password").Build(),
		login(namespace),
	)
	secrets := confidential.Reader{Live: server.Client()}.OfInstallation(t.Context(), importer.Build())
	if got := secrets.Text("rejects swordfish"); got != "rejects <masked>" {
		t.Error(got)
	}
}

// A search that would take too long shows nothing, instead of what it has not found.
func TestNothingIsShownIfTheSearchIsTooLong(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	nested := func(depth int) *testkit.InstallationBuilder {
		return testkit.Installation(namespace, fmt.Sprintf("nested-%d", depth)).Blueprint("{}").
			Label(lsv1alpha1.EncompassedByLabel, fmt.Sprintf("nested-%d", depth-1))
	}
	const depth = 300
	testkit.Create(t, server, login(namespace),
		testkit.Installation(namespace, "nested-0").Blueprint("{}").ImportSecret("password", "login", "password").Build())
	for i := 1; i < depth; i++ {
		testkit.Create(t, server, nested(i).Build())
	}
	secrets := confidential.Reader{Live: server.Client()}.OfInstallation(t.Context(), nested(depth).Build())
	if got := secrets.Text("rejects swordfish"); secrets.Known() || strings.Contains(got, "swordfish") || !strings.Contains(got, "more than 256") {
		t.Error(got)
	}
}

// Another client may remove the labels by which objects name what is above them. Their owners still do; and if those are gone, too, nothing
// is shown.
func TestObjectsWithoutLabelsHideTheirSecrets(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	root := testkit.Installation(namespace, "root").Blueprint("{}").ImportSecret("password", "login", "password").Build()
	testkit.Create(t, server, login(namespace), root)
	owned := func(kind string) metav1.OwnerReference {
		return *metav1.NewControllerRef(root, lsv1alpha1.SchemeGroupVersion.WithKind(kind))
	}
	exported := testkit.DataObject(namespace, "exported", "x").Label(lsv1alpha1.DataObjectSourceTypeLabel, lsv1alpha1.DataObjectSourceExport)
	ownedExport, bareExport := exported.Build(), exported.Build()
	ownedExport.Name, bareExport.Name = "owned", "bare"
	ownedExport.OwnerReferences = []metav1.OwnerReference{owned("Installation")}
	testkit.Create(t, server, ownedExport, bareExport)
	reader := confidential.Reader{Live: server.Client()}
	item := func(change func(*lsv1alpha1.DeployItem)) *masking.Values {
		item := testkit.DeployItem(namespace, "web").Build()
		change(item)
		return reader.OfDeployItem(t.Context(), item)
	}
	inst := func(change func(*lsv1alpha1.Installation)) *masking.Values {
		inst := testkit.Installation(namespace, "sub").Blueprint("{}").Annotate(lsv1alpha1.SubinstallationNameAnnotation, "sub").Build()
		change(inst)
		return reader.OfInstallation(t.Context(), inst)
	}
	importer := func(dataObject string) *masking.Values {
		return reader.OfInstallation(t.Context(), testkit.Installation(namespace, "importer").Blueprint("{}").ImportData("x", dataObject).Build())
	}
	const masked = "rejects <masked>"
	for name, c := range map[string]struct {
		secrets *masking.Values
		want    string
	}{
		"an item with its owner": {item(func(i *lsv1alpha1.DeployItem) { i.OwnerReferences = []metav1.OwnerReference{owned("Execution")} }), masked},
		"an item with another owner": {
			item(func(i *lsv1alpha1.DeployItem) { i.OwnerReferences = []metav1.OwnerReference{owned("Installation")} }), "rejects swordfish",
		},
		"an item of an execution, without owner": {
			item(func(i *lsv1alpha1.DeployItem) {
				i.Labels = map[string]string{lsv1alpha1.ExecutionManagedNameLabel: "web"}
			}),
			lsv1alpha1.ExecutionManagedByLabel,
		},
		"an item of nobody": {item(func(*lsv1alpha1.DeployItem) {}), "rejects swordfish"},
		"a nested installation with its owner": {
			inst(func(i *lsv1alpha1.Installation) { i.OwnerReferences = []metav1.OwnerReference{owned("Installation")} }), masked,
		},
		"a nested installation without owner": {inst(func(*lsv1alpha1.Installation) {}), lsv1alpha1.EncompassedByLabel},
		"a root":                              {inst(func(i *lsv1alpha1.Installation) { i.Annotations = nil }), "rejects swordfish"},
		"an export with its owner":            {importer("owned"), masked},
		"an export without owner":             {importer("bare"), lsv1alpha1.DataObjectSourceLabel},
	} {
		if got := c.secrets.Text("rejects swordfish"); !strings.Contains(got, c.want) ||
			strings.Contains(got, "swordfish") != strings.Contains(c.want, "swordfish") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// login is a Secret with a password.
func login(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "login"}, StringData: map[string]string{"password": "swordfish"},
	}
}

// Generated passwords and what comes out of target clusters are secrets of the installation, and of those that import from it.
func TestGeneratedAndExportedValuesStaySecret(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	exporter := testkit.Installation(namespace, "exporter").Blueprint("{}").Build()
	state := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: dataflow.StateSecret("exporter", dataflow.StateDeploy, "main")},
		StringData: map[string]string{dataflow.StateSecretKey: `{"password": "generated-password"}`},
	}
	testkit.Create(t, server, exporter, state,
		testkit.DataObject(namespace, dataflow.ExecutionExportName("exporter"), map[string]any{
			"item": map[string]any{"password": "c3dvcmRmaXNo", "namespace": "shop", "host": "https://api.shop.example.com"},
		}).Build(),
		testkit.DataObject(namespace, "passed", map[string]any{"token": "fT3kq9ZpX1vW8rLm", "namespace": "shop"}).
			Label(lsv1alpha1.DataObjectSourceLabel, dataflow.ContextOf("exporter")).Build(),
		testkit.DataObject(namespace, "by-hand", map[string]any{"token": "written by a user 4711abcdef"}).Build(),
	)
	exporter.Status.StateSecrets = []string{state.Name}
	if err := server.Client().Status().Update(t.Context(), exporter); err != nil {
		t.Fatal(err)
	}
	importer := testkit.Installation(namespace, "importer").Blueprint("{}").ImportData("a", "passed").ImportData("b", "by-hand").Build()
	reader := confidential.Reader{Live: server.Client()}
	item := testkit.DeployItem(namespace, "web").Label(lsv1alpha1.ExecutionManagedByLabel, "exporter").Build()
	const text = "generated-password, c3dvcmRmaXNo, swordfish, fT3kq9ZpX1vW8rLm, shop, https://api.shop.example.com, 4711abcdef"
	const plain = "shop, https://api.shop.example.com, 4711abcdef"
	for of, c := range map[string]struct {
		secrets *masking.Values
		want    string
	}{
		"the exporter":    {reader.OfInstallation(t.Context(), exporter), "<masked>, <masked>, <masked>, fT3kq9ZpX1vW8rLm, " + plain},
		"its deploy item": {reader.OfDeployItem(t.Context(), item), "<masked>, <masked>, <masked>, fT3kq9ZpX1vW8rLm, " + plain},
		"the importer":    {reader.OfInstallation(t.Context(), importer), "<masked>, <masked>, <masked>, <masked>, " + plain},
	} {
		if got := c.secrets.Text(text); got != c.want {
			t.Errorf("%s: %q, want %q", of, got, c.want)
		}
	}
}
