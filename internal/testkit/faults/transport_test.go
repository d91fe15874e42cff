// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
func isReset(err error) bool   { return errors.Is(err, syscall.ECONNRESET) }
func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) && os.IsTimeout(err) }

// Each fault is checked from both sides: what the caller gets, and what the server did.
func TestFaultsOfRequests(t *testing.T) {
	cases := map[string]struct {
		told    func(error) bool // the error that the caller of the second create gets
		stored  bool             // whether the second object exists afterwards
		crashed bool             // whether every later request is refused
	}{
		"write:2:before":       {told: isReset, crashed: true},
		"write:2:after":        {told: isReset, stored: true, crashed: true},
		"write:2:lost":         {told: isReset, stored: true},
		"write:2:lost-timeout": {told: isTimeout, stored: true},
		"write:2:reset":        {told: isReset},
		"write:2:timeout":      {told: isTimeout},
		"write:2:409":          {told: apierrors.IsConflict},
		"write:2:500":          {told: apierrors.IsInternalError},
		"write:2:503":          {told: apierrors.IsServiceUnavailable},
		"write:2:504":          {told: apierrors.IsTimeout},
		"write:2:slow=10ms":    {told: func(err error) bool { return err == nil }, stored: true},
	}
	for plan, want := range cases {
		t.Run(plan, func(t *testing.T) {
			w := newWorld(t, plan)
			if err := w.faulty.Create(t.Context(), w.configMap("first")); err != nil {
				t.Fatalf("the fault struck too early: %v", err)
			}
			if err := w.faulty.Create(t.Context(), w.configMap("second")); !want.told(err) {
				t.Errorf("the caller was told %v", err)
			}
			if stored := w.stored("second"); stored != want.stored {
				t.Errorf("stored: %v, want %v", stored, want.stored)
			}
			err := w.faulty.Create(t.Context(), w.configMap("third"))
			if isRefused(err) != want.crashed || w.stored("third") == want.crashed {
				t.Errorf("crashed: want %v, but the next caller was told %v", want.crashed, err)
			}
			select {
			case <-w.transport.Crashed():
				if !want.crashed {
					t.Error("it says that it has crashed")
				}
			default:
				if want.crashed {
					t.Error("it does not say that it has crashed")
				}
			}
		})
	}
}

// The answer to a watch has no end; losing it must not wait for one. The client retries by itself, as for every read.
func TestAnswersOfWatchesCanBeLostToo(t *testing.T) {
	cases := map[string]func(error) bool{
		"watch/configmaps:1:lost":  func(err error) bool { return err == nil },
		"watch/configmaps:1:after": isRefused,
	}
	for plan, told := range cases {
		t.Run(plan, func(t *testing.T) {
			w := newWorld(t, plan)
			watcher, err := w.faulty.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.Namespace))
			if err == nil {
				defer watcher.Stop()
			}
			first := w.transport.Log()[0]
			if !told(err) || first.Status != http.StatusOK || !isReset(first.Err) {
				t.Errorf("the caller was told %v in the end, and the first time %s", err, first)
			}
		})
	}
}

func TestTooManyRequestsIsRetriedByTheClient(t *testing.T) {
	w := newWorld(t, "write:1:429")
	if err := w.faulty.Create(t.Context(), w.configMap("a")); err != nil {
		t.Fatalf("the client did not come back: %v", err)
	}
	var answers []int
	for _, write := range w.transport.Log().Writes() {
		answers = append(answers, write.Status)
	}
	if diff := cmp.Diff([]int{0, http.StatusCreated}, answers); diff != "" {
		t.Errorf("want one refusal and one success (-want +got):\n%s", diff)
	}
	if !w.stored("a") {
		t.Error("the object is not stored")
	}
}

