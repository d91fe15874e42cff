// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/config/admission"
	"espalier.dev/config/rbac"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	system  = "espalier-system"
	account = "espalier-controller"
)

// estate is a cluster with an installation of Espalier.
type estate struct {
	*testing.T
	server *testkit.APIServer
	// namespace is one of users.
	namespace string
}

// newEstate installs everything. Nothing runs: Deployments say what they are told.
func newEstate(t *testing.T) *estate {
	t.Helper()
	e := &estate{T: t, server: testkit.NewServer(t, testkit.ProjectCRDs())}
	e.namespace = e.server.Namespace(t)
	testkit.Create(t, e.server, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: account}})
	roles, err := rbac.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		e.bind(role)
	}
	deployment := deploymentOf(system, "espalier-controller", "registry.example.com:5000/espalier/espalier-controller:v1@sha256:1234")
	testkit.Create(t, e.server, deployment)
	e.setAvailable(deployment, 1)
	testkit.Create(t, e.server, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "espalier-controller"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("pod-1"), LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: clitest.Now()},
		},
	})
	return e
}

// bind gives the account a role.
func (e *estate) bind(role rbac.Role) {
	e.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: account}}
	meta := metav1.ObjectMeta{Name: role.Name}
	if role.Namespaced {
		meta.Namespace = system
		testkit.Create(e.T, e.server, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}, &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		})
		return
	}
	testkit.Create(e.T, e.server, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	})
}

func deploymentOf(namespace, name, image string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
			},
		},
	}
}

func (e *estate) setAvailable(deployment *appsv1.Deployment, pods int32) {
	e.Helper()
	deployment.Status = appsv1.DeploymentStatus{Replicas: pods, ReadyReplicas: pods, AvailableReplicas: pods}
	if err := e.server.Client().Status().Update(e.Context(), deployment); err != nil {
		e.Fatal(err)
	}
}

// change reads an object and writes it back changed.
func change[T client.Object](e *estate, object T, do func(T)) {
	e.Helper()
	if err := e.server.Client().Get(e.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		e.Fatal(err)
	}
	do(object)
	if err := e.server.Client().Update(e.Context(), object); err != nil {
		e.Fatal(err)
	}
}

func (e *estate) check(t *testing.T, args ...string) (clitest.Result, check.Report) {
	t.Helper()
	result := clitest.Run(t, e.server, e.namespace, clitest.Call{Command: check.New, Args: append(args, "-o", "json")})
	var report check.Report
	if err := json.Unmarshal([]byte(result.Stdout), &report); err != nil {
		t.Fatalf("%v: %s%s", err, result.Stdout, result.Stderr)
	}
	return result, report
}

// wants fails unless there is exactly one finding, and it is this one.
func wants(t *testing.T, report check.Report, want check.Finding) {
	t.Helper()
	if len(report.Findings) != 1 {
		t.Fatalf("the findings are %+v", report.Findings)
	}
	got := report.Findings[0]
	if got.Level != want.Level || got.Check != want.Check || got.Object != want.Object || !strings.Contains(got.Message, want.Message) ||
		!strings.Contains(strings.Join(got.Next, "\n"), want.Next[0]) {
		t.Errorf("found %+v\nwant %+v", got, want)
	}
}

