// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// sleeper is woken by a watch.
type sleeper struct {
	woken chan struct{}
	stop  func()
}

func watchFor(t *testing.T, cluster *Cluster, kind schema.GroupVersionKind, key client.ObjectKey) *sleeper {
	t.Helper()
	s := &sleeper{woken: make(chan struct{}, 1)}
	var err error
	s.stop, err = cluster.Watch(kind, key, func() {
		select {
		case s.woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func (s *sleeper) await(t *testing.T) {
	t.Helper()
	awaitWake(t, s.woken)
}

// awaken waits until the watch of a new subscriber runs: then it has been woken once.
func (s *sleeper) awaken(t *testing.T, w *world, streams int) {
	t.Helper()
	w.traffic.AwaitStreams(t, streams)
	s.await(t)
}

// deployTarget is a Target with a service account that may watch ConfigMaps.
func (w *world) deployTarget(t *testing.T) *Cluster {
	t.Helper()
	token := account(t, w.host, w.namespace, "deployer", may("configmaps", "list", "watch"))
	return w.cluster(t, testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, "", token)).Build())
}

func touch(t *testing.T, w *world, object *corev1.ConfigMap) {
	t.Helper()
	object.Data = map[string]string{"time": object.ResourceVersion}
	if err := w.host.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func TestAWatchWakesOnCreationChangeAndDeletion(t *testing.T) {
	w := newWorld(t)
	cluster := w.deployTarget(t)
	object, bystander := configMap(w.namespace, "x"), configMap(w.namespace, "y")
	mine := watchFor(t, cluster, configMapKind, client.ObjectKeyFromObject(object))
	mine.awaken(t, w, 1)
	others := watchFor(t, cluster, configMapKind, client.ObjectKeyFromObject(bystander))

	testkit.Create(t, w.host, object)
	mine.await(t)
	touch(t, w, object)
	mine.await(t)
	if err := w.host.Client().Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	mine.await(t)
	// Events of one watch are ordered, so those of the other object would have arrived before this one.
	select {
	case <-others.woken:
		t.Error("the change of another object woke")
	default:
	}
	testkit.Create(t, w.host, bystander)
	others.await(t)
	if n := w.traffic.Number("watch=true"); n != 1 {
		t.Errorf("%d watches were opened for one kind and namespace", n)
	}
}

func TestWatchesCarryMetadataOnly(t *testing.T) {
	w := newWorld(t)
	var accept []string
	w.traffic.AnswerWith(func(request *http.Request) *http.Response {
		if strings.Contains(request.URL.Path, "/configmaps") {
			accept = append(accept, request.Header.Get("Accept"))
		}
		return nil
	})
	watchFor(t, w.deployTarget(t), configMapKind, client.ObjectKey{Namespace: w.namespace, Name: "x"}).awaken(t, w, 1)
	w.traffic.AnswerWith(nil)
	if len(accept) != 2 {
		t.Fatalf("%d requests, want a list and a watch", len(accept))
	}
	for _, header := range accept {
		if !strings.Contains(header, "PartialObjectMetadata") {
			t.Errorf("whole objects are asked for: %s", header)
		}
	}
}

func TestAWatchEndsWithItsLastSubscriber(t *testing.T) {
	w := newWorld(t)
	cluster := w.deployTarget(t)
	key := client.ObjectKey{Namespace: w.namespace, Name: "x"}
	first := watchFor(t, cluster, configMapKind, key)
	first.awaken(t, w, 1)
	second := watchFor(t, cluster, configMapKind, key)
	elsewhere := watchFor(t, cluster, configMapKind, client.ObjectKey{Namespace: "default", Name: "x"})
	first.stop()
	first.stop()
	object := configMap(w.namespace, "x")
	testkit.Create(t, w.host, object)
	second.await(t)
	second.stop()
	w.traffic.AwaitStreams(t, 0)
	if !cluster.watches.any() {
		t.Error("the watch in the other namespace has ended, too")
	}
	elsewhere.stop()
	if cluster.watches.any() {
		t.Error("a watch without subscribers is still there")
	}
	again := watchFor(t, cluster, configMapKind, key)
	again.awaken(t, w, 1)
	w.clusters.Close()
	w.traffic.AwaitStreams(t, 0)
	assertNoGoroutinesOfOurs(t)
}

// assertNoGoroutinesOfOurs checks that no goroutine runs code of this package. Close has waited for them, so none is about to end.
func assertNoGoroutinesOfOurs(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "target.(*follower)") || strings.Contains(stack, "target.(*watches)") {
			t.Errorf("a goroutine is left:\n%s", stack)
		}
	}
}

func TestAnExpiredVersionIsListedAgain(t *testing.T) {
	w := newWorld(t)
	gone := 2
	w.traffic.AnswerWith(func(request *http.Request) *http.Response {
		if !isStream(request) || gone == 0 {
			return nil
		}
		gone--
		return traffic.Refusal(request, http.StatusGone, metav1.StatusReasonExpired)
	})
	cluster := w.deployTarget(t)
	watchFor(t, cluster, configMapKind, client.ObjectKey{Namespace: w.namespace, Name: "x"}).awaken(t, w, 1)
	if lists := w.traffic.Number("/configmaps?limit=1"); lists != 3 {
		t.Errorf("it was listed %d times, want 3", lists)
	}
}

func TestALostConnectionIsResumedAndWakes(t *testing.T) {
	w := newWorld(t)
	way := relay.New(t, w.host.Config().Host)
	token := account(t, w.host, w.namespace, "deployer", may("configmaps", "list", "watch"))
	// The breaker must not delay the watch, so its clock runs.
	clusters := NewClusters(Options{Host: w.host.Client(), Dialer: w.clusters.options.Dialer, WrapTransport: w.traffic.Wrap})
	clusters.timing = w.clusters.timing
	defer clusters.Close()
	cluster, err := clusters.For(
		t.Context(),
		testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, way.Address(), token)).Build(),
	)
	if err != nil {
		t.Fatal(err)
	}
	object := configMap(w.namespace, "x")
	sleeper := watchFor(t, cluster, configMapKind, client.ObjectKeyFromObject(object))
	sleeper.awaken(t, w, 1)
	way.Close()
	w.traffic.AwaitStreams(t, 0)
	testkit.Create(t, w.host, object)
	way.Open(t)
	sleeper.await(t)
	w.traffic.AwaitStreams(t, 1)
	touch(t, w, object)
	sleeper.await(t)
	if lists := w.traffic.Number("/configmaps?limit=1"); lists != 1 {
		t.Errorf("it was listed %d times: a lost connection can be resumed", lists)
	}
}