func TestTooManyRequestsAsksToComeBack(t *testing.T) {
	w := newWorld(t, "write:1:429")
	clients, err := kubernetes.NewForConfig(w.transport.Config(testkit.Server(t).Config()))
	if err != nil {
		t.Fatal(err)
	}
	err = clients.CoreV1().RESTClient().Post().Namespace(w.Namespace).Resource("configmaps").
		Body(w.configMap("a")).MaxRetries(0).Do(t.Context()).Error()
	seconds, delay := apierrors.SuggestsClientDelay(err)
	if !apierrors.IsTooManyRequests(err) || !delay || seconds != 1 {
		t.Errorf("told %v, to come back: %t, after %d s", err, delay, seconds)
	}
	if w.stored("a") {
		t.Error("the object is stored")
	}
}

func TestFaultsStrikeWhatTheyName(t *testing.T) {
	w := newWorld(t, "update/configmaps:2:409;*/secrets:1:500;create/configmaps=special:1:503")
	object := w.configMap("a")
	if err := w.faulty.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, false} { // only the second update conflicts
		object.Data = map[string]string{"round": string(rune('0' + i))}
		if err := w.faulty.Update(t.Context(), object); apierrors.IsConflict(err) != want {
			t.Errorf("update %d: %v", i+1, err)
		}
	}
	if err := w.faulty.List(t.Context(), &corev1.SecretList{}, client.InNamespace(w.Namespace)); !apierrors.IsInternalError(err) {
		t.Errorf("list of secrets: %v", err)
	}
	if err := w.faulty.Create(t.Context(), w.configMap("special")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("create of the special one: %v", err)
	}
}

func TestLogShowsWhatPassed(t *testing.T) {
	w := newWorld(t, "write:2:lost")
	object := w.configMap("a")
	_ = w.faulty.Create(t.Context(), object)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"key":"value"}}`))
	_ = w.faulty.Patch(t.Context(), object, patch)
	_ = w.faulty.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	log := w.transport.Log()
	want := []string{
		"create configmaps " + w.Namespace + "/a -> 201",
		"patch configmaps [data.key] " + w.Namespace + "/a -> 200 (write:2:lost)",
		"get configmaps " + w.Namespace + "/a -> 200",
	}
	for i, entry := range log {
		if i >= len(want) || !strings.Contains(entry.String(), want[i]) {
			t.Errorf("entry %d is %s", i+1, entry)
		}
	}
	if len(log) != len(want) || len(log.Writes()) != 2 || log.Signatures()["create configmaps"] != 1 {
		t.Errorf("want three requests and two writes:\n%s", log)
	}
	patches, err := log.Matching("patch/configmaps")
	if err != nil || len(patches) != 1 || patches[0].Write != 2 {
		t.Errorf("patches: %v, %v", patches, err)
	}
}

// Answers in progress when the process dies reach nobody.
func TestCrashCutsOffAnswersUnderWay(t *testing.T) {
	arrived, proceed := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-proceed
	}))
	defer server.Close()
	transport := faults.New(faults.Plan{})
	httpClient, err := rest.HTTPClientFor(transport.Config(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error)
	go func() {
		response, err := httpClient.Get(server.URL + "/api/v1/namespaces/ns/configmaps/a")
		if err == nil {
			_ = response.Body.Close()
		}
		told <- err
	}()
	<-arrived
	transport.Crash()
	close(proceed)
	if err := <-told; !isReset(err) {
		t.Errorf("the caller was told %v", err)
	}
	transport.Crash() // a second crash changes nothing
}

func TestSlowRequestsHeedTheirContext(t *testing.T) {
	w := newWorld(t, "write:1:slow=1h")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.faulty.Create(ctx, w.configMap("a")); !errors.Is(err, context.Canceled) || w.stored("a") {
		t.Errorf("told %v, stored %v", err, w.stored("a"))
	}
}

func TestConfigLeavesTheOriginalAlone(t *testing.T) {
	original := testkit.Server(t).Config()
	transport := faults.New(faults.MustParse("request:*:503"))
	faulty, err := kubernetes.NewForConfig(transport.Config(original))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := kubernetes.NewForConfig(original)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := faulty.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("through the transport: %v", err)
	}
	if _, err := plain.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("past the transport: %v", err)
	}
}
