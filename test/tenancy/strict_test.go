// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/tenancy"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

func parse(w *tenant, text string) map[string]any {
	w.Helper()
	object := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		w.Fatal(err)
	}
	return object
}

const (
	header = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"
	// seed is a blueprint with one deploy item that deploys nothing.
	seed = header + `
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: seed
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, export: {word: hello}}
`
	// importing is the same, and imports a word.
	importing = seed + "imports: [{name: word, type: data, schema: {type: string}}]\n"
)

// Nothing is done for a namespace that its service account may not do. The message names what is missing; once that is granted, the job
// continues.
func TestAnInstallationWithoutRightsSaysWhichAreMissing(t *testing.T) {
	w := newTenant(t)
	w.Create(testkit.Installation(w.Namespace, "app").Blueprint(seed).Reconcile().Build())
	complains(w, w.installation("app"),
		"the service account "+w.Namespace+"/default may not create executions.landscaper.gardener.cloud in namespace "+w.Namespace,
		"kubectl create rolebinding espalier-tenant --clusterrole=espalier-tenant --serviceaccount="+w.Namespace+":default --namespace="+w.Namespace)
	if w.Read(testkit.Execution(w.Namespace, "app").Build()) {
		t.Error("there is an execution")
	}
	var found lsv1alpha1.Installation
	found.Namespace, found.Name = w.Namespace, "app"
	w.Read(&found)
	if e := found.Status.LastError; e.Reason != tenancy.ReasonRightMissing || found.Status.Phase.IsFinal() {
		t.Errorf("phase %s, error %+v", found.Status.Phase, e)
	}

	w.admit("default")
	succeeds(w, w.installation("app"))
	w.Delete(w.installation("app"))
	testkit.EventuallyGone(t, w.APIServer, w.installation("app"), testkit.Within(limit))
}

// A job whose service account lacks one of many rights stops where it needs that right, and nowhere before.
func TestTheRightThatIsMissingIsNamed(t *testing.T) {
	w := newTenant(t)
	w.grant("default", "most", without(roles(t)[tenancy.RoleTenant], "secrets", "create"))
	w.Create(testkit.Installation(w.Namespace, "app").Blueprint(seed).Reconcile().Build())
	var items lsv1alpha1.DeployItemList
	execution := testkit.Execution(w.Namespace, "app").Build()
	testkit.Eventually(t, w.APIServer, execution, testkit.Is("items made", func(e *lsv1alpha1.Execution) bool {
		err := w.Client().List(w.Context(), &items, client.InNamespace(w.Namespace))
		return err == nil && len(items.Items) == 1
	}), testkit.Within(limit))
	complains(w, &items.Items[0], "the service account "+w.Namespace+"/default may not create secrets in namespace "+w.Namespace)
	w.admit("default")
	succeeds(w, w.installation("app"))
}

// In strict tenancy, a Target for the cluster itself has no rights that its namespace does not have.
func TestASelfTargetCannotDoWhatItsTenantMayNot(t *testing.T) {
	w := newTenant(t)
	w.admit("default")
	w.grant("default", "maps", configMaps("get", "create", "patch", "update", "delete", "list", "watch"))
	other := w.APIServer.Namespace(t)
	w.Create(w.self("self", "default"))
	elsewhere := w.applying("elsewhere", "self", "{apiVersion: v1, kind: ConfigMap, metadata: {name: pot, namespace: "+other+"}}")
	everywhere := w.applying("everywhere", "self",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+w.Namespace+"}}")
	here := w.applying("here", "self", "{apiVersion: v1, kind: ConfigMap, metadata: {name: pot, namespace: "+w.Namespace+"}}")
	complains(w, elsewhere, "the service account "+w.Namespace+"/default may not", "configmaps in namespace "+other)
	complains(w, everywhere, "the service account "+w.Namespace+"/default may not", "clusterroles.rbac.authorization.k8s.io at the cluster scope")
	succeeds(w, here)
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "pot"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}},
	} {
		if w.Read(object) {
			t.Errorf("there is a %T", object)
		}
	}
}