func TestWhatCannotBeWatchedWakesNowAndThen(t *testing.T) {
	for name, kind := range map[string]schema.GroupVersionKind{
		"forbidden":    corev1.SchemeGroupVersion.WithKind("Secret"),
		"unknown kind": sapling,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.clusters.timing.recheck = 20 * time.Millisecond
			sleeper := watchFor(t, w.deployTarget(t), kind, client.ObjectKey{Namespace: w.namespace, Name: "x"})
			for range 3 {
				sleeper.await(t)
			}
		})
	}
}

func TestAKindThatComesLaterIsWatched(t *testing.T) {
	w := newWorld(t)
	target := testkit.NewServer(t)
	cluster := w.cluster(t, testkit.Target(w.namespace, "a").Cluster(t, target).Build())
	sleeper := watchFor(t, cluster, sapling, client.ObjectKey{Namespace: "default", Name: "x"})
	w.traffic.Await(t, "discovery", func(tr *traffic.Traffic) bool { return tr.Number("/apis") > 0 })
	target.InstallCRD(t, saplings())
	w.advance(unknownFor)
	sleeper.awaken(t, w, 1)
}

func TestARefusedCredentialWakesThoseWhoWatch(t *testing.T) {
	w := newWorld(t)
	cluster := w.deployTarget(t)
	sleeper := watchFor(t, cluster, configMapKind, client.ObjectKey{Namespace: w.namespace, Name: "x"})
	sleeper.awaken(t, w, 1)
	w.traffic.AnswerWith(func(request *http.Request) *http.Response {
		return traffic.Refusal(request, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	})
	if err := list(t.Context(), cluster, w.namespace); err == nil {
		t.Fatal("the request was not refused")
	}
	sleeper.await(t)
}

func TestKindsWithoutANamespaceAreWatchedToo(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster(t, testkit.Target(w.namespace, "a").Cluster(t, w.host).Build())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	sleeper := watchFor(t, cluster, corev1.SchemeGroupVersion.WithKind("Namespace"), client.ObjectKeyFromObject(namespace))
	sleeper.awaken(t, w, 1)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"plant":"tree"}}}`))
	if err := w.host.Client().Patch(t.Context(), namespace, patch); err != nil {
		t.Fatal(err)
	}
	sleeper.await(t)
}

// A server that never answers must not make its watchers wait forever.
func TestAServerThatNeverAnswersWakesNowAndThen(t *testing.T) {
	w := newWorld(t)
	w.clusters.timing.recheck, w.clusters.timing.answer = 20*time.Millisecond, 20*time.Millisecond
	cluster := w.deployTarget(t)
	mustKnow(t, cluster)
	w.traffic.AnswerWith(func(request *http.Request) *http.Response {
		<-request.Context().Done()
		return nil
	})
	sleeper := watchFor(t, cluster, configMapKind, client.ObjectKey{Namespace: w.namespace, Name: "x"})
	for range 3 {
		sleeper.await(t)
	}
}

// mustKnow lets the cluster discover its kinds.
func mustKnow(t *testing.T, cluster *Cluster) {
	t.Helper()
	if _, err := cluster.Mapper().RESTMapping(configMapKind.GroupKind(), configMapKind.Version); err != nil {
		t.Fatal(err)
	}
}

func TestAWatchWithoutANameSeesAllObjects(t *testing.T) {
	w := newWorld(t)
	cluster := w.deployTarget(t)
	all := watchFor(t, cluster, configMapKind, client.ObjectKey{Namespace: w.namespace})
	all.awaken(t, w, 1)
	for _, name := range []string{"x", "y"} {
		testkit.Create(t, w.host, configMap(w.namespace, name))
		all.await(t)
	}
}
