// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

// What a plan says happens to the request that it names, and to no other.
func TestAFrontFailsAsPlanned(t *testing.T) {
	for action, want := range map[string]struct {
		executed, answered, crashed bool
		status                      int
	}{
		"before":       {crashed: true},
		"after":        {executed: true, crashed: true},
		"lost":         {executed: true},
		"lost-timeout": {executed: true},
		"reset":        {},
		"500":          {answered: true, status: http.StatusInternalServerError},
		"503":          {answered: true, status: http.StatusServiceUnavailable},
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
			got := send()
			if executed(2) != want.executed || (got != 0) != want.answered || got != want.status || life.IsCrashed() != want.crashed {
				t.Errorf("the second request got %d, executed %t, crashed %t", got, executed(2), life.IsCrashed())
			}
			third := send()
			if alive := third == http.StatusCreated; alive == want.crashed {
				t.Errorf("the third request got %d", third)
			}
		})
	}
}

// A printed plan can be repeated.
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
