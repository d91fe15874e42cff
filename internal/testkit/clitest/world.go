// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mock "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// Jobs in statuses.
const (
	Job        = "11111111-1111-4111-8111-111111111111"
	EarlierJob = "00000000-0000-4000-8000-000000000000"
)

// Status returns the status of an object during Job: in the phase since twenty hours ago, unless the phase is final; then Job is finished.
func Status(phase lsv1alpha1.Phase, changes ...func(*lsv1alpha1.RunStatus)) lsv1alpha1.RunStatus {
	at := metav1.NewTime(Ago(20 * time.Hour))
	status := lsv1alpha1.RunStatus{Phase: phase, PhaseTransitionTime: &at, JobID: Job, ObservedGeneration: 1}
	if phase.IsFinal() {
		status.JobIDFinished = Job
	}
	for _, change := range changes {
		change(&status)
	}
	return status
}

// Of sets another job in a status, which has finished.
func Of(job string) func(*lsv1alpha1.RunStatus) {
	return func(s *lsv1alpha1.RunStatus) { s.JobID, s.JobIDFinished = job, job }
}

// Waits sets what an object waits for, as controllers do: in the conditions.
func Waits(reason, message string) func(*lsv1alpha1.RunStatus) {
	return func(s *lsv1alpha1.RunStatus) {
		at := metav1.NewTime(Ago(20 * time.Hour))
		condition := lsv1alpha1.Condition{
			Status: lsv1alpha1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: at, LastUpdateTime: at,
		}
		condition.Type = lsv1alpha1.ConditionReady
		reconciling := condition
		reconciling.Type, reconciling.Status = lsv1alpha1.ConditionReconciling, lsv1alpha1.ConditionTrue
		s.Conditions = []lsv1alpha1.Condition{condition, reconciling}
	}
}

// Error sets an error.
func Error(reason, message string) func(*lsv1alpha1.RunStatus) {
	return func(s *lsv1alpha1.RunStatus) {
		at := metav1.NewTime(Ago(20 * time.Hour))
		s.LastError = &lsv1alpha1.Error{Operation: "Reconcile", Reason: reason, Message: message, LastTransitionTime: at, LastUpdateTime: at}
	}
}

// Nested returns a nested installation.
func Nested(parent *lsv1alpha1.Installation, as string) *testkit.InstallationBuilder {
	return testkit.Installation(parent.Namespace, parent.Name+"-"+as).
		Label(lsv1alpha1.EncompassedByLabel, parent.Name).Annotate(lsv1alpha1.SubinstallationNameAnnotation, as)
}

// ExecutionOf returns the execution of an installation, and makes the installation refer to it. Each deploy item is written as its name
// and, after a colon, that of the deploy item that it depends on.
func ExecutionOf(installation *lsv1alpha1.Installation, items ...string) *lsv1alpha1.Execution {
	builder := testkit.Execution(installation.Namespace, installation.Name).Finalizer(lsv1alpha1.Finalizer)
	for _, item := range items {
		name, needs, _ := strings.Cut(item, ":")
		builder.MockItem(name, mock.ProviderConfiguration{}, strings.Fields(needs)...)
	}
	execution := builder.Build()
	execution.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "Installation", Name: installation.Name, UID: "made-by-a-test",
	}}
	installation.Status.ExecutionReference = &lsv1alpha1.ObjectReference{Namespace: installation.Namespace, Name: installation.Name}
	return execution
}

// ItemOf returns a deploy item of an execution.
func ItemOf(execution *lsv1alpha1.Execution, as string) *lsv1alpha1.DeployItem {
	return testkit.DeployItem(execution.Namespace, execution.Name+"-"+as).
		Label(lsv1alpha1.ExecutionManagedByLabel, execution.Name).Label(lsv1alpha1.ExecutionManagedNameLabel, as).Target("cluster").Build()
}

// Store creates objects together with their statuses. Installations own what is below them, if they exist already.
func Store(t testing.TB, server *testkit.APIServer, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		own(t, server, object)
		wanted := object.DeepCopyObject().(client.Object)
		testkit.Create(t, server, object)
		wanted.SetResourceVersion(object.GetResourceVersion())
		wanted.SetUID(object.GetUID())
		if err := server.Client().Status().Update(t.Context(), wanted); err != nil {
			t.Fatalf("store the status of %s: %v", object.GetName(), err)
		}
	}
}

