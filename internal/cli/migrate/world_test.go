// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	oldSystem = "landscaper-system"
	home      = "espalier-system"
)

// estate is a cluster in which another system has worked. Nothing runs in it: Deployments are objects like any other.
type estate struct {
	*testkit.World
	command []string
}

// newEstate is a cluster with the definitions of the other systems, as their users have them.
func newEstate(t *testing.T, command string) *estate {
	t.Helper()
	server := testkit.NewServer(t)
	server.InstallCRD(t, references(t)...)
	e := &estate{World: testkit.WorldOn(t, server), command: []string{command}}
	e.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: oldSystem}})
	return e
}

// landscaped is a cluster of Landscaper: controllers, a deployer, webhooks, and webhooks of somebody else.
func landscaped(t *testing.T) *estate {
	t.Helper()
	e := newEstate(t, "landscaper")
	e.Create(
		deployment("landscaper", 1, "registry.example.com:5000/landscaper/landscaper-controller:v0.142.0"),
		deployment("landscaper-webhooks", 2, "example.com/landscaper-webhooks-server@sha256:1234"),
		deployment("helm-deployer", 1, "example.com/helm-deployer-controller:v0.142.0"),
		deployment("stranger", 3, "example.com/somebody-elses-deployer:v1"),
		webhooks(webhookName, "installation"+webhookSuffix), webhooks("policy", "installations.policy.example.com"),
	)
	return e
}

// references are the definitions of the other systems.
func references(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../../config/crd/testdata/reference/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			t.Fatal(err)
		}
		definition.Name = definition.Spec.Names.Plural + "." + definition.Spec.Group
		definition.Labels = map[string]string{"shipped-with": "the-other-system"}
		definition.Annotations = map[string]string{"controller-gen.kubebuilder.io/version": "v0.8.0"}
		all = append(all, definition)
	}
	return all
}

func deployment(name string, count int32, image string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: oldSystem, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &count, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
			},
		},
	}
}

// webhooks is a configuration for a resource that does not exist, so that nobody has to answer.
func webhooks(configuration, name string) *admissionv1.ValidatingWebhookConfiguration {
	none, fail := admissionv1.SideEffectClassNone, admissionv1.Fail
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: configuration, Labels: map[string]string{"of": configuration}},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: name, SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/nobody")},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{lsv1alpha1.GroupName}, APIVersions: []string{"*"}, Resources: []string{"nothing"}},
			}},
		}},
	}
}

// migrate runs the command.
func (e *estate) migrate(args ...string) clitest.Result {
	e.Helper()
	return clitest.Run(e.T, e.APIServer, e.Namespace, e.call(args...))
}

func (e *estate) call(args ...string) clitest.Call {
	return clitest.Call{Command: New, Args: append(append([]string{}, e.command...), args...)}
}

// succeeds runs the command, which has to do what it is told.
func (e *estate) succeeds(args ...string) clitest.Result {
	e.Helper()
	result := e.migrate(args...)
	if result.Code != 0 {
		e.Fatalf("%v ended with %d:\n%s%s", args, result.Code, result.Stdout, result.Stderr)
	}
	return result
}

// report runs the command and reads what it prints for programs.
func (e *estate) report(args ...string) (clitest.Result, Report) {
	e.Helper()
	result := e.migrate(append(args, "-o", "json")...)
	var report Report
	if err := json.Unmarshal([]byte(result.Stdout), &report); err != nil {
		e.Fatalf("%v: %s%s", err, result.Stdout, result.Stderr)
	}
	return result, report
}

// everything is the state of all that a migration may touch or must not touch, by kind and name. Objects of users count with their
// versions: nothing may be written.
func (e *estate) everything() map[string]string {
	e.Helper()
	state := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		for _, item := range e.list(kind) {
			title := titleOf(&item)
			for _, field := range []string{"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"} {
				unstructured.RemoveNestedField(item.Object, "metadata", field)
			}
			delete(item.Object, "status")
			state[title] = e.json(item.Object)
		}
	}
	return state
}

// objects are the versions of all objects of users.
func (e *estate) objects() map[string]string {
	e.Helper()
	versions := map[string]string{}
	for _, definition := range references(e.T) {
		kind := schema.GroupVersionKind{Group: definition.Spec.Group, Version: "v1alpha1", Kind: definition.Spec.Names.Kind}
		for _, item := range e.list(kind) {
			versions[titleOf(&item)] = item.GetResourceVersion()
		}
	}
	return versions
}

func (e *estate) list(kind schema.GroupVersionKind) []unstructured.Unstructured {
	e.Helper()
	kind.Kind += "List"
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := e.Client().List(e.Context(), list); err != nil {
		e.Fatal(err)
	}
	return list.Items
}

func (e *estate) json(value any) string {
	e.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		e.Fatal(err)
	}
	return string(text)
}

// replicas are those of a Deployment now.
func (e *estate) replicas(name string) int32 {
	e.Helper()
	found := deployment(name, 0, "")
	if !e.Read(found) {
		e.Fatalf("Deployment %s is gone", name)
	}
	return *found.Spec.Replicas
}

// record is the ConfigMap; nil if there is none.
func (e *estate) record() *corev1.ConfigMap {
	e.Helper()
	found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "espalier-migration-" + e.command[0]}}
	if !e.Read(found) {
		return nil
	}
	return found
}

// checkNoTrace fails if a secret is in what was printed or recorded.
func (e *estate) checkNoTrace(secret string, result clitest.Result) {
	e.Helper()
	for where, text := range map[string]string{"output": result.Stdout, "messages": result.Stderr} {
		if strings.Contains(text, secret) {
			e.Errorf("the %s show a secret:\n%s", where, text)
		}
	}
	if record := e.record(); record != nil && strings.Contains(e.json(record), secret) {
		e.Errorf("the record shows a secret")
	}
}

// change reads an object and writes it back changed.
func change[T client.Object](e *estate, object T, do func(T)) {
	e.Helper()
	if !e.Read(object) {
		e.Fatalf("%T %s does not exist", object, object.GetName())
	}
	do(object)
	if err := e.Client().Update(e.Context(), object); err != nil {
		e.Fatal(err)
	}
}
