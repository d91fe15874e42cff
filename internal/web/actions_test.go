// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

// annotations returns those of the installation or pipeline shop.
func annotations(t *testing.T, cluster *testkit.APIServer, object client.Object) map[string]string {
	t.Helper()
	if err := cluster.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return object.GetAnnotations()
}

func TestActionsOnInstallations(t *testing.T) {
	cluster := testkit.Server(t)
	v := serve(t, cluster, Options{}).local(t)
	for action, test := range map[string]struct {
		phase      lsv1alpha1.Phase
		continuous bool
		operation  lsv1alpha1.Operation
		said       string
	}{
		"reconcile": {lsv1alpha1.PhaseSucceeded, false, lsv1alpha1.OperationReconcile, "shop will run a job."},
		"interrupt": {lsv1alpha1.PhaseProgressing, false, lsv1alpha1.OperationInterrupt, "shop is interrupted."},
		"abort":     {lsv1alpha1.PhaseProgressing, true, lsv1alpha1.OperationAbort, "shop is interrupted."},
		"force":     {lsv1alpha1.PhaseSucceeded, true, lsv1alpha1.OperationForceReconcile, "shop will run a job."},
		"delete":    {lsv1alpha1.PhaseSucceeded, false, "", "shop is being deleted."},
	} {
		t.Run(action, func(t *testing.T) {
			builder := testkit.Installation(cluster.Namespace(t), "shop").Finalizer(lsv1alpha1.Finalizer)
			if test.continuous {
				builder.Continuous()
			}
			shop := builder.Build()
			shop.Status.RunStatus = clitest.Status(test.phase)
			if test.continuous {
				shop.Status.JobID, shop.Status.JobIDFinished = "", ""
			}
			clitest.Store(t, cluster, shop)
			wanted := wish{Action: action, Ref: view.Ref{Kind: "Installation", Namespace: shop.Namespace, Name: "shop"}}
			var got said
			answer := v.post("/api/v1/actions", wanted)
			if answer.into(t, &got); answer.StatusCode != http.StatusOK || got.Message != test.said {
				t.Errorf("%s %s", answer.Status, answer.text)
			}
			after := annotations(t, cluster, shop)
			if after[lsv1alpha1.OperationAnnotation] != string(test.operation) || shop.DeletionTimestamp.IsZero() == (action == "delete") {
				t.Errorf("%+v", shop.ObjectMeta)
			}
		})
	}
}

func TestActionsOnPipelines(t *testing.T) {
	cluster := testkit.Server(t)
	v := serve(t, cluster, Options{}).local(t)
	for action, status := range map[string]int{"approve": 200, "reject": 200, "promote": 200, "retry": 409, "hold": 200, "release": 200} {
		t.Run(action, func(t *testing.T) {
			line := clitest.Line(t, cluster, cluster.Namespace(t))
			wanted := wish{
				Action: action, Environment: "production", Reason: "because",
				Ref: view.Ref{Kind: "Pipeline", Namespace: line.Namespace, Name: line.Name},
			}
			if answer := v.post("/api/v1/actions", wanted); answer.StatusCode != status || !strings.Contains(answer.text, `"message":`) {
				t.Errorf("%s %s", answer.Status, answer.text)
			}
			after := annotations(t, cluster, line)
			requests := pipeline.ReadRequests(after)
			decided := status == http.StatusOK && action != "hold" && action != "release"
			if decided != (len(requests) == 1) || decided && (string(requests[0].Action) != action || requests[0].Message != "because" ||
				requests[0].By == "" || requests[0].Revision != "1.3.0") {
				t.Errorf("%+v", requests)
			}
			if name, _ := (pipeline.UserHold{Environment: "production"}).Text(); (after[name] != "") != (action == "hold") {
				t.Errorf("%v", after)
			}
		})
	}
}