// Each thing that is wrong is found, alone, and nothing is found where nothing is wrong.
func TestWhatIsWrongIsFound(t *testing.T) {
	e := newEstate(t)
	result := clitest.Run(t, e.server, e.namespace, clitest.Call{Command: check.New})
	if result.Code != cli.ExitOK || !strings.Contains(result.Stdout, "Errors: 0, warnings: 0, unknown: 0") ||
		strings.Count(result.Stdout, "ok  ") != 9 {
		t.Fatalf("of an installation without fault it is said, with exit code %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	for name, test := range faults(e) {
		t.Run(name, func(t *testing.T) {
			mend := test.damage()
			result, report := e.check(t)
			mend()
			wants(t, report, test.want)
			wantCode := cli.ExitOK
			if test.want.Level == check.Wrong {
				wantCode = cli.ExitNeedsSomebody
			}
			if result.Code != wantCode {
				t.Errorf("the exit code is %d", result.Code)
			}
		})
	}
	if _, report := e.check(t); len(report.Findings) != 0 {
		t.Errorf("in the end, there is %+v", report.Findings)
	}
}

type fault struct {
	damage func() (mend func())
	want   check.Finding
}

func faults(e *estate) map[string]fault {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "espalier-controller"}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "espalier-controller"}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "espalier-pipelines"}}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "targetsyncs.landscaper.gardener.cloud"}}
	return map[string]fault{
		"scaled to zero": {
			func() func() {
				change(e, deployment, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) })
				return func() { change(e, deployment, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) }) }
			},
			check.Finding{
				Level: check.Wrong, Check: "controllers", Object: "Deployment espalier-system/espalier-controller", Message: "scaled to zero",
				Next: []string{"scale deployment/espalier-controller --replicas 1"},
			},
		},
		"a lease that is not renewed": {
			func() func() {
				renewed := func(at time.Time) {
					change(e, lease, func(l *coordinationv1.Lease) { l.Spec.RenewTime = &metav1.MicroTime{Time: at} })
				}
				renewed(clitest.Ago(5 * time.Minute))
				return func() { renewed(clitest.Now()) }
			},
			check.Finding{
				Level: check.Wrong, Check: "controllers", Object: "Lease espalier-system/espalier-controller", Message: "by pod-1 5m0s ago",
				Next: []string{"get pods"},
			},
		},
		"a role that is not bound": {
			func() func() {
				change(e, binding, func(b *rbacv1.ClusterRoleBinding) { b.Subjects[0].Name = "nobody" })
				e.eventually(e.T, "a lack of rights", func(found []check.Finding) bool { return len(found) > 0 })
				return func() {
					change(e, binding, func(b *rbacv1.ClusterRoleBinding) { b.Subjects[0].Name = account })
					e.eventually(e.T, "all rights again", func(found []check.Finding) bool { return len(found) == 0 })
				}
			},
			check.Finding{
				Level: check.Wrong, Check: "rights of the controllers", Object: "ServiceAccount espalier-system/espalier-controller",
				Message: "lacks rights of the role espalier-pipelines", Next: []string{"create clusterrolebinding espalier-pipelines"},
			},
		},
		"an older definition": {
			func() func() {
				properties := func(d *apiextensionsv1.CustomResourceDefinition) map[string]apiextensionsv1.JSONSchemaProps {
					return d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
				}
				var taken apiextensionsv1.JSONSchemaProps
				change(e, definition, func(d *apiextensionsv1.CustomResourceDefinition) {
					taken = properties(d)["tokenRotation"]
					delete(properties(d), "tokenRotation")
				})
				return func() {
					change(e, definition, func(d *apiextensionsv1.CustomResourceDefinition) { properties(d)["tokenRotation"] = taken })
				}
			},
			check.Finding{
				Level: check.Wrong, Check: "CRDs", Object: "CustomResourceDefinition targetsyncs.landscaper.gardener.cloud",
				Message: "lacks the fields spec.tokenRotation", Next: []string{"crds.yaml"},
			},
		},
		"somebody else's controller": {
			func() func() {
				other := deploymentOf(e.namespace, "landscaper", "example.com/landscaper/images/landscaper-controller:v0.142.0")
				testkit.Create(e.T, e.server, other)
				return e.deletes(other)
			},
			check.Finding{
				Level: check.Wrong, Check: "other controllers", Object: "Deployment <namespace>/landscaper",
				Message: "works on the same objects", Next: []string{"scale deployment/landscaper --replicas 0"},
			},
		},
		"a webhook that is left": {
			func() func() {
				left := leftWebhook()
				testkit.Create(e.T, e.server, left)
				return e.deletes(left)
			},
			check.Finding{
				Level: check.Doubtful, Check: "other controllers", Object: "ValidatingWebhookConfiguration left", Message: "intercepts every change",
				Next: []string{"kubectl delete validatingwebhookconfiguration left"},
			},
		},
		"a type without a deployer": {
			func() func() {
				item := testkit.DeployItem(e.namespace, "odd").Config("example.com/odd", map[string]any{"apiVersion": "example.com/v1", "kind": "Odd"}).Build()
				item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit)
				clitest.Store(e.T, e.server, item)
				return e.deletes(item)
			},
			check.Finding{
				Level: check.Doubtful, Check: "deployers", Object: "DeployItem <namespace>/odd", Message: "type example.com/odd",
				Next: []string{"install a deployer"},
			},
		},
		"an approval that anybody may give": {
			func() func() {
				guarded := guardedLine(e.namespace)
				testkit.Create(e.T, e.server, guarded)
				return e.deletes(guarded)
			},
			check.Finding{
				Level: check.Doubtful, Check: "pipelines", Object: "ValidatingAdmissionPolicy espalier-approvals",
				Message: "can approve its promotions, in any name: for example those of <namespace>/guarded", Next: []string{"docs/approvals.md"},
			},
		},
		"an installation that has failed": {
			func() func() {
				failed := testkit.Installation(e.namespace, "blog").Build()
				failed.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("TemplateError", "line 3: there is no import \"size\""))
				clitest.Store(e.T, e.server, failed)
				return e.deletes(failed)
			},
			check.Finding{
				Level: check.Doubtful, Check: "installations", Object: "Installation <namespace>/blog", Message: "line 3", Next: []string{"reconcile"},
			},
		},
	}
}

