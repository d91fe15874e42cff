// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package traffic sees what a client sends to a server.
package traffic

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit"
)

// Traffic observes the transports that it wraps. It records the requests, counts the open watches, and may answer in place of the server.
// Its methods may be called from several goroutines.
type Traffic struct {
	mutex    sync.Mutex
	requests []string
	streams  int
	changed  chan struct{}
	answer   func(*http.Request) *http.Response
}

// New returns a Traffic that has seen nothing yet.
func New() *Traffic { return &Traffic{changed: make(chan struct{})} }

// RoundTripper is a function as a transport.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (r RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// Wrap returns a transport whose requests are observed. It has the signature that client configurations require.
func (tr *Traffic) Wrap(base http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		if response := tr.note(request); response != nil {
			return response, nil
		}
		response, err := base.RoundTrip(request)
		if err == nil && isStream(request) && response.StatusCode == http.StatusOK {
			tr.count(1)
			response.Body = &stream{ReadCloser: response.Body, closed: sync.OnceFunc(func() { tr.count(-1) })}
		}
		return response, err
	})
}

// note records a request and returns the answer to it, unless the server must answer.
func (tr *Traffic) note(request *http.Request) *http.Response {
	tr.mutex.Lock()
	tr.requests = append(tr.requests, request.Method+" "+request.URL.RequestURI())
	answer := tr.answer
	tr.announceLocked()
	tr.mutex.Unlock()
	if answer == nil {
		return nil
	}
	return answer(request)
}

func (tr *Traffic) count(by int) {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	tr.streams += by
	tr.announceLocked()
}

func (tr *Traffic) announceLocked() {
	close(tr.changed)
	tr.changed = make(chan struct{})
}

// isStream reports whether the answer to a request has no end.
func isStream(request *http.Request) bool {
	query := request.URL.Query()
	isSet := func(key string) bool { return query.Get(key) == "true" || query.Get(key) == "1" }
	return isSet("watch") || isSet("follow")
}

type stream struct {
	io.ReadCloser
	closed func()
}

// Close ends the stream and records that.
func (s *stream) Close() error {
	s.closed()
	return s.ReadCloser.Close()
}

// AnswerWith makes a function answer from now on. Where it returns nil, and without a function, the server answers.
func (tr *Traffic) AnswerWith(answer func(*http.Request) *http.Response) {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	tr.answer = answer
}

// Requests returns all observed requests, each as its method and its path with the query.
func (tr *Traffic) Requests() []string {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	return slices.Clone(tr.requests)
}

// Number returns how many requests contain a text.
func (tr *Traffic) Number(text string) int {
	number := 0
	for _, request := range tr.Requests() {
		if strings.Contains(request, text) {
			number++
		}
	}
	return number
}

// Streams returns how many watches are open.
func (tr *Traffic) Streams() int {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	return tr.streams
}

// Await waits until the condition holds. It checks again at each request and whenever a watch starts or ends.
func (tr *Traffic) Await(t testing.TB, what string, holds func(*Traffic) bool) {
	t.Helper()
	limit := time.NewTimer(testkit.Patience)
	defer limit.Stop()
	for {
		tr.mutex.Lock()
		changed := tr.changed
		tr.mutex.Unlock()
		if holds(tr) {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("waited in vain for %s; %d watches are open after\n%s", what, tr.Streams(), strings.Join(tr.Requests(), "\n"))
		}
	}
}

// AwaitStreams waits until the given number of watches is open.
func (tr *Traffic) AwaitStreams(t testing.TB, want int) {
	t.Helper()
	tr.Await(t, fmt.Sprintf("%d watches", want), func(tr *Traffic) bool { return tr.Streams() == want })
}

// Refusal returns the answer of an API server that rejects a request.
func Refusal(request *http.Request, code int, reason metav1.StatusReason) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":%q,"code":%d}`, reason, code)
	return &http.Response{
		StatusCode: code, Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}