// A user with read access only gets the missing right named, and nothing happens.
func TestActionsAreDenied(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	line := clitest.Line(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	looks, blind := s.login(t, tokenFor(t, cluster, namespace, looking())), s.login(t, tokenFor(t, cluster, namespace))
	before := annotations(t, cluster, line)
	for action, what := range actions {
		if action == "force" {
			continue // The action makes no sense in this state, which is checked first.
		}
		for _, v := range []*visitor{looks, blind} {
			wanted := wish{Action: action, Ref: view.Ref{Kind: what.kind, Namespace: namespace, Name: "shop"}, Environment: "production"}
			if action == "release" {
				wanted.Environment = "" // Nothing is held, so nothing would be written.
			}
			var got problem
			answer := v.post("/api/v1/actions", wanted)
			answer.into(t, &got)
			if answer.StatusCode != http.StatusForbidden || !strings.HasPrefix(got.Command, "kubectl auth can-i ") ||
				!strings.HasSuffix(got.Command, " -n "+namespace) {
				t.Errorf("%s: %s %s", action, answer.Status, answer.text)
			}
		}
	}
	shop := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	if after := annotations(t, cluster, shop); after[lsv1alpha1.OperationAnnotation] != "" || !shop.DeletionTimestamp.IsZero() {
		t.Errorf("%+v", shop.ObjectMeta)
	}
	if after := annotations(t, cluster, line); len(after) != len(before) {
		t.Errorf("%v", after)
	}
}

// If an action needs several rights, the missing one is named.
func TestTheMissingRightIsNamed(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	line := clitest.Line(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	before := annotations(t, cluster, line)
	for has, lacks := range map[string]map[string]string{
		"approve": {"approve": "patch", "reject": "patch", "promote": "patch", "retry": "patch", "hold": "patch", "release": "patch"},
		"patch":   {"approve": "approve", "reject": "approve", "promote": "approve", "retry": "approve"},
	} {
		v := s.login(t, tokenFor(t, cluster, namespace, looking(), rule(has, "pipelines")))
		for action, verb := range lacks {
			var got problem
			answer := v.post("/api/v1/actions", wish{
				Action: action, Ref: view.Ref{Kind: "Pipeline", Namespace: namespace, Name: "shop"}, Environment: "production",
			})
			answer.into(t, &got)
			if answer.StatusCode != http.StatusForbidden || !strings.Contains(got.Message, "needs the right to "+verb+" pipelines") ||
				got.Command != "kubectl auth can-i "+verb+" pipelines."+pipelines.GroupName+" -n "+namespace {
				t.Errorf("%s with the right to %s: %s %s", action, has, answer.Status, answer.text)
			}
		}
	}
	if after := annotations(t, cluster, line); len(after) != len(before) {
		t.Errorf("%v", after)
	}
}

// A denial by a policy of the cluster is not attributed to a right that the user has.
func TestAPolicyRefuses(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	line := clitest.Line(t, cluster, namespace)
	frozen(t, cluster, line)
	v := serve(t, cluster, Options{}).local(t)
	for _, action := range []string{"approve", "hold"} {
		var got problem
		answer := v.post("/api/v1/actions", wish{
			Action: action, Ref: view.Ref{Kind: "Pipeline", Namespace: namespace, Name: "shop"}, Environment: "production",
		})
		answer.into(t, &got)
		if answer.StatusCode != http.StatusForbidden || !strings.Contains(got.Message, "the books are closed") || got.Command != "" ||
			strings.Contains(got.Message, "needs the right") {
			t.Errorf("%s: %s %s", action, answer.Status, answer.text)
		}
	}
}

// frozen creates a policy that denies every change of the pipelines in a namespace.
func frozen(t *testing.T, cluster *testkit.APIServer, line *pipelines.Pipeline) {
	t.Helper()
	name := metav1.ObjectMeta{Name: "frozen-" + line.Namespace}
	rule := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{pipelines.GroupName}, APIVersions: []string{"*"}, Resources: []string{"pipelines"}},
	}
	testkit.Create(t, cluster,
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules:     []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: line.Namespace}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "the books are closed", Reason: new(metav1.StatusReasonForbidden)}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}})
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/probe":"x"}}}`))
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsForbidden(cluster.Client().Patch(ctx, line.DeepCopy(), patch, client.DryRunAll)), nil
	})
	if err != nil {
		t.Fatalf("the policy is not in force: %v", err)
	}
}