// own makes the installation above an object its owner.
func own(t testing.TB, server *testkit.APIServer, object client.Object) {
	t.Helper()
	above := object.GetLabels()[lsv1alpha1.EncompassedByLabel]
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == "Installation" {
			above = owner.Name
		}
	}
	if above == "" {
		return
	}
	owner := &lsv1alpha1.Installation{}
	err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: object.GetNamespace(), Name: above}, owner)
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, lsv1alpha1.SchemeGroupVersion.WithKind("Installation"))})
}

// Shop stores a tree in the middle of a job: the database has succeeded, and the web server waits for its pods.
func Shop(t testing.TB, server *testkit.APIServer, namespace string) {
	t.Helper()
	Store(t, server, ShopObjects(namespace)...)
	testkit.Create(t, server, testkit.Target(namespace, "cluster").Build())
}

// ShopObjects returns the objects of that tree.
func ShopObjects(namespace string) []client.Object {
	shop := testkit.Installation(namespace, "shop").Label("team", "shop").Build()
	database := Nested(shop, "database").ExportData("address", "address").Build()
	web := Nested(shop, "web").ImportData("address", "address").Build()
	shop.Status.RunStatus = Status(
		lsv1alpha1.PhaseProgressing,
		Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for installation shop-web"),
	)
	shop.Status.SubInstCache = &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{
		{SpecName: "web", ObjectName: web.Name}, {SpecName: "database", ObjectName: database.Name},
	}}
	database.Status.RunStatus = Status(lsv1alpha1.PhaseSucceeded)
	web.Status.RunStatus = Status(lsv1alpha1.PhaseProgressing, Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for execution shop-web"))
	below, above := ExecutionOf(database, "postgres"), ExecutionOf(web, "nginx", "smoke-test:nginx")
	below.Status.RunStatus = Status(lsv1alpha1.PhaseSucceeded)
	above.Status.RunStatus = Status(
		lsv1alpha1.PhaseProgressing,
		Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for deploy item nginx"),
	)
	postgres, nginx, smoke := ItemOf(below, "postgres"), ItemOf(above, "nginx"), ItemOf(above, "smoke-test")
	postgres.Status.RunStatus = Status(lsv1alpha1.PhaseSucceeded)
	nginx.Status.RunStatus = Status(
		lsv1alpha1.PhaseProgressing,
		Waits(lsv1alpha1.ReasonWaitingForReadiness, "waiting for Deployment web/nginx in target cluster: 0 of 2 pods are available"),
	)
	smoke.Status.RunStatus = Status(lsv1alpha1.PhaseSucceeded, Of(EarlierJob))
	return []client.Object{shop, database, web, below, above, postgres, nginx, smoke}
}

// Blog stores a tree whose job has failed.
func Blog(t testing.TB, server *testkit.APIServer, namespace string) {
	t.Helper()
	Store(t, server, BlogObjects(namespace)...)
}

// BlogObjects returns the objects of that tree.
func BlogObjects(namespace string) []client.Object {
	blog := testkit.Installation(namespace, "blog").Build()
	blog.Status.RunStatus = Status(lsv1alpha1.PhaseFailed, Error("SubObjectFailed", "execution blog failed"))
	execution := ExecutionOf(blog, "site", "theme")
	execution.Status.RunStatus = Status(lsv1alpha1.PhaseFailed, Error("DeployItemsFailed", "deploy item theme failed"))
	site, theme := ItemOf(execution, "site"), ItemOf(execution, "theme")
	site.Status.RunStatus = Status(lsv1alpha1.PhaseSucceeded)
	site.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(
		`{"apiVersion":"helm.deployer.landscaper.gardener.cloud/v1alpha1","kind":"ProviderStatus",` +
			`"release":{"name":"site","namespace":"web","revision":3,"chart":"site","chartVersion":"1.2.0"},` +
			`"managedResources":[{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"web","name":"site"}}]}`,
	)}
	theme.Status.RunStatus = Status(
		lsv1alpha1.PhaseFailed,
		Error("InvalidManifest", "manifest 2: spec.replicas:\x1b[31m must be a number\nand is not"),
	)
	return []client.Object{blog, execution, site, theme}
}
