// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a namespace of an API server, which is also the target cluster.
type world struct {
	*managed.World
	kubeconfig string
	uids       map[string]types.UID
}

// newWorld returns a world in which all controllers run.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := idleWorld(t)
	w.run()
	return w
}

// idleWorld returns a world in which no controller runs yet.
func idleWorld(t *testing.T) *world {
	t.Helper()
	return worldOn(t, testkit.Server(t))
}

// worldOn returns a world on the given server in which no controller runs yet.
func worldOn(t *testing.T, server *testkit.APIServer) *world {
	t.Helper()
	return worldIn(testkit.WorldOn(t, server))
}

// worldIn returns a world in the given namespace in which no controller runs yet.
func worldIn(in *testkit.World) *world {
	in.Helper()
	kubeconfig, err := os.ReadFile(in.Kubeconfig())
	if err != nil {
		in.Fatal(err)
	}
	return &world{World: managed.In(in, managed.SystemNamespace), kubeconfig: string(kubeconfig), uids: map[string]types.UID{}}
}

// run runs all controllers until the test ends. When it returns, their caches contain everything that exists.
func (w *world) run() {
	w.Helper()
	mgr := managed.Manager(w.T, w.Config(), w.Options)
	testkit.Run(w.T, mgr.Start)
	if !mgr.GetCache().WaitForCacheSync(w.Context()) {
		w.Fatal("the caches of the manager are not filled")
	}
}

// record records everything that controllers or deployers may write, except for events.
func (w *world) record() *testkit.Recorder {
	w.Helper()
	return testkit.Record(w.T, w.APIServer, w.Namespace,
		testkit.Groups(lsv1alpha1.GroupName), testkit.Kinds(&corev1.Secret{}, &corev1.ConfigMap{}))
}

func (w *world) installation(name string) *lsv1alpha1.Installation {
	object := &lsv1alpha1.Installation{}
	object.Namespace, object.Name = w.Namespace, name
	return object
}

func (w *world) execution(name string) *lsv1alpha1.Execution {
	object := &lsv1alpha1.Execution{}
	object.Namespace, object.Name = w.Namespace, name
	return object
}

func (w *world) deployItem(name string) *lsv1alpha1.DeployItem {
	object := &lsv1alpha1.DeployItem{}
	object.Namespace, object.Name = w.Namespace, name
	return object
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = w.Namespace, name
	return object
}

// data returns the content of a DataObject, nothing if it does not exist.
func (w *world) data(name string) string {
	w.Helper()
	object := &lsv1alpha1.DataObject{}
	object.Namespace, object.Name = w.Namespace, name
	if !w.Read(object) {
		return ""
	}
	return string(object.Data.Raw)
}

// names lists the objects of a kind in the namespace.
func (w *world) names(list client.ObjectList, options ...client.ListOption) []string {
	w.Helper()
	if err := w.Client().List(w.Context(), list, append(options, client.InNamespace(w.Namespace))...); err != nil {
		w.Fatal(err)
	}
	names := []string{}
	err := meta.EachListItem(list, func(object runtime.Object) error {
		names = append(names, object.(client.Object).GetName())
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// items returns the deploy items of the namespace by their names in executions.
func (w *world) items() map[string]*lsv1alpha1.DeployItem {
	w.Helper()
	var list lsv1alpha1.DeployItemList
	w.names(&list)
	items := map[string]*lsv1alpha1.DeployItem{}
	for i := range list.Items {
		items[list.Items[i].Labels[lsv1alpha1.ExecutionManagedNameLabel]] = &list.Items[i]
	}
	return items
}

// finished waits until an installation has finished the last requested job in a phase.
func (w *world) finished(name string, phase lsv1alpha1.Phase) *lsv1alpha1.Installation {
	w.Helper()
	return testkit.EventuallyFinished(w.T, w.APIServer, w.installation(name), phase)
}

// rerun requests a job and waits until it finishes.
func (w *world) rerun(name string, phase lsv1alpha1.Phase) *lsv1alpha1.Installation {
	w.Helper()
	w.request(name)
	return w.finished(name, phase)
}

func (w *world) request(name string) {
	w.Helper()
	w.Annotate(w.installation(name), lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
}

// removed deletes an installation and waits until it is gone.
func (w *world) removed(name string) {
	w.Helper()
	w.Delete(w.installation(name))
	testkit.EventuallyGone(w.T, w.APIServer, w.installation(name))
}

// nextJob waits until an installation has finished a job other than the given one.
func (w *world) nextJob(name, before string) *lsv1alpha1.Installation {
	w.Helper()
	return testkit.Eventually(
		w.T,
		w.APIServer,
		w.installation(name),
		testkit.Is("finished with another job", func(i *lsv1alpha1.Installation) bool {
			return i.Status.IsFinished() && i.Status.JobID != before
		}),
	)
}
