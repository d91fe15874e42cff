// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/web/view"
)

// grown is a blueprint that creates two deploy items from a size and a password, and a nested installation.
const grown = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
jsonSchemaVersion: "https://json-schema.org/draft/2019-09/schema"
imports:
- {name: size, type: data, schema: {type: integer}}
- {name: password, type: data, schema: {type: string}}
deployExecutions:
- name: items
  type: GoTemplate
  template: |
    deployItems:
    {{- range list "web" "queue" }}
    - name: {{ . }}
      type: landscaper.gardener.cloud/mock
      config:
        apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        providerStatus: {size: {{ $.imports.size }}, login: "user:{{ $.imports.password }}", password: {{ $.imports.password }}}
    {{- end }}
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: inner
  blueprint: {filesystem: {blueprint.yaml: "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\njsonSchemaVersion: https://json-schema.org/draft/2019-09/schema\n"}}
`

const (
	plantedSecret = "swordfish-of-today"
	formerSecret  = "swordfish-of-yesterday"
)

// plant stores an installation that imports a secret, with one of its deploy items as an earlier job left it, and an obsolete one.
func plant(t *testing.T, cluster *testkit.APIServer, namespace string) {
	t.Helper()
	item := func(name string) *lsv1alpha1.DeployItem {
		i := testkit.DeployItem(namespace, execution.ItemName("shop", name)).
			Label(lsv1alpha1.ExecutionManagedByLabel, "shop").Label(lsv1alpha1.ExecutionManagedNameLabel, name).Build()
		i.Spec.Type = "landscaper.gardener.cloud/mock"
		i.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"mock.deployer.landscaper.gardener.cloud/v1alpha1",` +
			`"kind":"ProviderConfiguration","providerStatus":{"size":1,"login":"user:` + formerSecret + `","password":"` + formerSecret + `"}}`)}
		return i
	}
	old := item("old")
	old.Spec.Configuration = nil
	inst := testkit.Installation(namespace, "shop").Blueprint(grown).ImportData("size", "size").Build()
	inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, lsv1alpha1.DataImport{
		Name: "password", SecretRef: &lsv1alpha1.LocalSecretReference{Name: "login", Key: "password"},
	})
	testkit.Create(t, cluster,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "login"}, Data: map[string][]byte{"password": []byte(plantedSecret)},
		},
		testkit.DataObject(namespace, "size", 7).Build(), inst, item("web"), old,
	)
}