// Acting as another service account requires a separate right: to create its token.
func TestASelfTargetOfAnotherAccountNeedsItsToken(t *testing.T) {
	w := newTenant(t)
	w.admit("default")
	w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "powerful"}})
	w.grant("powerful", "everything", []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}})
	w.Create(w.self("self", "powerful"))
	item := w.applying("item", "self", "{apiVersion: v1, kind: ConfigMap, metadata: {name: pot, namespace: "+w.Namespace+"}}")
	complains(w, item, "the service account "+w.Namespace+"/default,", "may not create a token for the service account "+w.Namespace+"/powerful")
	w.grant("default", "tokens", []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{"powerful"}, Verbs: []string{"create"},
	}})
	succeeds(w, item)
}

// What one service account may read is not passed to another one, whether it is cached or not.
func TestAnImportIsReadWithTheRightsOfTheTenant(t *testing.T) {
	w := newTenant(t)
	w.admit("rich")
	poor := without(without(roles(t)[tenancy.RoleTenant], "secrets", "get", "list"), "targets", "get")
	w.grant("default", "poor", poor)
	w.Create(
		testkit.Context(w.Namespace, "rich").Configuration(tenancy.ServiceAccountKey, "rich").Build(),
		w.secret("login", "word", "s3cretword"),
		testkit.Target(w.Namespace, "cluster").Kubeconfig("not looked at").Build(),
	)
	wanting := func(name, context string) *lsv1alpha1.Installation {
		return testkit.Installation(w.Namespace, name).Blueprint(importing).Context(context).ImportSecret("word", "login", "word").Reconcile().Build()
	}
	w.Create(wanting("first", ""))
	first := complains(w, w.installation("first"), "the service account "+w.Namespace+"/default may not get secrets in namespace "+w.Namespace)
	w.Create(wanting("rich", "rich"))
	succeeds(w, w.installation("rich"))
	// The controller has cached the content by now.
	w.Create(wanting("second", ""))
	second := complains(w, w.installation("second"), "the service account "+w.Namespace+"/default may not get secrets in namespace "+w.Namespace)
	if strings.Contains(first+second, "s3cretword") {
		t.Error("the error shows the secret")
	}
	w.Create(testkit.Installation(w.Namespace, "third").Blueprint(seed+
		"imports: [{name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]\n").
		ImportTarget("cluster", "cluster").Reconcile().Build())
	complains(w, w.installation("third"), "the service account "+w.Namespace+"/default may not get targets.landscaper.gardener.cloud")
}

// A Context names only a service account of its own namespace.
func TestAContextNamesNoAccountOfAnotherNamespace(t *testing.T) {
	w := newTenant(t)
	for name, value := range map[string]any{
		"colon": "kube-system:default", "slash": "kube-system/default", "user": "system:serviceaccount:kube-system:default",
		"empty": "", "number": 5, "object": map[string]any{"name": "default"},
	} {
		w.Create(
			testkit.Context(w.Namespace, name).Configuration(tenancy.ServiceAccountKey, value).Build(),
			testkit.Installation(w.Namespace, name).Blueprint(seed).Context(name).Reconcile().Build(),
		)
		message := complains(w, w.installation(name),
			`configurations["espalier.dev/serviceAccountName"] of Context `+w.Namespace+"/"+name+" must be the name of a service account in the namespace "+w.Namespace)
		if strings.Contains(message, "kube-system") {
			t.Errorf("the error quotes the value: %s", message)
		}
		if w.Read(testkit.Execution(w.Namespace, name).Build()) {
			t.Errorf("%s: there is an execution", name)
		}
	}
	// Neither its deletion nor its repair requires a new job.
	w.Delete(w.installation("colon"))
	testkit.EventuallyGone(t, w.APIServer, w.installation("colon"), testkit.Within(limit))
	w.admit("default")
	w.Patch(testkit.Context(w.Namespace, "slash").Build(), `{"configurations":{"`+tenancy.ServiceAccountKey+`":"default"}}`)
	succeeds(w, w.installation("slash"))
}

