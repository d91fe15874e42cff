// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func get(t *testing.T, handler http.Handler, target string) *http.Response {
	t.Helper()
	return ask(t, handler, http.MethodGet, target)
}

func ask(t *testing.T, handler http.Handler, method, target string) *http.Response {
	t.Helper()
	request := httptest.NewRequest(method, target, nil)
	if strings.HasPrefix(target, "/") {
		request.Host = "localhost"
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestStartPage(t *testing.T) {
	cluster := testkit.Server(t).Client()
	namespace := testkit.Server(t).Namespace(t)
	handler := NewHandler(Options{Reader: cluster, Log: logr.Discard(), Now: func() time.Time { return time.Now().Add(3 * time.Hour) }})

	empty := body(t, get(t, handler, "/"))
	if strings.Count(empty, "None yet.") != 2 {
		t.Errorf("the page of an empty cluster does not say so:\n%s", empty)
	}

	makeInstallation(t, cluster, namespace)
	makePipeline(t, cluster, namespace)
	response := get(t, handler, "/")
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("answer is %s, %v", response.Status, response.Header)
	}
	page := body(t, response)
	for _, want := range []string{
		namespace, "shop", "Failed", ">False<", "no &lt;script&gt;alert(1)&lt;/script&gt; please", ">3h<",
		"podinfo", "main@sha1:abc", ">True<", "WaitingForApproval: ask Jo",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script") {
		t.Error("a message became part of the page's markup")
	}
}

func makeInstallation(t *testing.T, cluster client.Client, namespace string) {
	t.Helper()
	installation := &landscaper.Installation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
		Spec: landscaper.InstallationSpec{Blueprint: landscaper.BlueprintDefinition{Inline: &landscaper.InlineBlueprint{
			Filesystem: landscaper.AnyJSON{Raw: []byte(`{"blueprint.yaml": ""}`)},
		}}},
	}
	create(t, cluster, installation)
	installation.Status.Phase = landscaper.PhaseFailed
	installation.Status.Conditions = []landscaper.Condition{{
		Type: landscaper.ConditionReady, Status: landscaper.ConditionFalse, Reason: landscaper.ReasonFailed,
		Message: "no <script>alert(1)</script> please", LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now(),
	}}
	updateStatus(t, cluster, installation)
}

func makePipeline(t *testing.T, cluster client.Client, namespace string) {
	t.Helper()
	pipeline := &pipelines.Pipeline{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "podinfo"},
		Spec: pipelines.PipelineSpec{
			AppRef:       pipelines.AppReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: "podinfo"},
			Environments: []pipelines.Environment{{Name: "dev", Targets: []pipelines.Target{{Namespace: "dev"}}}},
		},
	}
	create(t, cluster, pipeline)
	pipeline.Status.LatestRevision = "main@sha1:abc"
	pipeline.Status.Conditions = []metav1.Condition{{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "TargetsReadable",
		LastTransitionTime: metav1.Now(),
	}}
	pipeline.Status.Holds = []pipelines.Hold{{Reason: pipelines.HoldWaitingForApproval, Message: "ask Jo", Since: metav1.Now()}}
	updateStatus(t, cluster, pipeline)
}

