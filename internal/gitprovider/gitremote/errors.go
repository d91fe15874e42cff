// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/masking"
)

// failed adds the class, the operation and the repository to an error.
func (r *Remote) failed(operation string, err error) error {
	if err == nil {
		return nil
	}
	var known *gitprovider.Error
	if !errors.As(err, &known) {
		known = &gitprovider.Error{Class: classOf(err), Cause: bare(err)}
	}
	named := *known
	secrets := masking.Values{}
	for _, secret := range r.settings.Credentials.Secrets() {
		secrets.AddText(secret)
	}
	named.Message, named.Cause = secrets.Text(named.Message), secrets.Error(named.Cause)
	if named.Operation == "" {
		named.Operation = operation
	}
	if named.Repository == "" {
		named.Repository = r.base.Host + r.base.Path
	}
	return named.Classified()
}

// bare drops the URL that the HTTP client prepends to its errors: it is long, and the repository is named anyway.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func classOf(err error) gitprovider.Class {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	switch {
	case dial.IsRefusal(err):
		return gitprovider.Misconfigured
	case errors.As(err, &certificate), errors.As(err, &authority):
		return gitprovider.Untrusted
	}
	return gitprovider.Unavailable
}

// statusError converts the status of a response into an error. It does not quote the body, which is untrusted.
func statusError(answer *http.Response) error {
	e := &gitprovider.Error{Status: answer.StatusCode, Class: gitprovider.Unavailable}
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusNonAuthoritativeInfo: // Azure DevOps requests a sign-in with the latter
		e.Class, e.Message = gitprovider.Unauthenticated, "the server rejects username and password: check the keys username and password of the Secret"
	case code == http.StatusForbidden:
		e.Class, e.Message = gitprovider.Forbidden, "the credentials lack the right to read and push: grant it, or use others"
	case code == http.StatusNotFound, code == http.StatusGone:
		e.Class, e.Message = gitprovider.NotFound, "no such repository, or the credentials may not see it: check the url"
	case code == http.StatusTooManyRequests:
		e.Class, e.Message = gitprovider.RateLimited, "too many requests"
	case code >= 300 && code < 400:
		e.Class, e.Message = gitprovider.Refused, "the server redirects without a location: check the url"
	case code >= 400 && code < 500:
		e.Class, e.Message = gitprovider.Refused, fmt.Sprintf("the server answers %q", http.StatusText(code))
	default:
		e.Message = fmt.Sprintf("the server answers %d", code)
	}
	e.RetryAfter = retryAfter(answer.Header.Get("Retry-After"))
	return e
}

// retryAfter parses seconds or a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(0, time.Duration(min(seconds, 24*3600))*time.Second)
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(date)), 24*time.Hour)
	}
	return 0
}

// malformed is for responses that no Git server sends. A truncated response is not malformed: the connection broke.
func malformed(err error) error {
	var known *gitprovider.Error
	var network net.Error
	switch {
	case errors.As(err, &known), errors.As(err, &network), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &gitprovider.Error{Class: gitprovider.Unavailable, Message: "the connection broke", Cause: err}
	}
	return &gitprovider.Error{Class: gitprovider.Malformed, Message: "the answer cannot be parsed", Cause: err}
}
