// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	attempts      = 3
	firstPause    = 500 * time.Millisecond
	longestPause  = 10 * time.Second // that a request waits within one call
	latestAttempt = time.Hour        // that a registry may demand before the next attempt
	maxRedirects  = 5
)

// patient retries requests a few times if a registry is temporarily unable to answer. It sends nothing in plain text unless plain HTTP was
// requested.
type patient struct {
	behind http.RoundTripper
	plain  bool
	pause  time.Duration
}

var errPlain = errors.New("the registry redirects to an address without TLS, which is not allowed")

// RoundTrip implements http.RoundTripper. A response that means "later" becomes an error with the time of the next attempt.
func (p *patient) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == "http" && !p.plain {
		return nil, errPlain
	}
	for attempt := 1; ; attempt++ {
		response, err := p.behind.RoundTrip(request)
		if err != nil || !later(response.StatusCode) {
			return response, err
		}
		status := newStatusError(response)
		_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
		_ = response.Body.Close()
		wait := max(status.after, p.pause<<(attempt-1))
		if attempt == attempts || wait > longestPause || !repeatable(request) {
			return nil, status
		}
		if err := pauseFor(request.Context(), wait); err != nil {
			return nil, status
		}
		if request, err = again(request); err != nil {
			return nil, status
		}
	}
}

func later(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

func repeatable(request *http.Request) bool {
	return request.Body == nil || request.Body == http.NoBody || request.GetBody != nil
}

// again returns a request with its body rewound.
func again(request *http.Request) (*http.Request, error) {
	if request.GetBody == nil {
		return request, nil
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Body = body
	return request, nil
}

func pauseFor(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// statusError is a response that means "later".
type statusError struct {
	status int
	// after is how long to wait; zero if the registry named none.
	after time.Duration
	at    time.Time
}

func newStatusError(response *http.Response) *statusError {
	now := time.Now()
	after := retryAfter(response.Header.Get("Retry-After"), now)
	return &statusError{status: response.StatusCode, after: after, at: now.Add(after)}
}

func (e *statusError) Error() string { return "status " + strconv.Itoa(e.status) }

func (e *statusError) explain() *Error {
	explained := byStatus(e.status, "")
	if e.after > 0 {
		explained.RetryAt = e.at
	}
	return explained
}

// retryAfter parses seconds and dates, up to an hour.
func retryAfter(header string, now time.Time) time.Duration {
	var after time.Duration
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		after = date.Sub(now)
	}
	return min(max(after, 0), latestAttempt)
}

// limitRedirects limits how often a request is redirected.
func limitRedirects(_ *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return errors.New("too many redirects")
	}
	return nil
}
