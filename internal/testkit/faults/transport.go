// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const jsonType = "application/json"

// Transport stands between all clients with one configuration and their API server. It is the network connection of one controller process:
// after a crash it stays dead, and a restarted controller gets a new one.
type Transport struct {
	plan    Plan
	maxHold time.Duration

	mutex       sync.Mutex
	changed     *sync.Cond // signals changes that a watch or a test may wait for
	requests    int
	writes      int
	matches     []int // how many requests the pattern of each request fault has matched
	log         Log
	crashed     chan struct{}
	watchFaults watchFaults
	streams     map[*stream]struct{}
	hooks       map[int][]func() // by number of write
	moments     []moment
	frozen      bool
}

// New returns a transport that fails as planned.
func New(plan Plan) *Transport {
	t := &Transport{
		plan:        plan,
		maxHold:     MaxHold,
		matches:     make([]int, len(plan.Requests)),
		crashed:     make(chan struct{}),
		watchFaults: newWatchFaults(),
		streams:     map[*stream]struct{}{},
		hooks:       map[int][]func(){},
	}
	t.changed = sync.NewCond(&t.mutex)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.beginWatchFaults(0)
	return t
}

// Config returns a copy of the configuration whose clients use this transport. They use JSON, even for kinds for which they would choose a
// binary format, because the transport must understand the content.
func (t *Transport) Config(config *rest.Config) *rest.Config {
	wrapped := rest.CopyConfig(config)
	wrapped.ContentType, wrapped.AcceptContentTypes = jsonType, jsonType
	wrapped.Wrap(func(base http.RoundTripper) http.RoundTripper { return roundTripper{transport: t, base: base} })
	return wrapped
}

// Crash ends the connection now; see the package's vocabulary.
func (t *Transport) Crash() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.crashLocked()
}

func (t *Transport) crashLocked() {
	if t.IsCrashed() {
		return
	}
	close(t.crashed)
	for s := range t.streams {
		s.endLocked(resetError())
	}
	t.changed.Broadcast()
}

// Crashed returns a channel that a crash closes, so that the test can stop the controller and start the next one.
func (t *Transport) Crashed() <-chan struct{} { return t.crashed }

// AfterCrash calls a function once the connection has crashed. The caller must call over, which returns when the function will not run any
// more.
func (t *Transport) AfterCrash(do func()) (over func()) {
	enough, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-t.crashed:
			do()
		case <-enough:
		}
	}()
	return func() { close(enough); <-done }
}

// IsCrashed reports whether the connection has crashed.
func (t *Transport) IsCrashed() bool {
	select {
	case <-t.crashed:
		return true
	default:
		return false
	}
}

// Log returns the requests so far.
func (t *Transport) Log() Log {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.log)
}

// call is one request in progress.
type call struct {
	Request
	index  int // in the log
	write  int // its number, if it has one
	action Action
	before []func() // to call first
	dead   bool     // it came after the crash
}

// admit numbers a request and chooses its fault.
func (t *Transport) admit(r Request) call {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.requests++
	c := call{Request: r, index: len(t.log), dead: t.IsCrashed()}
	entry := Entry{Request: r, Number: t.requests, At: time.Now()}
	if !c.dead {
		if r.IsNumbered() {
			t.writes++
			c.write, entry.Write = t.writes, t.writes
			t.beginWatchFaults(t.writes)
		}
		if fault := t.strike(r); fault != nil {
			c.action, entry.Fault = fault.Do, fault.String()
		}
		c.before = t.dueLocked(r, c.write)
	}
	t.log = append(t.log, entry)
	return c
}

// strike returns the first fault that selects the request. All patterns count it, whether or not another fault applied first.
func (t *Transport) strike(r Request) *RequestFault {
	var chosen *RequestFault
	for i := range t.plan.Requests {
		fault := &t.plan.Requests[i]
		if !fault.What.Matches(r) {
			continue
		}
		t.matches[i]++
		if chosen == nil && fault.Which.selects(t.matches[i]) {
			chosen = fault
		}
	}
	return chosen
}

