// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit/traffic"
)

func TestTrafficIsSeenAndAnswered(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	seen := traffic.New()
	client := &http.Client{Transport: seen.Wrap(http.DefaultTransport)}
	get := func(path string) *http.Response {
		t.Helper()
		answer, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}

	get("/pods")
	watched := get("/pods?watch=true")
	if n := seen.Streams(); n != 1 {
		t.Errorf("%d watches are open, want 1", n)
	}
	for range 2 { // Closing twice counts once.
		_ = watched.Body.Close()
	}
	seen.AwaitStreams(t, 0)

	seen.AnswerWith(func(request *http.Request) *http.Response {
		if request.URL.Path != "/nodes" {
			return nil
		}
		return traffic.Refusal(request, http.StatusGone, metav1.StatusReasonExpired)
	})
	refused := get("/nodes")
	text, err := io.ReadAll(refused.Body)
	want := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Expired","code":410}`
	if err != nil || string(text) != want {
		t.Errorf("the answer is %s, %v, want %s", text, err, want)
	}
	if passed := get("/pods"); passed.StatusCode != http.StatusOK {
		t.Errorf("what is passed on is answered with %s", passed.Status)
	}
	seen.AnswerWith(nil)
	if asked := get("/nodes"); asked.StatusCode != http.StatusOK {
		t.Errorf("the server answers with %s", asked.Status)
	}

	if diff := cmp.Diff([]string{"GET /pods", "GET /pods?watch=true", "GET /nodes", "GET /pods", "GET /nodes"}, seen.Requests()); diff != "" {
		t.Error(diff)
	}
	seen.Await(t, "three requests for pods", func(tr *traffic.Traffic) bool { return tr.Number("/pods") == 3 })
}
