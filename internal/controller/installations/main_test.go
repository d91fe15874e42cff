// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// world is a namespace of an API server in which the controllers of the job flow run.
type world struct {
	*managed.World
	// These are the World's server, namespace and client, as the tests name them.
	server    *testkit.APIServer
	namespace string
	cluster   client.Client
}

func newWorld(t *testing.T) *world {
	w := idleWorld(t)
	w.Manage()
	return w
}

// idleWorld is a world without running controllers. Each test has its own namespace, so they run in parallel.
func idleWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := managed.NewWorld(t, managed.SystemNamespace)
	return &world{World: w, server: w.APIServer, namespace: w.Namespace, cluster: w.Client()}
}

// run runs all controllers until the test ends, or until stop is called.
func (w *world) run(config *rest.Config) (stop func()) {
	w.Helper()
	return w.ManageOver(config)
}

// installation builds an installation with a blueprint.
func (w *world) installation(name, blueprint string) *testkit.InstallationBuilder {
	return testkit.Installation(w.namespace, name).Blueprint(blueprint)
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	w.Create(objects...)
}

// finished waits until an installation has finished a job in a phase.
func (w *world) finished(name string, phase lsv1alpha1.Phase) *lsv1alpha1.Installation {
	w.Helper()
	return testkit.EventuallyFinished(w.T, w.server, w.named(name), phase)
}

// eventually waits until something holds for an installation.
func (w *world) eventually(name, what string, holds func(*lsv1alpha1.Installation) bool) *lsv1alpha1.Installation {
	w.Helper()
	return testkit.Eventually(w.T, w.server, w.named(name), testkit.Is(what, holds))
}

func (w *world) named(name string) *lsv1alpha1.Installation {
	inst := &lsv1alpha1.Installation{}
	inst.Namespace, inst.Name = w.namespace, name
	return inst
}

func (w *world) get(object client.Object) bool {
	w.Helper()
	return w.Read(object)
}

// annotate sets an annotation on an installation.
func (w *world) annotate(name, annotation, value string) {
	w.Helper()
	w.Annotate(w.named(name), annotation, value)
}

func (w *world) request(name string) {
	w.Helper()
	w.annotate(name, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
}

// change changes the spec of an installation.
func (w *world) change(name string, change func(*lsv1alpha1.InstallationSpec)) {
	w.Helper()
	inst := w.named(name)
	for {
		w.get(inst)
		change(&inst.Spec)
		err := w.cluster.Update(w.Context(), inst)
		if err == nil {
			return
		}
		if w.Context().Err() != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) delete(name string) {
	w.Helper()
	w.Delete(w.named(name))
}