// settle records the outcome of a request.
func (t *Transport) settle(c call, status int, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.log[c.index].Status, t.log[c.index].Err = status, err
	if c.write > 0 {
		t.endWatchFaults(c.write)
	}
}

// roundTripper is the part of a transport that one client holds.
type roundTripper struct {
	transport *Transport
	base      http.RoundTripper
}

// WrappedRoundTripper lets client-go find the underlying transport, to close its idle connections.
func (r roundTripper) WrappedRoundTripper() http.RoundTripper { return r.base }

func (r roundTripper) RoundTrip(httpRequest *http.Request) (*http.Response, error) {
	httpRequest = httpRequest.Clone(httpRequest.Context())
	described, err := describe(httpRequest)
	if err != nil {
		return nil, err
	}
	c := r.transport.admit(described)
	if c.dead {
		err := refusedError()
		r.transport.settle(c, 0, err)
		closeBody(httpRequest)
		return nil, err
	}
	for _, do := range c.before {
		do()
	}
	if err := r.transport.awaitThaw(httpRequest); err != nil {
		r.transport.settle(c, 0, err)
		closeBody(httpRequest)
		return nil, err
	}
	response, status, err := r.perform(c, httpRequest)
	r.transport.settle(c, status, err)
	return response, err
}

// perform carries out the planned fault. The status is the server's, not that of an injected answer.
func (r roundTripper) perform(c call, httpRequest *http.Request) (response *http.Response, status int, err error) {
	switch c.action {
	case CrashBefore:
		r.transport.Crash()
		return refuse(httpRequest, resetError())
	case Reset:
		return refuse(httpRequest, resetError())
	case Timeout:
		return refuse(httpRequest, timeoutError())
	case CrashAfter:
		return r.executeOnly(httpRequest, resetError(), r.transport.Crash)
	case LoseAnswer:
		return r.executeOnly(httpRequest, resetError(), func() {})
	case LoseAnswerByTimeout:
		return r.executeOnly(httpRequest, timeoutError(), func() {})
	}
	if invent, found := statuses[c.action]; found {
		closeBody(httpRequest)
		response, err := answer(httpRequest, invent(c.Request))
		return response, 0, err
	}
	if err := pause(httpRequest, c.action.delay); err != nil {
		return refuse(httpRequest, err)
	}
	return r.forward(c, httpRequest)
}

func refuse(httpRequest *http.Request, err error) (*http.Response, int, error) {
	closeBody(httpRequest)
	return nil, 0, err
}

// executeOnly lets the server execute the request and withholds the answer from the caller. The given function runs before the caller gets
// its error.
func (r roundTripper) executeOnly(httpRequest *http.Request, told error, then func()) (*http.Response, int, error) {
	response, err := r.base.RoundTrip(httpRequest)
	if err != nil {
		then()
		return nil, 0, err
	}
	// The headers of an answer arrive when the request is executed. The body is not read: that of a watch never ends.
	_ = response.Body.Close()
	then()
	return nil, response.StatusCode, told
}

func (r roundTripper) forward(c call, httpRequest *http.Request) (*http.Response, int, error) {
	if c.Verb == "watch" {
		askForJSON(httpRequest)
	}
	response, err := r.base.RoundTrip(httpRequest)
	if err != nil {
		return nil, 0, err
	}
	status := response.StatusCode
	if r.transport.IsCrashed() {
		_ = response.Body.Close()
		return nil, status, resetError()
	}
	if c.Verb == "watch" && status == http.StatusOK {
		if err := r.transport.intercept(c.Request, response); err != nil {
			_ = response.Body.Close()
			return nil, status, err
		}
	}
	return response, status, nil
}

func pause(httpRequest *http.Request, delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	select {
	case <-time.After(delay):
		return nil
	case <-httpRequest.Context().Done():
		return fmt.Errorf("%w while slowed down", httpRequest.Context().Err())
	}
}

// closeBody does what the contract of http.RoundTripper requires when a request is not sent.
func closeBody(httpRequest *http.Request) {
	if httpRequest.Body != nil {
		_ = httpRequest.Body.Close()
	}
}