func TestActionsThatMakeNoSense(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	clitest.Blog(t, cluster, namespace)
	clitest.Line(t, cluster, namespace)
	v := serve(t, cluster, Options{}).local(t)
	installation := func(name string) view.Ref { return view.Ref{Kind: "Installation", Namespace: namespace, Name: name} }
	line := view.Ref{Kind: "Pipeline", Namespace: namespace, Name: "shop"}
	for name, test := range map[string]struct {
		wish   wish
		status int
	}{
		"unknown":             {wish{Action: "explode", Ref: installation("shop")}, 422},
		"of another kind":     {wish{Action: "approve", Ref: installation("shop")}, 422},
		"without a name":      {wish{Action: "delete", Ref: installation("")}, 422},
		"nested":              {wish{Action: "delete", Ref: installation("shop-web")}, 422},
		"not there":           {wish{Action: "delete", Ref: installation("none")}, 404},
		"nothing runs":        {wish{Action: "interrupt", Ref: installation("blog")}, 409},
		"forced in jobs":      {wish{Action: "force", Ref: installation("blog")}, 409},
		"another environment": {wish{Action: "approve", Ref: line, Environment: "moon"}, 422},
		"another revision":    {wish{Action: "approve", Ref: line, Environment: "production", Revision: "0.1.0"}, 409},
		"held nowhere":        {wish{Action: "hold", Ref: line, Environment: "moon"}, 422},
		"a long story":        {wish{Action: "hold", Ref: line, Reason: strings.Repeat("a", maxReason+1)}, 422},
	} {
		if answer := v.post("/api/v1/actions", test.wish); answer.StatusCode != test.status || !strings.Contains(answer.text, `"message":`) {
			t.Errorf("%s: %s %s", name, answer.Status, answer.text)
		}
	}
}

func TestValuesNeedTheRightToReadThem(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	testkit.Create(t, cluster,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "login"}, StringData: map[string]string{"password": "swordfish"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sizes"}, Data: map[string]string{"large": "many"}},
		testkit.DataObject(namespace, "address", map[string]any{"port": 8080}).Build(),
		testkit.DataObject(namespace, "long", strings.Repeat("x", maxValue+1)).Build(),
		testkit.Target(namespace, "prod").Kubeconfig("swordfish").Build(),
	)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	may := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets", "configmaps")))
	mayNot := s.login(t, tokenFor(t, cluster, namespace, looking()))
	query := "?namespace=" + namespace + "&"
	for path, want := range map[string]string{
		"values" + query + "kind=Secret&name=login&key=password": `{"value":"swordfish","truncated":false}`,
		"values" + query + "kind=ConfigMap&name=sizes&key=large": `{"value":"many","truncated":false}`,
		"values" + query + "kind=DataObject&name=address":        `{"value":"port: 8080\n","truncated":false}`,
		"values" + query + "kind=DataObject&name=long":           `"truncated":true`,
		"values" + query + "kind=Secret&name=login&key=none":     "has no key",
		"values" + query + "kind=Target&name=prod":               "has no value",
		"values" + query + "kind=Node&name=prod":                 "is not shown here",
		"objects" + query + "kind=Secret&name=login":             `password: \u003cmasked\u003e`,
		"objects" + query + "kind=DataObject&name=address":       `data: \u003cmasked\u003e`,
		"objects" + query + "kind=Target&name=prod":              `config: \u003cmasked\u003e`,
		"objects" + query + "kind=Target&name=none":              "does not exist",
	} {
		answer := may.get("/api/v1/" + path)
		if !strings.Contains(answer.text, want) || strings.Contains(answer.text, "managedFields") {
			t.Errorf("%s: %s", path, answer.text)
		}
		if strings.HasPrefix(path, "objects") && strings.Contains(answer.text, "swordfish") {
			t.Errorf("%s shows the secret: %s", path, answer.text)
		}
		if !strings.Contains(path, "Secret") {
			continue
		}
		var refused problem
		denied := mayNot.get("/api/v1/" + path)
		if denied.into(t, &refused); denied.StatusCode != http.StatusForbidden ||
			refused.Command != "kubectl auth can-i get secrets -n "+namespace {
			t.Errorf("%s: %s %s", path, denied.Status, denied.text)
		}
	}
}

func TestDeletionSaysThatAnAnnotationLeavesWhatWasDeployed(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	left := testkit.Installation(namespace, "left").Build()
	left.Annotations = map[string]string{lsv1alpha1.DeleteWithoutUninstallAnnotation: "true"}
	testkit.Create(t, cluster, left)
	v := serve(t, cluster, Options{}).local(t)
	v.follow("installations/" + namespace + "/left").until(func(e event) bool {
		return strings.Contains(e.data, "Delete left and keep what it deployed?")
	})
	var got view.Preview
	v.get("/api/v1/preview?action=delete&kind=Installation&name=left&namespace="+namespace).into(t, &got)
	if !strings.Contains(got.Text, "stays where it is") || strings.Contains(got.Text, "uninstall") {
		t.Errorf("%+v", got)
	}
}

