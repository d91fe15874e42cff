// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// sourceAt is a container whose log a handler serves.
func sourceAt(t *testing.T, serve http.HandlerFunc) source {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	core, err := corev1client.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return source{pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}, container: "c", pods: core}
}

// A cluster that does not answer, or stops in the middle, is given up.
func TestLogsThatNeverEnd(t *testing.T) {
	s := &session{options: logsOptions{tail: everyLine, patience: 100 * time.Millisecond}}
	for name, begun := range map[string]string{"without an answer": "", "in the middle": "2026-03-01T12:00:00Z first\n"} {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{})
			from := sourceAt(t, func(w http.ResponseWriter, r *http.Request) {
				if begun != "" {
					fmt.Fprint(w, begun)
					_ = http.NewResponseController(w).Flush() // Without it there is no answer, which must end as well.
				}
				select {
				case <-r.Context().Done():
				case <-over:
				}
			})
			t.Cleanup(func() { close(over) })
			_, err := s.read(t.Context(), from, time.Time{}, func(line) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "timed out after 100ms waiting for an answer") {
				t.Error(err)
			}
		})
	}
}

// Lines that are too long are cut, and those that were read before are left out.
func TestLinesOfLogs(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	from := sourceAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sinceTime") != "2026-03-01T12:00:00Z" || r.URL.Query().Has("tailLines") {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		fmt.Fprintf(w, "2026-03-01T12:00:00.1Z before\n2026-03-01T12:00:00.5Z last\n2026-03-01T12:00:00.6Z \n2026-03-01T12:00:01Z %s\n"+
			"2026-03-01T12:00:02Z without an end", long)
	})
	s := &session{options: logsOptions{tail: 5, patience: time.Minute}}
	var got []line
	last, err := s.read(t.Context(), from, noon.Add(500*time.Millisecond), func(l line) error { got = append(got, l); return nil })
	const stamp = len("2026-03-01T12:00:01Z ")
	want := []line{
		{at: noon.Add(600 * time.Millisecond)}, {at: noon.Add(time.Second), text: long[stamp:]}, {at: noon.Add(time.Second), text: long[:stamp]},
		{at: noon.Add(2 * time.Second), text: "without an end"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" || err != nil || !last.Equal(noon.Add(2*time.Second)) {
		t.Errorf("%v, %v\n%s", last, err, diff)
	}
}
