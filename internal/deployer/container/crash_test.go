// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/kubelet"
)

// The image runs once per job, no matter where the process crashes or which answers to its requests get lost.
func TestEachJobRunsOnce(t *testing.T) {
	for _, plan := range []string{
		"create/pods:1:after", "create/pods:1:lost", "create/pods:1:before", "create/pods:1:500", "create/secrets:1:after",
		"create/secrets:3:lost", "create/roles:1:after", "patch/deployitems/status:1:after", "patch/deployitems/status:2:409",
		"patch/deployitems/status:2:after", "patch/deployitems/status:3:before", "patch/deployitems/status:3:lost",
		"delete/pods:1:lost", "delete/pods:1:after", "watch:pods:hold:1..+2s",
	} {
		t.Run(plan, func(t *testing.T) {
			w := newWorld(t)
			recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Kinds(&corev1.Pod{}))
			w.process(plan)
			item := w.item("shop", "image: shop")
			pod := w.pod(item)
			w.runs(pod, func(env inside.Environment) (int32, string) { return write(env, inside.EnvExports, "{a: 1}") })
			w.succeeds(item)
			w.gone(pod)
			madePods(t, recorder, 1)
			if got := w.exports(item); got["a"] != 1.0 {
				t.Errorf("the exports are %v", got)
			}
		})
	}
}

// madePods checks how many pods were created.
func madePods(t *testing.T, recorder *testkit.Recorder, want int) {
	t.Helper()
	uids := map[types.UID]bool{}
	for _, revision := range recorder.History() {
		uids[revision.Object.GetUID()] = true
	}
	if len(uids) != want {
		t.Errorf("%d pods were created, want %d", len(uids), want)
	}
}

// If a process dies after everything of a deleted item is removed but before the finalizer is, the next process releases the item. It
// does not run the image again for that.
func TestADeletionThatIsCutOffComesToAnEnd(t *testing.T) {
	for _, plan := range []string{"patch/deployitems:1:before", "patch/deployitems:1:lost", "deletecollection/secrets:7:after"} {
		t.Run(plan, func(t *testing.T) {
			w := newWorld(t)
			recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Kinds(&corev1.Pod{}))
			w.process(plan)
			item, pod := w.deployed("shop")
			w.Delete(item)
			w.begin(item, "second")
			last := w.podAfter(item, string(pod.UID))
			w.runs(last, nothing)
			testkit.EventuallyGone(t, w.APIServer, item)
			w.gone(last)
			madePods(t, recorder, 2)
			w.nothingLeft()
		})
	}
}

// A deleted pod is not silently replaced: nobody knows how far the image got.
func TestALostPodFailsTheJob(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop")
	pod := w.pod(item)
	w.bind(pod)
	testkit.Eventually(t, w.APIServer, item, testkit.Is("the run is noted", func(i *landscaper.DeployItem) bool {
		return i.Status.ProviderStatus != nil && strings.Contains(string(i.Status.ProviderStatus.Raw), `"run"`)
	}))
	w.Patch(pod, `{"metadata":{"finalizers":null}}`)
	if err := w.Client().Delete(w.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if got := lastError(w.fails(item)); !strings.Contains(got, "PodLost") {
		t.Errorf("got %s", got)
	}
	w.begin(item, "second")
	next := w.podAfter(item, string(pod.UID))
	w.bind(next)
	w.tell(next, func(s *corev1.PodStatus) {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
	})
	if got := lastError(w.fails(item)); !strings.Contains(got, "Evicted") || !strings.Contains(got, "low on resource") {
		t.Errorf("got %s", got)
	}
}

// Deleting a pod by force means that its node is lost: the job ends, and nothing of the pod blocks the next one.
func TestAPodThatIsDeletedByForceEndsTheJob(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop")
	pod := w.pod(item)
	w.starts(pod)
	w.Delete(pod) // as the node controller does; nobody stops the containers
	w.waits(item, container.WaitingForTermination)
	if err := w.Client().Delete(w.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if got := lastError(w.fails(item)); !strings.Contains(got, "PodLost") {
		t.Errorf("got %s", got)
	}
	w.gone(pod)
	w.begin(item, "second")
	w.runs(w.podAfter(item, string(pod.UID)), nothing)
	w.succeeds(item)
}

// A foreign pod of the same name is neither used nor deleted.
func TestAForeignPodIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item, pod := w.deployed("shop")
	foreign := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: pod.Name},
		Spec: corev1.PodSpec{
			ServiceAccountName: pod.Spec.ServiceAccountName, Containers: []corev1.Container{{Name: "main", Image: "foreign"}},
		},
	}
	w.Create(foreign)
	w.begin(item, "second")
	if got := lastError(w.fails(item)); !strings.Contains(got, "does not belong to the deploy item") {
		t.Errorf("got %s", got)
	}
	if !w.Read(foreign) || foreign.DeletionTimestamp != nil {
		t.Error("the foreign pod is gone")
	}
}

