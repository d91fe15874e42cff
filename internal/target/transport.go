// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
)

// maxAnswer limits the size of a response. Target clusters belong to users, and could send endless responses.
const maxAnswer = 64 << 20

// gate is the transport of all clients of a cluster. It makes requests fail at once while the cluster is unreachable, limits
// responses, follows no redirect and reports when the credential is rejected.
type gate struct {
	next     http.RoundTripper
	breaker  *breaker
	rejected func() // the cluster does not accept the credential
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	attempt, err := g.breaker.enter()
	if err != nil {
		closeBody(request.Body)
		return nil, err
	}
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, classify(request.Context(), attempt, err)
	}
	attempt.succeeded()
	switch response.StatusCode {
	case http.StatusUnauthorized:
		g.rejected()
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		closeBody(response.Body)
		return nil, fmt.Errorf(
			"the target cluster %s redirects elsewhere, which no API server does: redirects are not followed",
			g.breaker.server,
		)
	}
	if !isStream(request) {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxAnswer}
	}
	return response, nil
}

// classify turns a network error into one with advice.
func classify(ctx context.Context, a *attempt, err error) error {
	var refusal *dial.Refusal
	switch {
	case ctx.Err() != nil:
		a.abandoned()
		return err
	case errors.As(err, &refusal):
		a.abandoned()
		return failure.NewTerminal(failure.Details{
			Operation: operationConnect,
			Reason:    ReasonRefusedAddress,
			Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
		}, fmt.Errorf("connect to the target cluster %s: %w", a.breaker.server, refusal))
	default:
		return a.failed(err)
	}
}

func closeBody(body io.Closer) {
	if body != nil {
		_ = body.Close()
	}
}

// isStream reports whether a request has an endless response: a watch, or logs that are followed.
func isStream(request *http.Request) bool {
	query := request.URL.Query()
	for _, key := range []string{"watch", "follow"} {
		if value := query.Get(key); value == "true" || value == "1" {
			return true
		}
	}
	return false
}

// boundedBody is a response body that ends with an error when it gets too long.
type boundedBody struct {
	io.ReadCloser
	left int64
}

var errLongAnswer = fmt.Errorf("the target cluster answered with more than %d bytes: request less at once", maxAnswer)

func (b *boundedBody) Read(buffer []byte) (int, error) {
	if b.left < 0 {
		return 0, errLongAnswer
	}
	// One byte more than allowed distinguishes a response that is too long from one that just fits.
	buffer = buffer[:min(int64(len(buffer)), b.left+1)]
	n, err := b.ReadCloser.Read(buffer)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errLongAnswer
	}
	return n, err
}
