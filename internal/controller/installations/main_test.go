// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a namespace of an API server in which the controllers of the job flow run.
type world struct {
	*testing.T
	server    *testkit.APIServer
	namespace string
	cluster   client.Client
}

func newWorld(t *testing.T) *world {
	w := idleWorld(t)
	w.run(w.server.Config())
	return w
}

// idleWorld is a world in which nobody works yet. Each test has its own namespace, so they run side by side.
func idleWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	server := testkit.Server(t)
	return &world{T: t, server: server, namespace: server.Namespace(t), cluster: server.Client()}
}

// run runs all controllers until the test ends, or until stop is called.
func (w *world) run(config *rest.Config) (stop func()) {
	w.Helper()
	return managed.Run(w.T, config, w.options())
}

func (w *world) options() manager.Options {
	options := managed.Options(w.namespace)
	options.SystemNamespace = w.namespace
	return options
}

// installation builds an installation with a blueprint.
func (w *world) installation(name, blueprint string) *testkit.InstallationBuilder {
	return testkit.Installation(w.namespace, name).Blueprint(blueprint)
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	testkit.Create(w.T, w.server, objects...)
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
	err := w.cluster.Get(w.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// annotate sets an annotation on an installation.
func (w *world) annotate(name, annotation, value string) {
	w.Helper()
	inst := w.named(name)
	patch := []byte(`{"metadata":{"annotations":{"` + annotation + `":"` + value + `"}}}`)
	if err := w.cluster.Patch(w.Context(), inst, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		w.Fatal(err)
	}
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
	if err := w.cluster.Delete(w.Context(), w.named(name)); err != nil {
		w.Fatal(err)
	}
}
