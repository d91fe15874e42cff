// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/config/rbac"
	"espalier.dev/internal/tenancy"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/relay"
)

// ledger records the requests of the controllers to the API server, and as which user.
type ledger struct {
	mu sync.Mutex
	// tenants are the rights that requests for tenants need, as "verb resource", and own those that the controllers need themselves.
	tenants, own map[string]bool
	denied       []string
}

func (l *ledger) config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return clerk{l, next} })
	return config
}

type clerk struct {
	ledger *ledger
	next   http.RoundTripper
}

var resourcePath = regexp.MustCompile(`^/(?:api/v1|apis/([^/]+)/[^/]+)/(?:namespaces/[^/]+/)?([^/]+)(/[^/]+)?(/[^/]+)?$`)

// rightOf returns the right that a request needs.
func rightOf(request *http.Request) string {
	match := resourcePath.FindStringSubmatch(request.URL.Path)
	if match == nil {
		return request.Method + " " + request.URL.Path
	}
	verbs := map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
	verb := verbs[request.Method]
	if verb == "get" && match[3] == "" {
		verb = "list"
	}
	if request.URL.Query().Get("watch") == "true" {
		verb = "watch"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s%s.%s", verb, match[2], match[4], match[1]), ".")
}

func (c clerk) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	user := request.Header.Get("Impersonate-User")
	if user != "" {
		c.ledger.tenants[rightOf(request)] = true
		c.ledger.own["impersonate serviceaccounts"] = true
	} else {
		c.ledger.own[rightOf(request)] = true
	}
	if err == nil && response.StatusCode == http.StatusForbidden {
		c.ledger.denied = append(c.ledger.denied, user+": "+rightOf(request))
	}
	return response, err
}

// reviewed are rights that are checked by reviews: the objects themselves are read from caches.
var reviewed = []string{"get dataobjects.landscaper.gardener.cloud", "get targets.landscaper.gardener.cloud"}

// enforced are rights that API servers require only with the admission plugin OwnerReferencesPermissionEnforcement.
var enforced = []string{
	"update installations/finalizers.landscaper.gardener.cloud", "update executions/finalizers.landscaper.gardener.cloud",
}

// rare are rights of the controllers for situations that this test does not produce.
var rare = []string{
	"get contexts.landscaper.gardener.cloud", // a Context that was created together with its object, which the cache does not show yet
	"get namespaces",                         // a namespace that is being deleted: see TestANamespaceGoesWithoutItsRights
}

// streamed are rights for lists, which come with watches where the API server can do that.
var streamed = []string{"list contexts.landscaper.gardener.cloud", "list namespaces"}

// The controllers have their roles and that of strict tenancy, and the tenant the one for tenants. No request is denied, and no right of the
// latter two is unused.
func TestTheRolesAreEnoughAndNoneIsTooMuch(t *testing.T) {
	w := &tenant{managed.NewWorld(t, strictly)}
	w.Options.SystemNamespace = w.APIServer.Namespace(t)
	prod := w.GrantedNamespace(t, w.Namespace)
	w.Options.Namespaces = append(w.Options.Namespaces, prod)
	w.admit("default")
	w.grant("default", "maps", configMaps("get", "list", "watch", "create", "update", "patch", "delete"))
	w.letIn(prod)
	book := &ledger{tenants: map[string]bool{}, own: map[string]bool{}}
	w.ManageOver(book.config(w.controllers()))
	t.Run("workload", func(t *testing.T) {
		for name, do := range map[string]func(*tenant){
			"jobs":       (*tenant).jobs,
			"continuous": (*tenant).continuous,
			"syncs":      (*tenant).syncs,
			"promotions": func(w *tenant) { w.promotions(prod) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				own := *w.World.World
				own.T = t
				do(&tenant{&managed.World{World: &own, Options: w.Options}})
			})
		}
	})
	book.mu.Lock()
	defer book.mu.Unlock()
	for _, denied := range book.denied {
		t.Errorf("denied: %s", denied)
	}
	checkUsed(t, roles(t)[tenancy.RoleTenant], book.tenants, reviewed, enforced)
	checkUsed(t, roles(t)["espalier-tenancy"], book.own, rare, streamed)
}

// checkUsed requires that each right of a role is used, or known to be needed otherwise.
func checkUsed(t *testing.T, role []rbacv1.PolicyRule, used map[string]bool, otherwise ...[]string) {
	t.Helper()
	if len(role) == 0 {
		t.Fatal("the role has no rights")
	}
	for _, rule := range role {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				right := strings.TrimSuffix(verb+" "+resource+"."+rule.APIGroups[0], ".")
				if !used[right] && !slices.Contains(slices.Concat(otherwise...), right) {
					t.Errorf("nobody has used the right to %s", right)
				}
			}
		}
	}
}

