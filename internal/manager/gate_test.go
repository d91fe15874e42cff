// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"espalier.dev/internal/fairness"
)

// apiServer answers on demand, and records the requests.
type apiServer struct {
	mu     sync.Mutex
	asked  []string
	answer chan struct{}
}

func (s *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, request.URL.Path)
	s.mu.Unlock()
	<-s.answer
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// about counts the arrived requests that contain a text.
func (s *apiServer) about(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, path := range s.asked {
		if strings.Contains(path, text) {
			count++
		}
	}
	return count
}

// send sends a request through a gate, which must succeed.
func send(t *testing.T, transport http.RoundTripper, path string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://server"+path, strings.NewReader("{}"))
	if err != nil {
		t.Error(err)
		return
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	_ = response.Body.Close()
}

func inNamespace(namespace string) string {
	return "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/" + namespace + "/installations"
}

func TestASingleRequestIsNotHeldUpByManyOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{answer: make(chan struct{})}
		transport := newGate(fairness.Limits{Shared: 8}).before(s)
		var all sync.WaitGroup
		many := func(count int) {
			for range count {
				all.Go(func() { send(t, transport, inNamespace("flood")) })
			}
			synctest.Wait()
		}
		many(20)
		if got := s.about("flood"); got != 20 {
			t.Errorf("%d requests are under way, want all of them while nobody else has any", got)
		}
		all.Go(func() { send(t, transport, inNamespace("single")) })
		synctest.Wait()
		if s.about("single") != 1 {
			t.Error("the single request waits")
		}
		many(20)
		if got := s.about("flood"); got != 20 {
			t.Errorf("%d requests are under way, want no more while another namespace has something to do", got)
		}
		for _, path := range []string{
			inNamespace("flood") + "?watch=true&resourceVersion=1",
			"/apis/coordination.k8s.io/v1/namespaces/flood/leases/espalier-controller",
			"/readyz",
		} {
			before := len(s.asked)
			all.Go(func() { send(t, transport, path) })
			synctest.Wait()
			if len(s.asked) != before+1 {
				t.Errorf("%s waits for its turn", path)
			}
		}
		close(s.answer)
		all.Wait()
		if got := s.about("/installations"); got != 42 {
			t.Errorf("%d requests were sent, want all 42", got)
		}
	})
}

func TestARequestThatIsGivenUpLeavesTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{answer: make(chan struct{})}
		transport := newGate(fairness.Limits{Shared: 2}).before(s)
		var all sync.WaitGroup
		for _, namespace := range []string{"a", "b"} {
			all.Go(func() { send(t, transport, inNamespace(namespace)) })
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		body := &closing{Reader: strings.NewReader("{}")}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://server"+inNamespace("a"), body)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if _, err := transport.RoundTrip(request); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that it was given up", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !body.closed {
			t.Error("the body is left open")
		}
		all.Go(func() { send(t, transport, inNamespace("a")) })
		synctest.Wait()
		close(s.answer)
		all.Wait()
		if got := len(s.asked); got != 3 {
			t.Errorf("%d requests were sent, want the three that were not given up", got)
		}
	})
}

type closing struct {
	*strings.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// A limit of requests per second lets requests pass in turn.
func TestTheLimitOfAConnectionIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan struct{})
		close(answered)
		s := &apiServer{answer: answered}
		config := gated(&rest.Config{QPS: 10, Burst: 1}, 16)
		if config.QPS != -1 {
			t.Errorf("client-go also limits requests, to %v in a second", config.QPS)
		}
		transport := config.WrapTransport(s)
		var all sync.WaitGroup
		began := time.Now()
		for range 50 {
			all.Go(func() { send(t, transport, inNamespace("flood")) })
		}
		synctest.Wait()
		send(t, transport, inNamespace("single"))
		if took := time.Since(began); took < 100*time.Millisecond || took > 300*time.Millisecond {
			t.Errorf("the single request took %v, want two or three tenths of a second", took)
		}
		all.Wait()
		if took := time.Since(began); took < 4900*time.Millisecond || took > 5100*time.Millisecond {
			t.Errorf("51 requests took %v, want 5s", took)
		}
	})
}

func TestALimitOfSomebodyElseStays(t *testing.T) {
	limiter := flowcontrol.NewFakeAlwaysRateLimiter()
	if config := gated(&rest.Config{QPS: 10, RateLimiter: limiter}, 16); config.RateLimiter != limiter || config.QPS != 10 {
		t.Errorf("the limit became %v, %v", config.RateLimiter, config.QPS)
	}
	original := &rest.Config{QPS: 10, Burst: 20}
	gated(original, 16)
	if original.QPS != 10 || original.WrapTransport != nil {
		t.Error("the connection of the caller was changed")
	}
}