func (e *estate) deletes(object client.Object) func() {
	return func() {
		e.Helper()
		if err := e.server.Client().Delete(e.Context(), object); err != nil {
			e.Fatal(err)
		}
		testkit.EventuallyGone(e.T, e.server, object)
	}
}

func leftWebhook() *admissionv1.ValidatingWebhookConfiguration {
	none, ignore := admissionv1.SideEffectClassNone, admissionv1.Ignore
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "left"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "installations.example.com", SideEffects: &none, FailurePolicy: &ignore, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/nobody")},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{lsv1alpha1.GroupName}, APIVersions: []string{"*"}, Resources: []string{"nothing"}},
			}},
		}},
	}
}

// guardedLine is a pipeline with a promotion that needs an approval.
func guardedLine(namespace string) *pipelines.Pipeline {
	return testkit.Pipeline(namespace, "guarded").Environment("dev", "dev").Environment("prod", "prod").Notification().Manual().Build()
}

// The policy has no effect without its binding, and only Pipelines with approvals need it.
func TestThePolicyOfApprovals(t *testing.T) {
	e := newEstate(t)
	policy, binding, err := admission.Approvals()
	if err != nil {
		t.Fatal(err)
	}
	free := testkit.Pipeline(e.namespace, "free").Environment("dev", "dev").Environment("prod", "prod").Notification().Build()
	testkit.Create(t, e.server, free)
	if _, report := e.check(t); len(report.Findings) != 0 {
		t.Errorf("without any approval, there is %+v", report.Findings)
	}
	guarded := guardedLine(e.namespace)
	testkit.Create(t, e.server, guarded, policy)
	_, report := e.check(t)
	wants(t, report, check.Finding{
		Level: check.Doubtful, Check: "pipelines", Object: "ValidatingAdmissionPolicyBinding espalier-approvals", Message: "does not exist",
		Next: []string{"docs/approvals.md"},
	})
	testkit.Create(t, e.server, binding)
	if _, report := e.check(t); len(report.Findings) != 0 {
		t.Errorf("with the policy, there is %+v", report.Findings)
	}
}