// If the service account of a Context is missing, that of the namespace is used.
func TestTheContextChoosesTheAccount(t *testing.T) {
	w := newTenant(t)
	w.admit("worker")
	w.Create(testkit.Context(w.Namespace, "own").Configuration(tenancy.ServiceAccountKey, "worker").Build(),
		testkit.Installation(w.Namespace, "app").Blueprint(seed).Context("own").Reconcile().Build())
	succeeds(w, w.installation("app"))
	w.Create(testkit.Installation(w.Namespace, "other").Blueprint(seed).Reconcile().Build())
	complains(w, w.installation("other"), "the service account "+w.Namespace+"/default may not")
}

// The rights of a namespace that is being deleted are deleted first. That must not prevent its deletion.
func TestANamespaceGoesWithoutItsRights(t *testing.T) {
	w := newTenant(t)
	w.admit("default")
	w.Create(testkit.Installation(w.Namespace, "app").Blueprint(seed).Reconcile().Build())
	succeeds(w, w.installation("app"))
	var items lsv1alpha1.DeployItemList
	if err := w.Client().List(t.Context(), &items, client.InNamespace(w.Namespace)); err != nil || len(items.Items) != 1 {
		t.Fatal(err, len(items.Items))
	}
	sync := &lsv1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "sync"}, Spec: lsv1alpha1.TargetSyncSpec{
		SourceNamespace: "anywhere", SecretRef: lsv1alpha1.LocalSecretReference{Name: "missing", Key: "kubeconfig"}, SecretNameExpression: "*",
	}}
	w.Create(sync)
	testkit.Eventually(t, w.APIServer, sync, testkit.Is("held", func(ts *lsv1alpha1.TargetSync) bool { return len(ts.Finalizers) > 0 }),
		testkit.Within(limit))
	w.Delete(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "tenant-default"}})
	w.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
	objects := []client.Object{w.installation("app"), testkit.Execution(w.Namespace, "app").Build(), &items.Items[0], sync}
	for _, object := range objects {
		if err := w.Client().Delete(t.Context(), object); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	for _, object := range objects {
		testkit.EventuallyGone(t, w.APIServer, object, testkit.Within(limit))
	}
}

// Pods run in the namespace of the tenant, so the tenant's right to create them is required.
func TestPodsAreCreatedAsTheTenant(t *testing.T) {
	w := newTenant(t)
	w.admit("default")
	item := testkit.DeployItem(w.Namespace, "run").Config(lsv1alpha1.DeployItemTypeContainer, map[string]any{
		"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration", "image": "shop",
	}).Build()
	w.Create(item)
	w.SetStatus(item, map[string]any{"jobID": "first"})
	complains(w, item, "the service account "+w.Namespace+"/default may not create pods in namespace "+w.Namespace,
		"kubectl create rolebinding espalier-tenant-containers --clusterrole=espalier-tenant-containers")
	w.grant("default", "pods", roles(t)[tenancy.RoleTenantContainers])
	testkit.Eventually(t, w.APIServer, item, testkit.Is("pod made", func(*lsv1alpha1.DeployItem) bool {
		var pods corev1.PodList
		return w.Client().List(w.Context(), &pods, client.InNamespace(w.Namespace)) == nil && len(pods.Items) == 1
	}), testkit.Within(limit))
}

// In shared tenancy only the controllers need rights, and the service account of a Context has no effect.
func TestSharedTenancyAsksForNoRights(t *testing.T) {
	w := &tenant{managed.NewWorld(t, managed.SystemNamespace)}
	w.Manage()
	w.Create(
		testkit.Context(w.Namespace, "own").Configuration(tenancy.ServiceAccountKey, "kube-system:nobody").Build(),
		w.secret("login", "word", "hello"),
		testkit.Installation(w.Namespace, "app").Blueprint(importing).Context("own").ImportSecret("word", "login", "word").Reconcile().Build(),
	)
	succeeds(w, w.installation("app"))
}
