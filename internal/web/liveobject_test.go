// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

// hung stores a deploy item with a ConfigMap and a Secret, rendered from the password that its installation imports. The ConfigMap still
// has the earlier password.
func hung(t *testing.T, cluster *testkit.APIServer, namespace string) {
	t.Helper()
	plant(t, cluster, namespace)
	testkit.Create(t, cluster, testkit.Target(namespace, "prod").Cluster(t, cluster).Build(),
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings", Annotations: map[string]string{
				corev1.LastAppliedConfigAnnotation: `{"data":{"password":"` + formerSecret + `"}}`, "note": "is " + plantedSecret,
			}},
			Data: map[string]string{"login": formerSecret, "colour": "green"},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "made"}, Data: map[string][]byte{"key": []byte("made-by-the-chart")},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-others"}, Data: map[string]string{"a": "not-yours"}},
	)
	item := testkit.DeployItem(namespace, "hung").Target("prod").
		Label(lsv1alpha1.ExecutionManagedByLabel, "shop").Label(lsv1alpha1.ExecutionManagedNameLabel, "hung").Build()
	item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"example.org/v1","kind":"C","manifests":[{"manifest":{"apiVersion":"v1","kind":"ConfigMap",` +
		`"metadata":{"name":"settings"},"data":{"login":"` + plantedSecret + `","colour":"blue"}}}]}`)}
	resource := func(kind, name string) string {
		return fmt.Sprintf(`{"resource":{"apiVersion":"v1","kind":%q,"namespace":%q,"name":%q}}`, kind, namespace, name)
	}
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"a/v1","kind":"ProviderStatus","managedResources":[` +
		strings.Join([]string{resource("ConfigMap", "settings"), resource("Secret", "made"), resource("ConfigMap", "lost")}, ",") + "]}")}
	clitest.Store(t, cluster, item)
}

func objectPath(namespace, kind, name string) string {
	return "/api/v1/live/object?" + url.Values{
		"namespace": {namespace}, "name": {"hung"}, "objectVersion": {"v1"}, "objectKind": {kind}, "objectNamespace": {namespace}, "objectName": {name},
	}.Encode()
}

func TestALiveObjectIsShownWithoutSecrets(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	hung(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets")))
	var settings, made view.LiveYAML
	for name, into := range map[string]*view.LiveYAML{"settings": &settings, "made": &made} {
		kind := map[string]string{"settings": "ConfigMap", "made": "Secret"}[name]
		answer := all.get(objectPath(namespace, kind, name))
		answer.into(t, into)
		for _, secret := range []string{plantedSecret, formerSecret, "made-by-the-chart", "bWFkZS1ieS10aGUtY2hhcnQ", "managedFields"} {
			if strings.Contains(answer.text, secret) {
				t.Errorf("%s shows %s: %s", name, secret, answer.text)
			}
		}
	}
	if !strings.Contains(settings.Live, "colour: green") || !strings.Contains(settings.Live, "login: <masked>") ||
		!strings.Contains(settings.Live, "note: is <masked>") || !strings.Contains(settings.Live, "uid:") {
		t.Errorf("%s", settings.Live)
	}
	if !strings.Contains(settings.Rendered, "colour: blue") || !strings.Contains(settings.Rendered, "login: <masked>") {
		t.Errorf("%s", settings.Rendered)
	}
	if !strings.Contains(made.Live, "key: <masked>") || made.Rendered != "" {
		t.Errorf("%+v", made)
	}
}

func TestLiveObjectsThatAreNotShown(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	hung(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets")))
	noSecrets := s.login(t, tokenFor(t, cluster, namespace, looking()))
	nothing := s.login(t, tokenFor(t, cluster, namespace))
	for name, test := range map[string]struct {
		visitor    *visitor
		kind, name string
		status     int
		want       string
	}{
		"gone":                    {all, "ConfigMap", "lost", http.StatusNotFound, "no longer in the cluster"},
		"of others":               {all, "ConfigMap", "of-others", http.StatusNotFound, "not an object of deploy item hung"},
		"a Secret of the cluster": {all, "Secret", "login", http.StatusNotFound, "not an object of deploy item hung"},
		"no name":                 {all, "ConfigMap", "", http.StatusUnprocessableEntity, "objectName"},
		"not known what to mask":  {noSecrets, "ConfigMap", "settings", http.StatusUnprocessableEntity, "may contain secrets"},
		"no right to the item":    {nothing, "ConfigMap", "settings", http.StatusForbidden, "deployitems"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := test.visitor.get(objectPath(namespace, test.kind, test.name))
			if answer.StatusCode != test.status || !strings.Contains(answer.text, test.want) || strings.Contains(answer.text, "not-yours") {
				t.Errorf("%s %s", answer.Status, answer.text)
			}
		})
	}
}

// A large object is truncated before it is sent.
func TestALargeLiveObjectIsCut(t *testing.T) {
	shown, err := liveYAML(map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": strings.Repeat("x", 2*maxValue)}}, nil, &masking.Values{})
	if err != nil || !shown.Cut || len(shown.Live) > maxValue {
		t.Errorf("%d bytes, %v %v", len(shown.Live), shown.Cut, err)
	}
}

// Executions contain the configurations of their deploy items, even where these are stored compressed.
func TestExecutionsAreShownWithoutSecrets(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	plant(t, cluster, namespace)
	for _, size := range []int{10, 200_000} {
		e := testkit.Execution(namespace, "shop").Build()
		item := lsv1alpha1.DeployItemTemplate{Name: "web", Type: "example.org/web", Configuration: &runtime.RawExtension{Raw: fmt.Appendf(nil,
			`{"apiVersion":"example.org/v1","kind":"C","password":%q,"colour":"green","rest":%q}`, plantedSecret, strings.Repeat("x", size))}}
		if err := e.Spec.SetItems([]lsv1alpha1.DeployItemTemplate{item}); err != nil {
			t.Fatal(err)
		}
		testkit.Create(t, cluster, e)
		s := serve(t, cluster, Options{Namespaces: []string{namespace}})
		answer := s.local(t).get("/api/v1/objects?kind=Execution&name=shop&namespace=" + namespace)
		if strings.Contains(answer.text, plantedSecret) || !strings.Contains(answer.text, "colour: green") ||
			strings.Contains(answer.text, "deployItemsCompressed") {
			t.Errorf("of %d bytes: %s %.2000s", size, answer.Status, answer.text)
		}
		if err := cluster.Client().Delete(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}
