// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/preview"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// shop has a database, which exports its address, and a front end, which imports that and a password.
const shop = `
imports:
- {name: size, schema: {type: integer}}
- {name: password, schema: {type: string}}
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
subinstallations:
- name: db
  imports: {data: [{name: size, dataRef: size}]}
  exports: {data: [{name: url, dataRef: url}]}
  blueprint: {filesystem: {blueprint.yaml: "` +
	`imports: [{name: size, schema: {type: integer}}]\n` +
	`exports: [{name: url, schema: {type: string}}]\n` +
	`exportExecutions: [{name: e, type: Spiff, template: {exports: {url: (( values.deployitems.pg.url ))}}}]\n` +
	`deployExecutions: [{name: d, type: Spiff, template: {deployItems: [{name: pg, type: example.org/pg, config: {apiVersion: example.org/v1, kind: C, size: (( imports.size ))}}]}}]"}}
- name: front
  imports: {data: [{name: url, dataRef: url}, {name: password, dataRef: password}], targets: [{name: cluster, target: cluster}]}
  blueprint: {filesystem: {blueprint.yaml: "` +
	`imports: [{name: url, schema: {type: string}}, {name: password, schema: {type: string}}, {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]\n` +
	`deployExecutions: [{name: d, type: Spiff, template: {deployItems: [{name: web, type: example.org/web, target: {import: cluster}, config: {apiVersion: example.org/v1, kind: C, url: (( imports.url )), login: '(( \"user:\" imports.password ))'}}]}}]"}}
`

const (
	today     = "swordfish-of-today"
	yesterday = "swordfish-of-yesterday"
)

// stage is a namespace that contains the shop.
type stage struct {
	server    *testkit.APIServer
	namespace string
	inspects  map[lsv1alpha1.DeployItemType]offline.Inspector
}

func newStage(t *testing.T, blueprint string) *stage {
	t.Helper()
	s := &stage{server: testkit.Server(t)}
	s.namespace = s.server.Namespace(t)
	testkit.Create(t, s.server,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "login"}, Data: map[string][]byte{"password": []byte(today)},
		},
		testkit.DataObject(s.namespace, "size", 7).Build(), testkit.Target(s.namespace, "prod").Kubeconfig("pssst-kubeconfig").Build(),
		testkit.Installation(s.namespace, "shop").Blueprint(blueprint).ImportData("size", "size").ImportSecret("password", "login", "password").
			ImportTarget("cluster", "prod").Build(),
	)
	return s
}

// nested stores a nested installation, as a job has left it.
func (s *stage) nested(t *testing.T, parent, as string) string {
	t.Helper()
	inst := testkit.Installation(s.namespace, parent+"-"+as).Label(lsv1alpha1.EncompassedByLabel, parent).
		Annotate(lsv1alpha1.SubinstallationNameAnnotation, as).Blueprint("{}").Build()
	testkit.Create(t, s.server, inst)
	return inst.Name
}

// item stores a deploy item of an installation.
func (s *stage) item(t *testing.T, of, name, config string) {
	t.Helper()
	item := testkit.DeployItem(s.namespace, execution.ItemName(of, name)).
		Label(lsv1alpha1.ExecutionManagedByLabel, of).Label(lsv1alpha1.ExecutionManagedNameLabel, name).Build()
	item.Spec.Type = lsv1alpha1.DeployItemType("example.org/" + name)
	item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(config)}
	testkit.Create(t, s.server, item)
}

// export stores an export of an installation in the shop.
func (s *stage) export(t *testing.T, reference string, value any) {
	t.Helper()
	scope := dataflow.Scope{Namespace: s.namespace, Parent: "shop"}
	testkit.Create(t, s.server, testkit.DataObject(s.namespace, scope.ObjectName(reference), value).Build())
}

func (s *stage) look(t *testing.T, name string) (*preview.Diff, error) {
	t.Helper()
	inst := &lsv1alpha1.Installation{}
	if err := s.server.Client().Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, inst); err != nil {
		t.Fatal(err)
	}
	return preview.Reader{Cluster: preview.Cluster{Client: s.server.Client()}, Inspectors: s.inspects}.NextJob(t.Context(), inst)
}

