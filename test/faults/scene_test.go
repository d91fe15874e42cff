// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

// scene is a namespace in which a workload takes place, seen by its user over a connection without faults.
type scene struct {
	*testkit.APIServer
	namespace string
	recorder  *testkit.Recorder
	target    *gate
	processes managed.Processes
	nodes     nodes
	cache     string // the directory in which processes cache what they have read from the registry

	continuous bool          // interference must suit the continuous flow; set before anything is created
	populated  chan struct{} // closed when the user of "raze" has created everything: only then can he delete the namespace

	pauses []pause // the points at which the story stood still
	mark   int     // how many writes there were when the user of "tended" or "minded" stopped interfering
}

// pause is a point of a story at which everything is finished.
type pause struct {
	name    string
	history testkit.History // up to then
}

const targetName = "cluster"

// newScene creates the namespace, and records in it the kinds of all workloads, and further kinds.
func newScene(t testing.TB, kinds ...client.Object) *scene {
	t.Helper()
	server := testkit.Server(t)
	return furnished(t, server, server.Namespace(t), testkit.Kinds(kinds...))
}

// furnished returns a scene in a namespace, and records in it the kinds of all workloads, and what else is chosen.
func furnished(t testing.TB, server *testkit.APIServer, namespace string, more ...testkit.Selection) *scene {
	t.Helper()
	s := &scene{APIServer: server, namespace: namespace, cache: t.TempDir(), populated: make(chan struct{})}
	s.target = theGate(t, server.Config())
	s.recorder = testkit.Record(t, server, s.namespace, append(more, testkit.Kinds(
		&lsv1alpha1.Installation{}, &lsv1alpha1.Execution{}, &lsv1alpha1.DeployItem{}, &lsv1alpha1.DataObject{}, &lsv1alpha1.Target{},
		&corev1.ConfigMap{}, &corev1.Secret{}))...)
	s.create(t,
		testkit.Context(s.namespace, lsv1alpha1.DefaultContextName).Build(),
		testkit.Target(s.namespace, targetName).Kubeconfig(s.target.kubeconfig(t)).Build())
	return s
}

func (s *scene) create(t testing.TB, objects ...client.Object) {
	t.Helper()
	testkit.Create(t, s.APIServer, objects...)
}

func (s *scene) installation(name string) *lsv1alpha1.Installation {
	return testkit.Installation(s.namespace, name).Build()
}

// patch changes an object as kubectl patch would.
func (s *scene) patch(t testing.TB, object client.Object, format string, args ...any) {
	t.Helper()
	if err := s.Client().Patch(t.Context(), object, mergePatch(fmt.Sprintf(format, args...))); err != nil {
		t.Fatalf("patch %s: %v", object.GetName(), err)
	}
}

func mergePatch(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

func (s *scene) ask(t testing.TB, installation string, operation lsv1alpha1.Operation) {
	t.Helper()
	s.patch(t, s.installation(installation), `{"metadata":{"annotations":{%q:%q}}}`, lsv1alpha1.OperationAnnotation, operation)
}

func (s *scene) remove(t testing.TB, installation string) {
	t.Helper()
	if err := s.Client().Delete(t.Context(), s.installation(installation)); err != nil {
		t.Fatalf("delete installation %s: %v", installation, err)
	}
}

// ends waits until an installation has finished in a phase.
func (s *scene) ends(t testing.TB, installation string, phase lsv1alpha1.Phase) {
	t.Helper()
	testkit.EventuallyFinished(t, s.APIServer, s.installation(installation), phase)
}

func (s *scene) succeeds(t testing.TB, installation string) {
	t.Helper()
	s.ends(t, installation, lsv1alpha1.PhaseSucceeded)
}

func (s *scene) gone(t testing.TB, installation string) {
	t.Helper()
	testkit.EventuallyGone(t, s.APIServer, s.installation(installation))
}

// rest waits until nothing is written any more, and records the state.
func (s *scene) rest(t testing.TB, name string) {
	t.Helper()
	s.recorder.Quiet(t, restLength)
	s.pauses = append(s.pauses, pause{name: name, history: s.recorder.History()})
}