func TestPreviewOfADeletion(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	v := serve(t, cluster, Options{}).local(t)
	v.follow("overview").next() // This fills the mirror.
	var got view.Preview
	v.get("/api/v1/preview?action=delete&kind=Installation&name=shop&namespace="+namespace).into(t, &got)
	if len(got.Objects) < 4 || got.Objects[0].Name != "shop" || !strings.HasPrefix(got.Text, "Deletes shop and ") {
		t.Errorf("%+v", got)
	}
	if answer := v.get("/api/v1/preview?action=delete&kind=Installation&name=none&namespace=" + namespace); answer.StatusCode != http.StatusNotFound {
		t.Errorf("%s %s", answer.Status, answer.text)
	}
	if answer := v.get("/api/v1/preview?action=delete&kind=Pipeline&name=shop&namespace=" + namespace); answer.StatusCode != 422 {
		t.Errorf("%s %s", answer.Status, answer.text)
	}
	item := "/api/v1/logs?name=none&namespace=" + namespace
	if answer := v.get(item); answer.StatusCode != http.StatusNotFound {
		t.Errorf("%s %s", answer.Status, answer.text)
	}
}

func TestPreviewsOfOtherActions(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	clitest.Blog(t, cluster, namespace)
	clitest.Line(t, cluster, namespace)
	v := serve(t, cluster, Options{}).local(t)
	v.follow("overview").next() // This fills the mirror.
	ask := func(query string) view.Preview {
		var got view.Preview
		v.get("/api/v1/preview?"+query+"&namespace="+namespace).into(t, &got)
		return got
	}
	all := ask("action=delete&kind=Installation&name=shop")
	start := ask("action=reconcile&kind=Installation&name=shop")
	if len(start.Objects) != len(all.Objects) || !strings.Contains(start.Text, "starts when the running job, which works on") {
		t.Errorf("%+v", start)
	}
	stop := ask("action=interrupt&kind=Installation&name=shop")
	if len(stop.Objects) == 0 || len(stop.Objects) >= len(all.Objects) || !strings.Contains(stop.Text, "count as failed") {
		t.Errorf("%+v", stop)
	}
	if idle := ask("action=interrupt&kind=Installation&name=blog"); len(idle.Objects) != 0 || !strings.HasPrefix(idle.Text, "Nothing is running") {
		t.Errorf("%+v", idle)
	}
	if force := ask("action=force&kind=Installation&name=shop"); len(force.Objects) != len(all.Objects) || !strings.Contains(force.Text, "at once") {
		t.Errorf("%+v", force)
	}
	line := &pipelines.Pipeline{}
	if err := cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shop"}, line); err != nil {
		t.Fatal(err)
	}
	last := line.Spec.Environments[len(line.Spec.Environments)-1]
	for action, objects := range map[string]int{
		"promote": 1 + len(last.Targets), "approve": 1 + len(last.Targets), "retry": 1 + len(last.Targets), "reject": 1, "hold": 1, "release": 1,
	} {
		got := ask("action=" + action + "&kind=Pipeline&name=shop&revision=1.3.0&environment=" + last.Name)
		if len(got.Objects) != objects || !strings.Contains(got.Text, last.Name) {
			t.Errorf("%s: %+v", action, got)
		}
		decides := action != "hold" && action != "release"
		if said := got.Promotion; decides != (said != nil) || decides && (len(said.Targets) != len(last.Targets) || len(said.Then) == 0) {
			t.Errorf("%s says of the promotion: %+v", action, said)
		}
	}
}