// see predicts the next job, and fails if a secret is shown.
func (s *stage) see(t *testing.T, name string) *preview.Diff {
	t.Helper()
	diff, err := s.look(t, name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(diff)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{today, yesterday, "pssst"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is shown: %s", secret, text)
		}
	}
	return diff
}

// words returns the changes as lines such as "create DeployItem db/pg".
func words(diff *preview.Diff) []string {
	all := []string{}
	for _, change := range diff.Changes {
		all = append(all, fmt.Sprintf("%s %s %s", change.What, change.Kind, strings.TrimPrefix(change.Within+"/"+change.Title, "/")))
	}
	return all
}

func linesOf(t *testing.T, diff *preview.Diff, title string) string {
	t.Helper()
	text := ""
	for _, change := range diff.Changes {
		if change.Title != title {
			continue
		}
		for _, line := range change.Lines {
			text += line.Op + strings.TrimSpace(line.Text) + "\n"
		}
	}
	return text
}

// Before the first job, everything is new except what depends on an export that no job has made.
func TestTheFirstJob(t *testing.T) {
	s := newStage(t, shop)
	diff := s.see(t, "shop")
	want := []string{"create Installation db", "create Installation front", "create DeployItem db/pg"}
	if d := cmp.Diff(want, words(diff)); d != "" {
		t.Error(d)
	}
	if notes := strings.Join(diff.Notes, "\n"); !strings.Contains(notes, "Not known before the job: installation shop/front: waiting for export url of shop/db") {
		t.Errorf("%q", diff.Notes)
	}
}

// Templates can write secrets into names. A job would reject them, and until then nobody may see them.
func TestNamesShowNoSecret(t *testing.T) {
	s := newStage(t, `
imports: [{name: password, schema: {type: string}}]
deployExecutions:
- name: d
  type: GoTemplate
  template: |
    deployItems:
    - name: {{ .imports.password }}
      type: example.org/pg
      config: {apiVersion: example.org/v1, kind: C, {{ .imports.password }}: x}
`)
	diff := s.see(t, "shop")
	if d := cmp.Diff([]string{"create DeployItem <masked>"}, words(diff)); d != "" || diff.Changes[0].Name != "<masked>" {
		t.Errorf("%s %+v", d, diff.Changes)
	}
}

// A later job changes what is below, based on the current exports; how it would change the exports is unknown.
func TestALaterJobOfATree(t *testing.T) {
	s := newStage(t, shop)
	db, front, old := s.nested(t, "shop", "db"), s.nested(t, "shop", "front"), s.nested(t, "shop", "old")
	s.item(t, db, "pg", `{"apiVersion":"example.org/v1","kind":"C","size":1}`)
	s.item(t, front, "web", `{"apiVersion":"example.org/v1","kind":"C","url":"here","login":"user:`+yesterday+`"}`)
	s.item(t, old, "gone", `{"apiVersion":"example.org/v1","kind":"C","login":"user:`+yesterday+`"}`)
	s.item(t, s.nested(t, old, "older"), "gone-too", `{"apiVersion":"example.org/v1","kind":"C"}`)
	s.export(t, "url", "there")
	diff := s.see(t, "shop")
	want := []string{
		"update Installation db", "update Installation front",
		"delete Installation old", "delete DeployItem old/gone", "delete Installation old/older", "delete DeployItem old/older/gone-too",
		"update DeployItem db/pg", "update DeployItem front/web",
	}
	if d := cmp.Diff(want, words(diff)); d != "" {
		t.Error(d)
	}
	if pg := linesOf(t, diff, "pg"); !strings.Contains(pg, "-size: 1\n+size: 7\n") {
		t.Errorf("%s", pg)
	}
	if web := linesOf(t, diff, "web"); !strings.Contains(web, "-url: here\n") || !strings.Contains(web, "+url: there\n") ||
		!strings.Contains(web, "<masked>") {
		t.Errorf("%s", web)
	}
	if d := cmp.Diff([]string{"Taken from the last job, because only a job can compute it: export url of shop/db."}, diff.Notes); d != "" {
		t.Error(d)
	}
}

