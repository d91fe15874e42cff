// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Watches returns how many open watches of a resource the API server reports.
func (s *APIServer) Watches(t testing.TB, resource string) int {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	for line := range strings.Lines(string(metrics)) {
		if !strings.HasPrefix(line, "apiserver_longrunning_requests{") || !strings.Contains(line, `resource="`+resource+`"`) ||
			!strings.Contains(line, `verb="WATCH"`) {
			continue
		}
		var n int
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &n); err != nil {
			t.Fatalf("read %q: %v", line, err)
		}
		number += n
	}
	return number
}

// EventuallyWatches waits until the API server has want watches of a resource. It polls, since the server does not report when one has
// ended.
func (s *APIServer) EventuallyWatches(t testing.TB, resource string, want int) {
	t.Helper()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		number := s.Watches(t, resource)
		if number == want {
			return
		}
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatalf("the API server has %d watches of %s, want %d", number, resource, want)
		}
	}
}