// The preview of a decision is shown to everybody who may read the pipeline, and to nobody else, wherever the request names its namespace.
func TestPreviewsOfDecisionsNeedTheRightToReadThePipeline(t *testing.T) {
	cluster := testkit.Server(t)
	namespace, elsewhere := cluster.Namespace(t), cluster.Namespace(t)
	clitest.Line(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	may := s.login(t, tokenFor(t, cluster, namespace, looking()))
	mayNot := s.login(t, tokenFor(t, cluster, elsewhere, looking()))
	may.follow("pipelines/" + namespace + "/shop").until(func(e event) bool { return strings.Contains(e.data, `"exists":true`) })
	path := "/api/v1/preview?action=approve&kind=Pipeline&name=shop&environment=production&revision=1.3.0&namespace=" + namespace
	var got view.Preview
	if may.get(path).into(t, &got); got.Promotion == nil || got.Promotion.Environment != "production" {
		t.Errorf("%+v", got)
	}
	if answer := mayNot.get(path); answer.StatusCode != http.StatusForbidden || strings.Contains(answer.text, "1.3.0") {
		t.Errorf("%s %s", answer.Status, answer.text)
	}
}

// Rights to one object enable the buttons of its page, and of no other.
func TestRightsToOneObject(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	clitest.Blog(t, cluster, namespace)
	one := rule("patch", "installations")
	one.ResourceNames = []string{"shop"}
	v := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}}).login(t, tokenFor(t, cluster, namespace, looking(), one))
	for name, may := range map[string]bool{"shop": true, "blog": false} {
		e := v.follow("installations/" + namespace + "/" + name).next()
		var page view.Installation
		if err := json.Unmarshal([]byte(e.data), &page); err != nil {
			t.Fatal(err)
		}
		for _, action := range page.Actions {
			if want := may && action.ID != "delete"; (action.Denied == "") != want {
				t.Errorf("%s %s: %q", action.ID, name, action.Denied)
			}
		}
	}
}

const sized = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
jsonSchema: "https://json-schema.org/draft/2019-09/schema"
imports:
- name: size
  type: data
  schema: {type: integer}
exports:
- name: address
  type: data
  schema: {type: string}
deployExecutions:
- name: items
  type: GoTemplate
  template: |
    deployItems:
    - name: web
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, providerStatus: {size: {{ .imports.size }}}}
exportExecutions:
- name: exports
  type: GoTemplate
  template: "exports: {address: here}"
`

func TestBlueprints(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	blueprint := strings.Replace(sized, "jsonSchema: ", "jsonSchemaVersion: ", 1)
	mapped := testkit.Installation(namespace, "mapped").Blueprint(blueprint).Build()
	mapped.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"size": {Raw: []byte("3")}}
	testkit.Create(t, cluster,
		testkit.DataObject(namespace, "usual", 41).Build(),
		testkit.Installation(namespace, "shop").Blueprint(blueprint).ImportData("size", "usual").Build(),
		testkit.Installation(namespace, "far").BlueprintRef("blueprint").Component("example.com/far", "1.0.0").Build(),
		mapped,
	)
	v := serve(t, cluster, Options{}).local(t)
	var shown shownBlueprint
	v.get("/api/v1/blueprints?name=shop&namespace="+namespace).into(t, &shown)
	if len(shown.Imports) != 1 || shown.Imports[0].Name != "size" || shown.Imports[0].Type != "data" || len(shown.Exports) != 1 ||
		len(shown.Graph.Nodes) != 4 || len(shown.Graph.Edges) != 2 || !strings.Contains(shown.Source, "blueprint.yaml") {
		t.Errorf("%+v", shown)
	}
	for values, want := range map[string]string{"": "41", "size: 7": "size: 7", "size:": "41"} {
		var made rendering
		answer := v.post("/api/v1/render", trial{Namespace: namespace, Name: "shop", Values: values})
		if answer.into(t, &made); len(made.Items) == 0 || !strings.Contains(answer.text, want) {
			t.Errorf("%q: %s %s", values, answer.Status, answer.text)
		}
	}
	answer := v.post("/api/v1/render", trial{Namespace: namespace, Name: "mapped", Values: "size: 9"})
	if !strings.Contains(answer.text, "size: 9") {
		t.Errorf("a value that a mapping gives: %s %s", answer.Status, answer.text)
	}
	for name, bad := range map[string]trial{
		"no YAML": {namespace, "shop", "{"}, "no import": {namespace, "shop", "other: 1"}, "another type": {namespace, "shop", "size: large"},
		"no blueprint here": {namespace, "far", ""},
	} {
		if answer := v.post("/api/v1/render", bad); answer.StatusCode != 422 {
			t.Errorf("%s: %s %s", name, answer.Status, answer.text)
		}
	}
}