func create(t *testing.T, cluster client.Client, object client.Object) {
	t.Helper()
	if err := cluster.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func updateStatus(t *testing.T, cluster client.Client, object client.Object) {
	t.Helper()
	if err := cluster.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func TestRowsAreSorted(t *testing.T) {
	now := time.Now()
	items := []landscaper.Installation{named("b", "a"), named("a", "b"), named("a", "a")}
	var got []string
	for _, r := range rowsOf(items, now, installationRow) {
		got = append(got, r.Namespace+"/"+r.Name)
	}
	if want := "a/a a/b b/a"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func named(namespace, name string) landscaper.Installation {
	return landscaper.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestMessageOfAnInstallation(t *testing.T) {
	ready := landscaper.Condition{Type: landscaper.ConditionReady, Status: landscaper.ConditionFalse, Message: "from the condition"}
	tests := map[string]struct {
		status landscaper.RunStatus
		want   row
	}{
		"nothing known": {landscaper.RunStatus{}, row{State: "not started", Ready: "Unknown"}},
		"only an error": {
			landscaper.RunStatus{LastError: &landscaper.Error{Message: "from the error"}},
			row{State: "not started", Ready: "Unknown", Message: "from the error"},
		},
		"condition wins": {
			landscaper.RunStatus{
				Phase:      landscaper.PhaseInit,
				Conditions: []landscaper.Condition{ready},
				LastError:  &landscaper.Error{Message: "from the error"},
			},
			row{State: string(landscaper.PhaseInit), Ready: "False", Message: "from the condition"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := installationRow(&landscaper.Installation{Status: landscaper.InstallationStatus{RunStatus: test.status}}, time.Now())
			if got.State != test.want.State || got.Ready != test.want.Ready || got.Message != test.want.Message {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAServerThatIsGoneIsAProblemOnThePage(t *testing.T) {
	config := testkit.Server(t).Config()
	config.Host = "https://127.0.0.1:1"
	reader, err := client.New(config, client.Options{Scheme: testkit.Server(t).Client().Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	response := get(t, NewHandler(Options{Reader: reader, Log: logr.Discard()}), "/")
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("answer is %s", response.Status)
	}
	if page := body(t, response); !strings.Contains(page, `role="alert"`) || !strings.Contains(page, "list installations") {
		t.Errorf("the page does not say what is wrong:\n%s", page)
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	handler := NewHandler(Options{Reader: testkit.Server(t).Client(), Log: logr.Discard()})
	targets := map[string]int{
		"http://localhost/":          http.StatusOK,
		"http://localhost/style.css": http.StatusOK,
		"http://localhost/healthz":   http.StatusOK,
		"http://localhost/nowhere":   http.StatusNotFound,
		"http://evil.example/":       http.StatusForbidden,
	}
	for target, status := range targets {
		response := get(t, handler, target)
		if response.StatusCode != status {
			t.Errorf("%s answers %s", target, response.Status)
		}
		for name, value := range headers {
			if got := response.Header.Get(name); got != value {
				t.Errorf("%s has %s %q", target, name, got)
			}
		}
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	handler := NewHandler(Options{Reader: testkit.Server(t).Client(), Log: logr.Discard()})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if response := ask(t, handler, method, "/"); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s answers %s", method, response.Status)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	hosts := map[string]bool{
		"localhost":              true,
		"localhost:8090":         true,
		"LOCALHOST":              true,
		"127.0.0.1":              true,
		"127.0.0.1:8090":         true,
		"127.8.9.1":              true,
		"[::1]":                  true,
		"[::1]:8090":             true,
		"::1":                    true,
		"evil.example":           false,
		"evil.example:8090":      false,
		"localhost.evil.example": false,
		"127.0.0.1.evil.example": false,
		"10.0.0.1":               false,
		"0.0.0.0":                false,
		"[::]:8090":              false,
		"":                       false,
		":8090":                  false,
	}
	for host, want := range hosts {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}

func TestNobodyElseIsServed(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), listener, Options{Log: logr.Discard()}); err == nil || !strings.Contains(err.Error(), "no login") {
		t.Errorf("an address that others can reach: %v", err)
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener was left open: %v", err)
	}
}

func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, Options{Reader: testkit.Server(t).Client(), Log: logr.Discard()}) }()

	url := "http://" + listener.Addr().String() + "/healthz"
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("answer is %s", response.Status)
	}
	rebound, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	rebound.Host = "evil.example"
	if response, err = http.DefaultClient.Do(rebound); err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a request for another name is answered with %s", response.Status)
	}

	// A request that never ends must not keep the server from stopping.
	endless, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	if _, err := io.WriteString(endless, "GET / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("the server still accepts connections")
	}
}
