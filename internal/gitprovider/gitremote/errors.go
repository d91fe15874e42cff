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

// failed gives an error its class, and names the operation and the repository.
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

// bare drops the URL that the HTTP client puts before its errors: it is long, and the repository is named anyway.
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

// statusError turns the status of an answer into an error. Its body is not quoted: it may come from anybody.
func statusError(answer *http.Response) error {
	e := &gitprovider.Error{Status: answer.StatusCode, Class: gitprovider.Unavailable}
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusNonAuthoritativeInfo: // the latter is how Azure DevOps asks to sign in
		e.Class, e.Message = gitprovider.Unauthenticated, "the server does not accept username and password: check the keys username and password of the Secret"
	case code == http.StatusForbidden:
		e.Class, e.Message = gitprovider.Forbidden, "the credentials do not permit it: give them the right to read and push, or use others"
	case code == http.StatusNotFound, code == http.StatusGone:
		e.Class, e.Message = gitprovider.NotFound, "there is no such repository, or the credentials must not see it: check the url"
	case code == http.StatusTooManyRequests:
		e.Class, e.Message = gitprovider.RateLimited, "too many requests"
	case code >= 300 && code < 400:
		e.Class, e.Message = gitprovider.Refused, "the server redirects without saying where to: check the url"
	case code >= 400 && code < 500:
		e.Class, e.Message = gitprovider.Refused, fmt.Sprintf("the server answers %q", http.StatusText(code))
	default:
		e.Message = fmt.Sprintf("the server answers %d", code)
	}
	e.RetryAfter = retryAfter(answer.Header.Get("Retry-After"))
	return e
}

// retryAfter reads seconds or a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(0, time.Duration(min(seconds, 24*3600))*time.Second)
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(date)), 24*time.Hour)
	}
	return 0
}

// malformed is for answers that no Git server gives. One that ends too early is none of them: the connection broke.
func malformed(err error) error {
	var known *gitprovider.Error
	var network net.Error
	switch {
	case errors.As(err, &known), errors.As(err, &network), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &gitprovider.Error{Class: gitprovider.Unavailable, Message: "the connection broke", Cause: err}
	}
	return &gitprovider.Error{Class: gitprovider.Malformed, Message: "the answer cannot be understood", Cause: err}
}