// Before an installation nothing has to be there; what is in the way is found, and so is somebody who may not install.
func TestBeforeAnInstallation(t *testing.T) {
	e := &estate{T: t, server: testkit.NewServer(t)}
	e.namespace = e.server.Namespace(t)
	if result, report := e.check(t, "--pre"); result.Code != cli.ExitOK || len(report.Findings) != 0 {
		t.Errorf("of an empty cluster it is said, with %d: %+v", result.Code, report.Findings)
	}
	result, report := e.check(t, "--pre", "--as=somebody")
	found := false
	for _, finding := range report.Findings {
		found = found || finding.Level == check.Wrong && finding.Check == "your rights" &&
			strings.Contains(finding.Message, "create customresourcedefinitions")
	}
	if result.Code != cli.ExitNeedsSomebody || !found {
		t.Errorf("of somebody without rights it is said, with %d: %+v", result.Code, report.Findings)
	}
	allButPolicies := []rbacv1.PolicyRule{{
		APIGroups: []string{"apiextensions.k8s.io", "", "apps", "rbac.authorization.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"},
	}}
	testkit.Create(t, e.server, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "installer"}, Rules: allButPolicies},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "installer"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "installer"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "installer"}},
		})
	const lacking = "needs: create validatingadmissionpolicies.admissionregistration.k8s.io, "
	e.eventually(t, "a lack of rights for policies alone", func(found []check.Finding) bool {
		return slices.ContainsFunc(found, func(f check.Finding) bool { return strings.Contains(f.Message, lacking) })
	}, "--pre", "--as=installer")
	if _, report = e.check(t); !report.Has(check.Wrong) {
		t.Errorf("after an installation that is none: %+v", report.Findings)
	}
}

// With --namespaces, roles may be bound in the named namespaces alone, but for what lies in none.
func TestRightsInNamedNamespaces(t *testing.T) {
	e := newEstate(t)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "espalier-controller"}}
	change(e, deployment, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Args = []string{"--namespaces=" + e.namespace}
	})
	roles, err := rbac.All()
	if err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: account}}
	for _, role := range roles {
		if role.Namespaced {
			continue
		}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}}
		if err := e.server.Client().Delete(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		testkit.Create(t, e.server, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: role.Name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		})
	}
	e.eventually(t, "lack of what lies in no namespace, alone", func(found []check.Finding) bool {
		return len(found) > 1 && !slices.ContainsFunc(found, func(f check.Finding) bool {
			return f.Check != "rights of the controllers" || strings.Contains(f.Message, "landscaper") || !strings.Contains(f.Message, "namespaces")
		})
	})
	meta := metav1.ObjectMeta{Name: "espalier-cluster"}
	testkit.Create(t, e.server,
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"espalier.dev"}, Resources: []string{"referencegrants"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		})
	e.eventually(t, "nothing", func(found []check.Finding) bool { return len(found) == 0 })
}

// eventually waits until the findings are as wanted: the API server takes a moment to take up roles.
func (e *estate) eventually(t *testing.T, what string, wanted func([]check.Finding) bool, args ...string) {
	t.Helper()
	var report check.Report
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		_, report = e.check(t, args...)
		return wanted(report.Findings), nil
	})
	if err != nil {
		t.Fatalf("want %s, found %+v: %v", what, report.Findings, err)
	}
}

// Who may see nothing gets no errors that are none.
func TestWhoMaySeeNothingIsTold(t *testing.T) {
	e := newEstate(t)
	result, report := e.check(t, "--as=somebody")
	if result.Code != cli.ExitOK {
		t.Errorf("the exit code is %d", result.Code)
	}
	told := map[string][]check.Finding{}
	for _, finding := range report.Findings {
		told[finding.Check] = append(told[finding.Check], finding)
	}
	for _, title := range report.Checks {
		found := told[title]
		if title == "version of the API server" { // Everybody may ask for it.
			if len(found) > 0 {
				t.Errorf("of the %s it is said %+v", title, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Level != check.Unknown || !strings.Contains(found[0].Message, "cannot be read: ") ||
			!strings.Contains(found[0].Message, "forbidden") || !strings.HasPrefix(found[0].Next[0], "have a user with more rights") {
			t.Errorf("of the %s it is said %+v", title, found)
		}
	}
	if len(report.Checks) != 9 {
		t.Errorf("the checks are %v", report.Checks)
	}
}

func TestAServerThatDoesNotAnswer(t *testing.T) {
	e := &estate{T: t, server: testkit.Server(t)}
	e.namespace = e.server.Namespace(t)
	result := clitest.Run(t, e.server, e.namespace, clitest.Call{Command: check.New, Args: []string{"--server=https://127.0.0.1:1"}})
	if result.Code != cli.ExitError || !strings.Contains(result.Stderr, "does not answer") {
		t.Errorf("with exit code %d: %s", result.Code, result.Stderr)
	}
}
