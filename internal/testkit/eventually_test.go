// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

// spy stands in for a test that fails.
type spy struct {
	testing.TB
	ctx context.Context
	// giveUp ends what the spy waits for, once it has seen what it must see before it fails.
	giveUp   context.CancelFunc
	mutex    sync.Mutex
	failed   bool
	text     strings.Builder
	cleanups []func()
}

func (s *spy) Helper()                  {}
func (s *spy) Context() context.Context { return s.ctx }

func (s *spy) Log(args ...any)           { s.print(false, fmt.Sprintln(args...)) }
func (s *spy) Error(args ...any)         { s.print(true, fmt.Sprintln(args...)) }
func (s *spy) Errorf(f string, a ...any) { s.print(true, fmt.Sprintf(f, a...)) }
func (s *spy) Fatal(args ...any)         { s.print(true, fmt.Sprintln(args...)); runtime.Goexit() }
func (s *spy) Fatalf(f string, a ...any) { s.print(true, fmt.Sprintf(f, a...)); runtime.Goexit() }
func (s *spy) Cleanup(f func())          { s.cleanups = append(s.cleanups, f) }
func (s *spy) Failed() bool              { s.mutex.Lock(); defer s.mutex.Unlock(); return s.failed }
func (s *spy) print(fail bool, text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.failed = s.failed || fail
	s.text.WriteString(text)
}

