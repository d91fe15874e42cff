// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/testkit/faults"
)

// The fault in a plan affects the request that it names, and no other.
func TestAFrontFailsAsPlanned(t *testing.T) {
	type outcome struct {
		Executed, Answered, Crashed bool
		Status                      int
	}
	for action, want := range map[string]outcome{
		"before":       {Crashed: true},
		"after":        {Executed: true, Crashed: true},
		"lost":         {Executed: true},
		"lost-timeout": {Executed: true},
		"reset":        {},
		"500":          {Answered: true, Status: http.StatusInternalServerError},
		"503":          {Answered: true, Status: http.StatusServiceUnavailable},
	} {
		t.Run(action, func(t *testing.T) {
			d, err := parseDisturbance("provider:create:2:" + action)
			if err != nil {
				t.Fatal(err)
			}
			life := faults.New(faults.Plan{})
			f := &front{place: "provider", operationOf: func(*http.Request) string { return "create" }, plan: d.outside}
			f.inner = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
			f.executed = func(string, *httptest.ResponseRecorder) {}
			executed := func(number int) bool { return f.log()[number-1].status == http.StatusCreated }
			f.serve(life)
			server := httptest.NewServer(f)
			defer server.Close()
			client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
			if action == "lost-timeout" {
				client.Timeout = time.Second
			}
			send := func() int {
				answer, err := client.Post(server.URL, "text/plain", nil)
				if err != nil {
					return 0
				}
				_ = answer.Body.Close()
				return answer.StatusCode
			}
			if got := send(); got != http.StatusCreated || !executed(1) {
				t.Fatalf("the first request got %d", got)
			}
			status := send()
			got := outcome{Executed: executed(2), Answered: status != 0, Crashed: life.IsCrashed(), Status: status}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the second request (-want +got):\n%s", diff)
			}
			third := send()
			if alive := third == http.StatusCreated; alive == want.Crashed {
				t.Errorf("the third request got %d", third)
			}
		})
	}
}

// A printed plan can be parsed again.
func TestPlansAreReadAsTheyArePrinted(t *testing.T) {
	for _, text := range []string{
		"", "patch/pipelines/status=p:3:lost", "provider:create:1:lost-timeout", "write:3:409;provider:push:1:500;sink:event:2:after", "wipe@3", "splitBrain@0",
	} {
		if d, err := parseDisturbance(text); err != nil || d.String() != text {
			t.Errorf("%q becomes %q: %v", text, d, err)
		}
	}
	for _, text := range []string{"fly@3", "provider:create:0:lost", "provider:create:lost", "sink:event:1:explode", "stop@soon"} {
		if d, err := parseDisturbance(text); err == nil {
			t.Errorf("%q is taken for %q", text, d)
		}
	}
}
