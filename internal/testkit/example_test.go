// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// startManager runs a controller that finishes each installation in two steps.
func startManager(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	manager := testkit.NewManager(t, config, namespace)
	reconciler := reconcile.AsReconciler(manager.GetClient(), finisher{manager.GetClient()})
	if err := ctrl.NewControllerManagedBy(manager).Named(namespace).For(&landscaper.Installation{}).Complete(reconciler); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, manager.Start)
}

type finisher struct{ client client.Client }

func (f finisher) Reconcile(ctx context.Context, installation *landscaper.Installation) (reconcile.Result, error) {
	if installation.Annotations[landscaper.OperationAnnotation] != "" {
		delete(installation.Annotations, landscaper.OperationAnnotation)
		return reconcile.Result{}, f.client.Update(ctx, installation)
	}
	switch installation.Status.Phase {
	case "":
		installation.Status.JobID, installation.Status.Phase = "job", landscaper.PhaseInit
	case landscaper.PhaseInit:
		installation.Status.JobIDFinished, installation.Status.Phase = "job", landscaper.PhaseSucceeded
	default:
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, f.client.Status().Update(ctx, installation)
}

// This is the test in the package documentation, with a manager that it can run.
func TestTheDocumentedTestWorks(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	recorder := testkit.Record(t, server, namespace, testkit.Groups("landscaper.gardener.cloud"))
	transport := faults.New(faults.MustParse("write:2:409"))
	startManager(t, transport.Config(server.Config()), namespace)
	installation := testkit.Installation(namespace, "app").
		Blueprint("kind: Blueprint\n").
		ImportData("config", "app-config").
		Reconcile().
		Build()
	testkit.Create(t, server, testkit.DataObject(namespace, "app-config", 42).Build(), installation)
	testkit.EventuallyFinished(t, server, installation, landscaper.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	if phases := recorder.Of(installation).Transitions("status.phase"); !slices.Equal(phases, []string{"", "Init", "Succeeded"}) {
		t.Errorf("the phases were %q", phases)
	}
	if writes := transport.Log().Writes(); len(writes) < 4 || writes[1].Status != 0 {
		t.Errorf("want a write that was refused and repeated:\n%s", writes)
	}
}