func TestWhatTheNextJobWouldChange(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	plant(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets", "configmaps")))
	path := "/api/v1/diff?name=shop&namespace=" + namespace
	answer := all.get(path)
	var got view.Diff
	answer.into(t, &got)
	changes := map[string]view.ObjectDiff{}
	for _, object := range got.Objects {
		changes[object.Title] = object
	}
	if len(changes) != 4 || changes["web"].Change != "update" || changes["queue"].Change != "create" || changes["old"].Change != "delete" ||
		changes["inner"].Change != "create" || changes["inner"].Ref.Kind != "Installation" {
		t.Errorf("%s", answer.text)
	}
	if strings.Contains(answer.text, plantedSecret) || strings.Contains(answer.text, formerSecret) ||
		strings.Contains(answer.text, "swordfish") {
		t.Errorf("the secret is shown: %s", answer.text)
	}
	web := ""
	for _, line := range changes["web"].Lines {
		web += line.Op + strings.TrimSpace(line.Text) + "\n"
	}
	if !strings.Contains(web, "-size: 1\n+size: 7\n") || !strings.Contains(web, "<masked>") {
		t.Errorf("%s", web)
	}

	less := s.login(t, tokenFor(t, cluster, namespace, looking()))
	var refused view.Diff
	if less.get(path).into(t, &refused); len(refused.Objects) != 0 || !strings.Contains(refused.Message, "get secrets") {
		t.Errorf("without the right to read Secrets: %+v", refused)
	}
}

func TestDiffsThatCannotBeMade(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	testkit.Create(t, cluster,
		testkit.Installation(namespace, "far").BlueprintRef("blueprint").Component("example.com/far", "1.0.0").Build(),
		testkit.Installation(namespace, "poor").Blueprint(grown).ImportData("size", "nowhere").Build(),
	)
	v := serve(t, cluster, Options{}).local(t)
	for name, want := range map[string]string{"far": "no repository is named", "poor": "would fail, or wait"} {
		var got view.Diff
		if v.get("/api/v1/diff?name="+name+"&namespace="+namespace).into(t, &got); len(got.Objects) != 0 || !strings.Contains(got.Message, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if answer := v.get("/api/v1/diff?name=none&namespace=" + namespace); answer.StatusCode != 404 {
		t.Errorf("%s %s", answer.Status, answer.text)
	}
}

// The configuration of a deploy item is shown without values from Secrets, and not at all to users who may not read these.
func TestDeployItemsAreShownWithoutSecrets(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	plant(t, cluster, namespace)
	item := testkit.DeployItem(namespace, "now").
		Label(lsv1alpha1.ExecutionManagedByLabel, "shop").Label(lsv1alpha1.ExecutionManagedNameLabel, "now").Build()
	item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"example.org/v1","kind":"Sizes","size":"seven","login":"user:` +
		plantedSecret + `","` + plantedSecret + `":"x"}`)}
	item.Spec.Target = &lsv1alpha1.ObjectReference{Namespace: namespace, Name: plantedSecret}
	item.Annotations = map[string]string{"example.org/target": plantedSecret}
	testkit.Create(t, cluster, item)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets")))
	less := s.login(t, tokenFor(t, cluster, namespace, looking()))
	path := "/api/v1/objects?kind=DeployItem&name=now&namespace=" + namespace
	for name, c := range map[string]struct {
		visitor *visitor
		shows   bool
	}{"all rights": {all, true}, "not those to read Secrets": {less, false}} {
		answer := c.visitor.get(path)
		if strings.Contains(answer.text, plantedSecret) || strings.Contains(answer.text, "seven") != c.shows {
			t.Errorf("%s: %s %s", name, answer.Status, answer.text)
		}
	}
}

// A nested installation is made by a template, and a root by a person.
func TestNestedInstallationsAreShownWithoutSecrets(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	plant(t, cluster, namespace)
	nested := testkit.Installation(namespace, "inner").Label(lsv1alpha1.EncompassedByLabel, "shop").Blueprint("{}").Context("mine").Build()
	nested.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"password": {Raw: []byte(`"` + plantedSecret + `"`)}}
	testkit.Create(t, cluster, nested)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets")))
	less := s.login(t, tokenFor(t, cluster, namespace, looking()))
	for _, test := range []struct {
		visitor *visitor
		name    string
		shown   string
	}{{all, "inner", "context: mine"}, {less, "inner", `spec: \u003cmasked\u003e`}, {less, "shop", "secretRef:"}} {
		answer := test.visitor.get("/api/v1/objects?kind=Installation&name=" + test.name + "&namespace=" + namespace)
		if strings.Contains(answer.text, plantedSecret) || !strings.Contains(answer.text, test.shown) {
			t.Errorf("%s: %s %s", test.name, answer.Status, answer.text)
		}
	}
}

// What one installation has exported may come from a Secret that another one imports.
func TestRenderingShowsNoSecret(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	plant(t, cluster, namespace)
	importer := func(name, text string) *lsv1alpha1.Installation {
		return testkit.Installation(namespace, name).Blueprint("imports: [{name: login, schema: {type: string}}]\n"+
			"deployExecutions: [{name: d, type: GoTemplate, template: '"+text+"'}]\n").ImportData("login", "login").Build()
	}
	testkit.Create(t, cluster,
		testkit.DataObject(namespace, "login", plantedSecret).Label(lsv1alpha1.DataObjectSourceLabel, "Inst.shop").Build(),
		importer("good", `deployItems: [{name: web, type: example.org/web, config: {apiVersion: a/v1, kind: C, login: {{ .imports.login }}}}]`),
		importer("bad", `{{ fail .imports.login }}`),
	)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets")))
	less := s.login(t, tokenFor(t, cluster, namespace, looking()))
	for _, test := range []struct {
		visitor    *visitor
		name, want string
	}{{all, "good", `login: \u003cmasked\u003e`}, {all, "bad", "cannot be rendered"}, {less, "good", "cannot be distinguished"}} {
		answer := test.visitor.post("/api/v1/render", trial{Namespace: namespace, Name: test.name})
		if strings.Contains(answer.text, plantedSecret) || !strings.Contains(answer.text, test.want) {
			t.Errorf("%s: %s %s", test.name, answer.Status, answer.text)
		}
	}
	if answer := less.post("/api/v1/render", trial{namespace, "good", "login: mine"}); !strings.Contains(answer.text, "login: mine") {
		t.Errorf("with a value of one's own: %s %s", answer.Status, answer.text)
	}
}
