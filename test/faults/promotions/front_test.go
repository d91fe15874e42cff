// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"espalier.dev/internal/testkit/faults"
)

// outsideFault is a fault of one request to an external system.
type outsideFault struct {
	place, operation string
	number           int // among the requests of this operation, from 1
	do               faults.Action
}

func (f outsideFault) String() string {
	return fmt.Sprintf("%s:%s:%d:%s", f.place, f.operation, f.number, f.do)
}

func parseOutsideFault(text string) (outsideFault, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		return outsideFault{}, fmt.Errorf("fault %q is not PLACE:OPERATION:NUMBER:ACTION", text)
	}
	number, err := strconv.Atoi(parts[2])
	if err != nil || number < 1 {
		return outsideFault{}, fmt.Errorf("fault %q: %q is not a number from 1 on", text, parts[2])
	}
	action, found := actions[parts[3]]
	if !found {
		return outsideFault{}, fmt.Errorf("fault %q: there is no action %q", text, parts[3])
	}
	return outsideFault{place: parts[0], operation: parts[1], number: number, do: action}, nil
}

var actions = func() map[string]faults.Action {
	named := map[string]faults.Action{}
	for _, action := range []faults.Action{
		faults.CrashBefore, faults.CrashAfter, faults.LoseAnswer, faults.LoseAnswerByTimeout, faults.Reset,
		faults.AnswerConflict, faults.AnswerTooMany, faults.AnswerInternalError, faults.AnswerUnavailable,
	} {
		named[action.String()] = action
	}
	return named
}()

var codes = map[faults.Action]int{
	faults.AnswerConflict: http.StatusConflict, faults.AnswerTooMany: http.StatusTooManyRequests,
	faults.AnswerInternalError: http.StatusInternalServerError, faults.AnswerUnavailable: http.StatusServiceUnavailable,
}

// call is a request that has arrived at a front.
type call struct {
	operation string
	number    int
	status    int // of the answer; 0 if the request was not forwarded
	fault     string
}

func (c call) String() string {
	return fmt.Sprintf("%s %d -> %d %s", c.operation, c.number, c.status, c.fault)
}

// front stands in front of an external system and makes requests to it fail as planned. A request is executed atomically with its entry in
// the ledger.
type front struct {
	place       string
	operationOf func(*http.Request) string
	inner       http.Handler
	// executed is called with every answer of the system, one at a time.
	executed func(operation string, answer *httptest.ResponseRecorder)
	plan     []outsideFault

	execution sync.Mutex
	mutex     sync.Mutex
	counts    map[string]int
	calls     []call
	// life is the process that may call; after its end, requests get no answer until there is another process.
	life *faults.Transport
}

// serve permits a process to call from now on.
func (f *front) serve(life *faults.Transport) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.life = life
}

func (f *front) log() []call {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return slices.Clone(f.calls)
}

// struck counts the planned faults that have happened.
func (f *front) struck() int {
	return len(slices.DeleteFunc(f.log(), func(c call) bool { return c.fault == "" }))
}

// admit numbers a request and returns its fault.
func (f *front) admit(operation string) (index int, action faults.Action, life *faults.Transport) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.life != nil && f.life.IsCrashed() {
		panic(http.ErrAbortHandler)
	}
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	f.counts[operation]++
	c := call{operation: operation, number: f.counts[operation]}
	for _, fault := range f.plan {
		if fault.place == f.place && fault.operation == operation && fault.number == c.number {
			action, c.fault = fault.do, fault.String()
		}
	}
	f.calls = append(f.calls, c)
	return len(f.calls) - 1, action, f.life
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	index, action, life := f.admit(f.operationOf(r))
	if code, invented := codes[action]; invented {
		http.Error(w, `{"message":"injected fault"}`, code)
		return
	}
	switch action {
	case faults.CrashBefore:
		life.Crash()
		panic(http.ErrAbortHandler)
	case faults.Reset:
		panic(http.ErrAbortHandler)
	}
	answer := f.execute(index, r)
	switch action {
	case faults.CrashAfter:
		life.Crash()
		panic(http.ErrAbortHandler)
	case faults.LoseAnswer:
		panic(http.ErrAbortHandler)
	case faults.LoseAnswerByTimeout:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// execute forwards a request. A client that disconnects does not undo it.
func (f *front) execute(index int, r *http.Request) *httptest.ResponseRecorder {
	f.execution.Lock()
	defer f.execution.Unlock()
	answer := httptest.NewRecorder()
	f.inner.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	f.mutex.Lock()
	f.calls[index].status = answer.Code
	operation := f.calls[index].operation
	f.mutex.Unlock()
	f.executed(operation, answer)
	return answer
}
