// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errInjected is common to all errors of this package, so that a log distinguishes them from real ones.
var errInjected = errors.New("injected fault")

func refusedError() error {
	return netError("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED))
}

func resetError() error { return netError("read", os.NewSyscallError("read", syscall.ECONNRESET)) }

func timeoutError() error { return netError("read", timedOut{}) }

func netError(operation string, err error) error {
	return &net.OpError{Op: operation, Net: "tcp", Err: injected{err}}
}

// injected is an error of the network that is also an errInjected.
type injected struct{ error }

func (i injected) Unwrap() []error { return []error{i.error, errInjected} }

func (i injected) Timeout() bool { return errors.As(i.error, new(timedOut)) }

// timedOut looks to callers like the timeout of an HTTP client.
type timedOut struct{}

func (timedOut) Error() string        { return "i/o timeout" }
func (timedOut) Timeout() bool        { return true }
func (timedOut) Temporary() bool      { return true }
func (timedOut) Is(target error) bool { return target == context.DeadlineExceeded }

const retryAfterSeconds = 1

// statuses are the answers of a server that rejects a request.
var statuses = map[Action]func(Request) *apierrors.StatusError{
	AnswerConflict: func(r Request) *apierrors.StatusError {
		return apierrors.NewConflict(schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Name, errInjected)
	},
	AnswerTooMany: func(Request) *apierrors.StatusError {
		return apierrors.NewTooManyRequests(errInjected.Error(), retryAfterSeconds)
	},
	AnswerInternalError: func(Request) *apierrors.StatusError { return apierrors.NewInternalError(errInjected) },
	AnswerUnavailable:   func(Request) *apierrors.StatusError { return apierrors.NewServiceUnavailable(errInjected.Error()) },
	AnswerGatewayTimeout: func(Request) *apierrors.StatusError {
		return apierrors.NewTimeoutError(errInjected.Error(), 0)
	},
}

// answer returns the response that a real server would send for the status.
func answer(httpRequest *http.Request, status *apierrors.StatusError) (*http.Response, error) {
	body, err := encodeStatus(status)
	if err != nil {
		return nil, err
	}
	code := int(status.ErrStatus.Code)
	response := &http.Response{
		StatusCode:    code,
		Status:        strconv.Itoa(code) + " " + http.StatusText(code),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {jsonType}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       httpRequest,
	}
	if details := status.ErrStatus.Details; details != nil && details.RetryAfterSeconds > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(int(details.RetryAfterSeconds)))
	}
	return response, nil
}

func encodeStatus(status *apierrors.StatusError) ([]byte, error) {
	copied := status.ErrStatus.DeepCopy()
	copied.APIVersion, copied.Kind = "v1", "Status"
	return json.Marshal(copied)
}