// controllers returns the connection of a service account with the roles of all controllers and that of strict tenancy.
func (w *tenant) controllers() *rest.Config {
	w.Helper()
	system := w.Options.SystemNamespace
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "controllers"}}
	var rules []rbacv1.PolicyRule
	all, err := rbac.All()
	if err != nil {
		w.Fatal(err)
	}
	for _, role := range all {
		if role.File == rbac.ControllerFile || role.Name == "espalier-tenancy" {
			rules = append(rules, role.Rules...)
		}
	}
	w.Create(account, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: system}, Rules: rules}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: system},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: system},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: "controllers"}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := w.Client().SubResource("token").Create(w.Context(), account, request); err != nil {
		w.Fatal(err)
	}
	config := rest.AnonymousClientConfig(w.Config())
	config.BearerToken, config.QPS = request.Status.Token, -1
	return config
}

// letIn gives the tenant the rights of its Pipeline in the namespace of an application, and the service account there those of its
// Installation.
func (w *tenant) letIn(prod string) {
	w.Helper()
	for account, rules := range map[string][]rbacv1.PolicyRule{
		w.Namespace: {{APIGroups: []string{lsv1alpha1.GroupName}, Resources: []string{"installations"}, Verbs: []string{"patch"}}},
		prod:        roles(w)[tenancy.RoleTenant],
	} {
		name := "for-" + account
		w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: prod, Name: name}, Rules: rules}, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: prod, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account, Name: "default"}},
		})
	}
}

const (
	text = "type: data, schema: {type: string}"
	tree = header + `
imports:
- {name: size, ` + text + `}
- {name: password, ` + text + `}
- {name: note, ` + text + `}
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
exports: [{name: word, ` + text + `}, {name: way, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: bed
  imports: {data: [{name: size, dataRef: size}], targets: [{name: cluster, target: cluster}]}
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports:
        - {name: size, ` + text + `}
        - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
        deployExecutions: [{name: default, type: GoTemplate, template: "deployItems: []"}]
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    state: {count: {{ if .state }}2{{ else }}1{{ end }}}
    deployItems:
    - name: seed
      type: landscaper.gardener.cloud/mock
      config:
        apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        export: {seed: {{ .imports.size }}}
    - name: pot
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: cluster}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: pot, namespace: NAMESPACE}, data: {size: {{ .imports.size }}}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports:
      word: {{ .values.deployitems.seed.seed }}
      way: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {selfConfig: {serviceAccount: {name: {{ .values.deployitems.seed.seed }}}}}}
`
)

// jobs runs the life of a tree: it is created, changed, follows its imports and is deleted.
func (w *tenant) jobs() {
	w.Create(
		w.self("cluster", "default"), w.secret("login", "password", "s3cretword"), testkit.DataObject(w.Namespace, "size", "small").Build(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "note"}, Data: map[string]string{"text": "hello"}},
	)
	w.Create(testkit.Installation(w.Namespace, "app").Blueprint(strings.ReplaceAll(tree, "NAMESPACE", w.Namespace)).
		ImportData("size", "size").ImportSecret("password", "login", "password").ImportConfigMap("note", "note", "text").
		ImportTarget("cluster", "cluster").ExportData("word", "word").ExportTarget("way", "way").Reconcile().Build())
	succeeds(w, w.installation("app"))
	w.Patch(testkit.DataObject(w.Namespace, "size", "").Build(), `{"data":"large"}`)
	w.Annotate(w.installation("app"), lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
	testkit.Eventually(w.T, w.APIServer, testkit.DataObject(w.Namespace, "word", "").Build(),
		testkit.Is("changed", func(d *lsv1alpha1.DataObject) bool { return string(d.Data.Raw) == `"large"` }), testkit.Within(limit))
	succeeds(w, w.installation("app"))
	pot := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pot"}}
	if !w.Read(pot) || pot.Data["size"] != "large" {
		w.Errorf("the pot has %v", pot.Data)
	}
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowContinuous, lsv1alpha1.FlowJob} {
		w.Patch(w.installation("app"), fmt.Sprintf(`{"spec":{"flow":%q}}`, flow))
		testkit.Eventually(w.T, w.APIServer, testkit.Execution(w.Namespace, "app").Build(),
			testkit.Is("converted", func(e *lsv1alpha1.Execution) bool { return e.Spec.Flow == flow }), testkit.Within(limit))
		testkit.Eventually(w.T, w.APIServer, w.installation("app"), testkit.Is("at rest", func(i *lsv1alpha1.Installation) bool {
			return i.Status.Phase == lsv1alpha1.PhaseSucceeded && i.Status.ObservedGeneration == i.Generation
		}), testkit.Within(limit))
	}
	w.Delete(w.installation("app"))
	testkit.EventuallyGone(w.T, w.APIServer, w.installation("app"), testkit.Within(limit))
	if w.Read(pot) {
		w.Error("the pot is still there")
	}
}