// A nested installation imports from the scope of its parent, including its target.
func TestAJobOfANestedInstallation(t *testing.T) {
	s := newStage(t, shop)
	scope := dataflow.Scope{Namespace: s.namespace, Parent: "shop"}
	inst := testkit.Installation(s.namespace, "shop-front").Label(lsv1alpha1.EncompassedByLabel, "shop").Blueprint(
		"imports: [{name: url, schema: {type: string}}, {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]\n"+
			"deployExecutions: [{name: d, type: Spiff, template: {deployItems: [{name: web, type: example.org/web, target: {import: cluster}, "+
			"config: {apiVersion: example.org/v1, kind: C, url: (( imports.url ))}}]}}]").
		ImportData("url", "url").ImportTarget("cluster", "cluster").Build()
	testkit.Create(t, s.server, inst, testkit.Target(s.namespace, scope.ObjectName("cluster")).Kubeconfig("pssst-kubeconfig").Build())
	s.export(t, "url", "there")
	diff := s.see(t, "shop-front")
	if d := cmp.Diff([]string{"create DeployItem web"}, words(diff)); d != "" || len(diff.Notes) > 0 {
		t.Errorf("%s %q", d, diff.Notes)
	}
}

// An installation that cannot be rendered does not hide the others, and none of its objects is shown as deleted.
func TestANestedInstallationThatFails(t *testing.T) {
	broken := strings.Replace(shop, "url: (( imports.url ))", "url: (( imports.nothing ))", 1)
	s := newStage(t, broken)
	front := s.nested(t, "shop", "front")
	s.item(t, front, "web", `{"apiVersion":"example.org/v1","kind":"C"}`)
	s.export(t, "url", "there")
	diff := s.see(t, "shop")
	if d := cmp.Diff([]string{"create Installation db", "update Installation front", "create DeployItem db/pg"}, words(diff)); d != "" {
		t.Error(d)
	}
	if notes := strings.Join(diff.Notes, "\n"); !strings.Contains(notes, "This would fail, or wait: installation shop/front: ") {
		t.Errorf("%q", diff.Notes)
	}
}

// The objects of a chart are compared as well, if there is an inspector; no value of a Secret is shown.
func TestWhatDeployItemsDeploy(t *testing.T) {
	s := newStage(t, shop)
	db := s.nested(t, "shop", "db")
	s.item(t, db, "pg", `{"apiVersion":"example.org/v1","kind":"C","size":1}`)
	inspect := func(_ context.Context, item lsv1alpha1.DeployItemTemplate) ([]*unstructured.Unstructured, error) {
		var config struct{ Size int }
		if err := json.Unmarshal(item.Configuration.Raw, &config); err != nil {
			return nil, err
		}
		secret := map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "made"},
			"data": map[string]any{"key": fmt.Sprintf("pssst-%d", config.Size)},
		}
		set := map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "pg"}, "spec": map[string]any{"replicas": config.Size},
		}
		return []*unstructured.Unstructured{{Object: set}, {Object: secret}}, nil
	}
	s.inspects = map[lsv1alpha1.DeployItemType]offline.Inspector{"example.org/pg": inspect}
	diff := s.see(t, "shop")
	want := []string{
		"update Installation db", "create Installation front", "update DeployItem db/pg", "update StatefulSet db/pg/pg", "update Secret db/pg/made",
	}
	if d := cmp.Diff(want, words(diff)); d != "" {
		t.Error(d)
	}
	if made := linesOf(t, diff, "made"); !strings.Contains(made, "Only values change that are not shown") {
		t.Errorf("%s", made)
	}
	s.inspects["example.org/pg"] = func(context.Context, lsv1alpha1.DeployItemTemplate) ([]*unstructured.Unstructured, error) {
		return nil, errors.New("the chart of " + today + " is broken")
	}
	if notes := strings.Join(s.see(t, "shop").Notes, "\n"); !strings.Contains(notes, "What pg deploys is unknown: the chart of <masked> is broken") {
		t.Errorf("%s", notes)
	}
}

func TestJobsOfWhichNothingCanBeSaid(t *testing.T) {
	s := newStage(t, shop)
	if err := s.server.Client().Delete(t.Context(), testkit.DataObject(s.namespace, "size", 7).Build()); err != nil {
		t.Fatal(err)
	}
	var unknown *preview.Unknown
	if _, err := s.look(t, "shop"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "would fail, or wait") || !strings.Contains(err.Error(), "size") {
		t.Errorf("%v", err)
	}
}
