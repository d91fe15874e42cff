// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

var now = clitest.Now().UTC()

// sceneOf sorts objects by kind.
func sceneOf(objects ...client.Object) view.Scene {
	s := view.Scene{Objects: &objecttree.Objects{}, Now: now}
	for _, object := range objects {
		switch o := object.(type) {
		case *pipelines.Pipeline:
			s.Pipelines = append(s.Pipelines, o)
		case *lsv1alpha1.Target:
			s.Targets = append(s.Targets, o)
		case *lsv1alpha1.DataObject:
			s.DataObjects = append(s.DataObjects, o)
		default:
			s.Objects.Put(object)
		}
	}
	return s
}

// without returns all rights but some, each written as verb and resource.
func without(missing ...string) view.Rights {
	return func(verb, _, resource, _ string) bool {
		for _, m := range missing {
			if m == verb+" "+resource {
				return false
			}
		}
		return true
	}
}

func ago(d time.Duration) *metav1.Time {
	at := metav1.NewTime(now.Add(-d))
	return &at
}

func times(trigger, begun, wait, finished *metav1.Time) func(*lsv1alpha1.RunStatus) {
	return func(s *lsv1alpha1.RunStatus) {
		s.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: trigger, InitTime: begun, WaitTime: wait, FinishedTime: finished}
	}
}

// shop is a tree during a job: payments has failed, orders waits for it, mail lacks a Secret, network is done.
func shop(namespace string) []client.Object {
	root := testkit.Installation(namespace, "shop").ImportSecret("password", "db", "key").Component("example.com/shop", "1.9.0").Build()
	root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing,
		clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for installation shop-payments"),
		times(ago(20*time.Minute), ago(19*time.Minute), ago(18*time.Minute), nil))
	network := clitest.Nested(root, "network").ExportData("subnet", "subnet").ImportData("password", "password").Build()
	network.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded,
		times(ago(18*time.Minute), ago(18*time.Minute), ago(17*time.Minute), ago(15*time.Minute)))
	payments := clitest.Nested(root, "payments").ImportData("subnet", "subnet").ExportData("apiUrl", "apiUrl").Build()
	payments.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("SubObjectFailed", "execution failed"),
		times(ago(18*time.Minute), ago(18*time.Minute), ago(14*time.Minute), ago(4*time.Minute)))
	orders := clitest.Nested(root, "orders").ImportData("apiUrl", "apiUrl").ExportData("queue", "queue").Build()
	orders.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, clitest.Of(clitest.EarlierJob))
	storefront := clitest.Nested(root, "storefront").ImportData("queue", "queue").Build()
	storefront.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, clitest.Of(clitest.EarlierJob))
	mail := clitest.Nested(root, "mail").ImportData("smtp", "smtp").Build()
	mail.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit,
		clitest.Error("ImportNotFound", `import "smtp": DataObject x/y (for "smtp") does not exist: create it`),
		times(ago(18*time.Minute), ago(18*time.Minute), nil, nil))
	execution := clitest.ExecutionOf(payments, "schema", "api:schema")
	execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("DeployItemsFailed", "deploy item api failed"))
	schema, api := clitest.ItemOf(execution, "schema"), clitest.ItemOf(execution, "api")
	schema.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded,
		times(ago(14*time.Minute), ago(14*time.Minute), ago(14*time.Minute), ago(13*time.Minute)))
	api.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("ProgressingTimeout", "no match for platform <script>\nsecond line"),
		times(ago(14*time.Minute), ago(13*time.Minute), nil, ago(4*time.Minute)))
	api.Status.Deployer = lsv1alpha1.DeployerInformation{Name: "helm"}
	scope := "Inst.shop"
	return []client.Object{
		root, network, payments, orders, storefront, mail, execution, schema, api,
		dataObject(namespace, scope, "subnet"), dataObject(namespace, scope, "password"), testkit.Target(namespace, "cluster").Build(),
	}
}

// dataObject returns a value in a scope.
func dataObject(namespace, scope, reference string) *lsv1alpha1.DataObject {
	return testkit.DataObject(namespace, dataflow.ObjectName(scope, reference), "v").Build()
}

// noNulls fails if JSON contains a null: pages expect lists.
func noNulls(t *testing.T, document any) {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("there is a null in %s", text)
	}
}

func rowOf(t *testing.T, page view.Installation, kind, name string) view.Row {
	t.Helper()
	for _, row := range page.Rows {
		if row.Ref.Kind == kind && row.Ref.Name == name {
			return row
		}
	}
	t.Fatalf("no row for %s %s", kind, name)
	return view.Row{}
}

// expect compares texts.
func expect(t *testing.T, what string, have, want any) {
	t.Helper()
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("%s: want %v, have %v", what, want, have)
	}
}