// continuous runs an installation that follows its imports.
func (w *tenant) continuous() {
	w.Create(testkit.DataObject(w.Namespace, "water", "little").Build(),
		testkit.Installation(w.Namespace, "lawn").Blueprint(importing).ImportData("word", "water").Continuous().Build())
	testkit.Eventually(w.T, w.APIServer, w.installation("lawn"), testkit.Is("at rest", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseSucceeded
	}), testkit.Within(limit))
	w.Delete(w.installation("lawn"))
	testkit.EventuallyGone(w.T, w.APIServer, w.installation("lawn"), testkit.Within(limit))
}

// syncs creates Targets from the Secrets in another namespace, which has another address.
func (w *tenant) syncs() {
	source := w.APIServer.Namespace(w.T)
	plain, err := rest.TransportFor(w.Config())
	if err != nil {
		w.Fatal(err)
	}
	front, err := relay.NewFront(w.Config().Host, plain)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(front.Close)
	kubeconfig, err := front.Kubeconfig()
	if err != nil {
		w.Fatal(err)
	}
	original := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: source, Name: "copied"}, StringData: map[string]string{"kubeconfig": "of a"},
	}
	w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: source, Name: "front"}}, original,
		w.secret("source", "kubeconfig", kubeconfig))
	sync := &lsv1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "sync"}, Spec: lsv1alpha1.TargetSyncSpec{
		SourceNamespace: source, SecretRef: lsv1alpha1.LocalSecretReference{Name: "source", Key: "kubeconfig"},
		SecretNameExpression: "*", TokenRotation: &lsv1alpha1.TokenRotation{Enabled: true},
	}}
	w.Create(sync)
	copied := testkit.Target(w.Namespace, "copied").Build()
	testkit.Eventually(w.T, w.APIServer, copied, testkit.Is("there", func(*lsv1alpha1.Target) bool { return true }), testkit.Within(limit))
	w.Patch(original, `{"stringData":{"kubeconfig":"another"}}`)
	testkit.Eventually(w.T, w.APIServer, w.secret("copied", "", ""), testkit.Is("another", func(c *corev1.Secret) bool {
		return string(c.Data["kubeconfig"]) == "another"
	}), testkit.Within(limit))
	w.Patch(copied, `{"spec":{"secretRef":{"key":"wrong"}}}`)
	testkit.Eventually(w.T, w.APIServer, copied, testkit.Is("set right", func(t *lsv1alpha1.Target) bool {
		return t.Spec.SecretRef.Key == "kubeconfig"
	}), testkit.Within(limit))
	w.Delete(sync)
	testkit.EventuallyGone(w.T, w.APIServer, sync, testkit.Within(limit))
}

// promotions changes the Installation of another namespace, which has granted that to the pipelines of this one.
func (w *tenant) promotions(prod string) {
	w.promoted(w.promoting(prod))
}

// promoting creates a Pipeline from this namespace to another one, with a revision to promote.
func (w *tenant) promoting(prod string) *pipelines.Pipeline {
	w.Helper()
	for namespace, version := range map[string]string{w.Namespace: "1.1.0", prod: "1.0.0"} {
		inst := testkit.Installation(namespace, "shop").Blueprint(header+"imports: [{name: version, "+text+"}]\n").
			MapImport("version", version).Continuous().Build()
		inst.Spec.RevisionField = "importDataMappings.version"
		w.Create(inst)
	}
	line := testkit.Pipeline(w.Namespace, "line").App("landscaper.gardener.cloud/v1alpha1", "Installation", "shop").
		Environment("dev", w.Namespace).Environment("prod", prod).Build()
	line.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	w.Create(line)
	return line
}

// promoted waits until the revision has arrived.
func (w *tenant) promoted(line *pipelines.Pipeline) {
	w.Helper()
	arrived := func(p *pipelines.Pipeline) bool {
		promotion := p.Status.Environments["prod"].Promotion
		return promotion != nil && promotion.Revision == "1.1.0" && promotion.State == pipelines.PromotionComplete
	}
	testkit.Eventually(w.T, w.APIServer, line, testkit.Is("promoted", arrived), testkit.Within(limit))
}

// Without the right to change the application, a promotion does not start, with or without a grant, and says which right is missing.
func TestAPromotionNeedsTheRightToChangeItsApplication(t *testing.T) {
	w := &tenant{managed.NewWorld(t, strictly, managed.SystemNamespace)}
	prod := w.GrantedNamespace(t, w.Namespace)
	w.Options.Namespaces = append(w.Options.Namespaces, prod)
	w.admit("default")
	other := &tenant{&managed.World{World: testkit.WorldOn(t, w.APIServer), Options: w.Options}}
	other.Namespace = prod
	other.admit("default")
	w.Manage()
	line := w.promoting(prod)
	says := func(p *pipelines.Pipeline) bool {
		promotion := p.Status.Environments["prod"].Promotion
		return promotion != nil && promotion.Error != nil && strings.Contains(promotion.Error.Message,
			"the service account "+w.Namespace+"/default may not patch installations.landscaper.gardener.cloud in namespace "+prod)
	}
	testkit.Eventually(t, w.APIServer, line, testkit.Is("refused", says), testkit.Within(limit))
	w.letIn(prod)
	w.promoted(line)
}