// The pod may write the Secrets of its item, and nothing else.
func TestThePodReachesNothingElse(t *testing.T) {
	w := newWorld(t)
	w.process("")
	other := w.item("other", "image: shop")
	item := w.item("shop", "image: shop")
	pod, foreign := w.pod(item), w.pod(other)
	w.starts(pod)
	n := w.node(pod)
	env := n.Env("wait")
	err := inside.Wait(t.Context(), func(variable string) string {
		if variable == inside.EnvResult {
			return foreign.Name + "-result"
		}
		return env(variable)
	}, kubelet.Stopped())
	if err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("Secret %s-result: got %v", foreign.Name, err)
	}
	w.stops(n, terminated("main", 0, ""))
	w.succeeds(item)
	if got := w.exports(item); got != nil {
		t.Errorf("the exports are %v", got)
	}
}

// The image cannot trick the pod's helper into storing the token that only the helper can read.
func TestTheImageCannotStealTheToken(t *testing.T) {
	w := newWorld(t)
	w.process("")
	for name, attack := range map[string]struct {
		do   func(n *kubelet.Node) error
		fail bool
	}{
		"exports are a link": {func(n *kubelet.Node) error {
			return os.Symlink(filepath.Join(n.Token, "token"), filepath.Join(n.Shared, inside.ExportsFile))
		}, true},
		"the folder of exports is a link": {func(n *kubelet.Node) error {
			folder := filepath.Dir(filepath.Join(n.Shared, inside.ExportsFile))
			return errors.Join(os.RemoveAll(folder), os.Rename(filepath.Join(n.Token, "token"), filepath.Join(n.Token, "values")),
				os.Symlink(n.Token, folder), os.Link(filepath.Join(n.Token, "values"), filepath.Join(n.Token, "token")))
		}, true},
		"the state is a link": {func(n *kubelet.Node) error {
			folder := filepath.Join(n.Shared, inside.StateFolder)
			return errors.Join(os.RemoveAll(folder), os.Symlink(n.Token, folder))
		}, true},
		"the state has a link": {func(n *kubelet.Node) error {
			return os.Symlink(filepath.Join(n.Token, "token"), filepath.Join(n.Shared, inside.StateFolder, "token"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			item := w.item("shop-"+digits(name), "image: shop")
			pod := w.pod(item)
			w.bind(pod)
			n := w.node(pod)
			token := read(n.Env("wait"), inside.EnvToken, "token")
			if err := inside.Init(n.Env("init")); err != nil {
				t.Fatal(err)
			}
			if err := attack.do(n); err != nil {
				t.Fatal(err)
			}
			w.stops(n, terminated("main", 0, ""))
			if attack.fail {
				if got := lastError(w.fails(item)); !strings.Contains(got, "ResultNotStored") {
					t.Errorf("got %s", got)
				}
			} else {
				w.succeeds(item)
			}
			if secrets := w.secrets(); token == "" || strings.Contains(secrets, token) {
				t.Error("the token is in a Secret")
			}
		})
	}
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' {
			return '-'
		}
		return r
	}, text)
}

// secrets returns the content of all Secrets, unpacked where it is packed.
func (w *world) secrets() string {
	w.Helper()
	var list corev1.SecretList
	if err := w.Client().List(w.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	var all strings.Builder
	for _, secret := range list.Items {
		for _, data := range secret.Data {
			all.Write(data)
			if zipped, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
				_, _ = io.Copy(&all, zipped) // as far as it is readable
			}
		}
	}
	return all.String()
}