// outcome runs part of a test, including cleanups, and returns whether it failed and what it printed.
func outcome(t *testing.T, piece func(s *spy)) (failed bool, text string) {
	s := &spy{TB: t}
	s.ctx, s.giveUp = context.WithCancel(t.Context())
	defer s.giveUp()
	done := make(chan struct{})
	go func() {
		defer close(done)
		piece(s)
	}()
	<-done
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	return s.Failed(), s.text.String()
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func mustUpdate(t testing.TB, server *testkit.APIServer, object client.Object) {
	t.Helper()
	if err := server.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func mustDelete(t testing.TB, server *testkit.APIServer, object client.Object) {
	t.Helper()
	if err := server.Client().Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

var ready = testkit.Is("ready", func(m *corev1.ConfigMap) bool { return m.Data["state"] == "ready" })

func TestEventuallySeesTheFuture(t *testing.T) {
	server := testkit.Server(t)
	cases := map[string]func(t *testing.T, object *corev1.ConfigMap){
		"an object that is as wanted already": func(t *testing.T, object *corev1.ConfigMap) {
			object.Data = map[string]string{"state": "ready"}
			testkit.Create(t, server, object)
		},
		"an object that does not exist yet": func(t *testing.T, object *corev1.ConfigMap) {
			object.Data = map[string]string{"state": "ready"}
			go func() { _ = server.Client().Create(t.Context(), object) }()
		},
		"an object that changes": func(t *testing.T, object *corev1.ConfigMap) {
			testkit.Create(t, server, object)
			object.Data = map[string]string{"state": "ready"}
			go func() { _ = server.Client().Update(t.Context(), object) }()
		},
	}
	for name, arrange := range cases {
		t.Run(name, func(t *testing.T) {
			object := configMap(server.Namespace(t), "a", nil)
			arrange(t, object.DeepCopy())
			found := testkit.Eventually(t, server, object, ready)
			if found.Data["state"] != "ready" || found.UID == "" {
				t.Errorf("returned %v", found)
			}
		})
	}
}

func TestEventuallyTakesUntypedObjects(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	testkit.Create(t, server, configMap(namespace, "a", map[string]string{"state": "ready"}))
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	object.SetNamespace(namespace)
	object.SetName("a")
	found := testkit.Eventually(t, server, object, testkit.Is("there", func(*unstructured.Unstructured) bool { return true }))
	if state, _, _ := unstructured.NestedString(found.Object, "data", "state"); state != "ready" {
		t.Errorf("returned %v", found)
	}
}

func TestEventuallyExplainsItsFailure(t *testing.T) {
	server := testkit.Server(t)
	object := configMap(server.Namespace(t), "a", map[string]string{"state": "new"})
	testkit.Create(t, server, object)
	sees := make(chan string, 10)
	failed, text := outcome(t, func(s *spy) {
		changed := object.DeepCopy()
		changed.Data["state"] = "old"
		go func() {
			<-sees
			_ = server.Client().Update(t.Context(), changed)
		}()
		testkit.Eventually(s, server, object, func(m *corev1.ConfigMap) error {
			sees <- m.Data["state"]
			if m.Data["state"] == "old" {
				s.giveUp()
			}
			return ready(m)
		})
	})
	if !failed {
		t.Fatal("it did not fail")
	}
	for _, want := range []string{"ConfigMap " + object.Namespace + "/a: it is not ready", "state: old", "data.state: new -> old", "modified"} {
		if !strings.Contains(text, want) {
			t.Errorf("the failure does not say %q:\n%s", want, text)
		}
	}
}

func TestEventuallyShowsNoSecret(t *testing.T) {
	server := testkit.Server(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "a"},
		StringData: map[string]string{"password": "CANARY"},
	}
	testkit.Create(t, server, secret)
	failed, text := outcome(t, func(s *spy) {
		never := testkit.Is("ever", func(*corev1.Secret) bool {
			s.giveUp()
			return false
		})
		testkit.Eventually(s, server, secret, never)
	})
	if !failed || strings.Contains(text, "CANARY") || strings.Contains(text, "Q0FOQVJZ") {
		t.Errorf("failed %v, and printed a secret:\n%s", failed, text)
	}
	if !strings.Contains(text, "password: (masked") {
		t.Errorf("does not show which keys there are:\n%s", text)
	}
}

func TestEventuallyGivesUp(t *testing.T) {
	server := testkit.Server(t)
	object := configMap(server.Namespace(t), "a", nil)
	failed, text := outcome(t, func(s *spy) { testkit.Eventually(s, server, object, ready, testkit.Within(time.Millisecond)) })
	if !failed || !strings.Contains(text, "for ConfigMap "+object.Namespace+"/a") || strings.Contains(text, "cut short") {
		t.Errorf("failed %v: %s", failed, text)
	}
}

// readObject tells when its UID is compared with that of a revision.
type readObject struct {
	*unstructured.Unstructured
	read func()
}

// GetUID implements client.Object.
func (o readObject) GetUID() types.UID {
	o.read()
	return o.Unstructured.GetUID()
}

func untyped(t *testing.T, object *corev1.ConfigMap) *unstructured.Unstructured {
	t.Helper()
	content, err := kruntime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	converted := &unstructured.Unstructured{Object: content}
	converted.SetAPIVersion("v1")
	converted.SetKind("ConfigMap")
	return converted
}

func TestEventuallyGone(t *testing.T) {
	server := testkit.Server(t)
	t.Run("by deletion", func(t *testing.T) {
		object := configMap(server.Namespace(t), "a", nil)
		testkit.Create(t, server, object)
		go func() { _ = server.Client().Delete(t.Context(), object.DeepCopy()) }()
		testkit.EventuallyGone(t, server, object)
	})
	t.Run("a successor is somebody else", func(t *testing.T) {
		object := configMap(server.Namespace(t), "a", nil)
		successor := object.DeepCopy()
		testkit.Create(t, server, object)
		mustDelete(t, server, object.DeepCopy())
		testkit.Create(t, server, successor)
		testkit.EventuallyGone(t, server, object)
	})
	t.Run("not while it exists", func(t *testing.T) {
		object := configMap(server.Namespace(t), "a", nil)
		testkit.Create(t, server, object)
		failed, text := outcome(t, func(s *spy) { testkit.EventuallyGone(s, server, readObject{untyped(t, object), s.giveUp}) })
		if !failed || !strings.Contains(text, "it still exists") {
			t.Errorf("failed %v: %s", failed, text)
		}
	})
}
