// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gitops "espalier.dev/api/gitops/v1alpha1"
	"espalier.dev/config/rbac"
	"espalier.dev/internal/definitions"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/rights"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/version"
	"espalier.dev/internal/web"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var root = filepath.Join("..", "..")

// estate is a cluster in which all parts of Espalier run, each with its own service account.
type estate struct {
	*testkit.APIServer
	// system is the namespace of the service accounts, leases and keys.
	system string
	// traffic records the requests of each part to the API server, by the name of its role.
	traffic map[string]*faults.Transport
	// approvals and pages are the addresses of the servers.
	approvals, pages string
	// ending is a namespace that the test deletes. Nothing can be created in it, which the API server also calls forbidden.
	ending string
	// named are the only namespaces that are processed, and in which roles are bound; none means all.
	named []string
}

// newEstate binds all roles, and runs nothing yet.
func newEstate(t *testing.T, server *testkit.APIServer) *estate {
	t.Helper()
	e := &estate{APIServer: server, traffic: map[string]*faults.Transport{}}
	e.system = e.Namespace(t)
	e.ending = e.Namespace(t)
	testkit.Create(t, e.APIServer, e.roles(t)...)
	return e
}

// roles returns those of config/rbac.
func (e *estate) roles(t *testing.T) []client.Object {
	t.Helper()
	all, err := rbac.All()
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, role := range all {
		if role.Namespaced {
			objects = append(objects, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: e.system, Name: role.Name}, Rules: role.Rules})
			continue
		}
		objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Rules: role.Rules})
	}
	return objects
}

// define installs our CRDs over the existing ones, one of which is missing.
func (e *estate) define(t *testing.T) {
	t.Helper()
	missing := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "gitopsclusters." + gitops.GroupName}}
	if err := e.Client().Delete(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyGone(t, e.APIServer, missing)
	options := definitions.Options{Owner: "espalier-controller", Version: version.Get().Version}
	if _, err := definitions.Install(t.Context(), e.account(t, "definitions"), options); err != nil {
		t.Fatal(err)
	}
}

// account creates a service account for a role, and returns its connection.
func (e *estate) account(t *testing.T, role string) *rest.Config {
	t.Helper()
	user := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.system, Name: role}}
	testkit.Create(t, e.APIServer, user)
	given := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rights.Prefix + role}
	for _, namespace := range e.named {
		e.bind(t, namespace, given, role)
	}
	if len(e.named) == 0 {
		testkit.Create(t, e.APIServer, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: e.system + "-" + role}, RoleRef: given, Subjects: []rbacv1.Subject{e.subject(role)},
		})
	}
	request := &authenticationv1.TokenRequest{}
	if err := e.Client().SubResource("token").Create(t.Context(), user, request); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(e.Config())
	config.BearerToken, config.QPS = request.Status.Token, -1
	e.traffic[role] = faults.New(faults.Plan{})
	return e.traffic[role].Config(config)
}

func (e *estate) subject(role string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: e.system, Name: role}
}

// bind binds a role to service accounts in a namespace.
func (e *estate) bind(t *testing.T, namespace string, role rbacv1.RoleRef, accounts ...string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name}, RoleRef: role}
	for _, account := range accounts {
		binding.Subjects = append(binding.Subjects, e.subject(account))
	}
	testkit.Create(t, e.APIServer, binding)
}

// run runs everything until the test ends.
func (e *estate) run(t *testing.T) {
	t.Helper()
	e.define(t)
	e.approvals = testkit.FreeAddress(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	var accounts []string
	for _, controller := range manager.Controllers() {
		accounts = append(accounts, controller.Name)
	}
	e.bind(t, e.system, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rights.Prefix + "leader-election"}, accounts...)
	for _, name := range accounts {
		options := e.options(t, name)
		options.Pipelines.ApprovalAddress, options.Pipelines.EventsAddress = e.approvals, receiver.URL
		testkit.Run(t, managed.Manager(t, e.account(t, name), options).Start)
	}
	e.serve(t)
}

// options returns the options of a process that runs one controller, as in a cluster with several replicas.
func (e *estate) options(t *testing.T, controller string) manager.Options {
	t.Helper()
	options := managed.Options()
	options.Controllers = []string{controller}
	options.SystemNamespace, options.Namespaces = e.system, e.named
	options.Registries.CacheDirectory = t.TempDir()
	options.Pipelines.PollInterval = time.Second
	options.DeployerIdentity = controller // gives each its own lease
	// No leader may lose its lease on a busy machine.
	options.LeaderElection = manager.LeaderElection{
		Enabled: true, Namespace: e.system, LeaseDuration: time.Hour, RenewDeadline: 30 * time.Minute, RetryPeriod: time.Second,
	}
	return options
}

// serve runs the web UI.
func (e *estate) serve(t *testing.T) {
	t.Helper()
	server, err := web.New(web.Options{
		Config: e.account(t, "ui"), Mode: web.Cluster, Hosts: []string{"127.0.0.1"}, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := testkit.Serve(t, server.Serve)
	e.pages = "http://" + address.String()
}
