// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
)

// Class classifies problems with a store. Its text is the reason in a status.
type Class string

const (
	// Unauthenticated means that the registry requires credentials, or other ones.
	Unauthenticated Class = "RegistryCredentialsRefused"
	// Forbidden means that the credentials do not permit the operation.
	Forbidden Class = "RegistryForbidden"
	// NotFound means that the registry does not have the content. It may be pushed later.
	NotFound Class = "RegistryNotFound"
	// WrongDigest means that the content does not match its digest.
	WrongDigest Class = "RegistryWrongDigest"
	// TooLarge means that the content exceeds a limit.
	TooLarge Class = "RegistryContentTooLarge"
	// Malformed means that the content, or the response of the registry, is malformed.
	Malformed Class = "RegistryContentMalformed"
	// Misconfigured means that an address or a credential is unusable, which was detected without the registry.
	Misconfigured Class = "RegistryMisconfigured"
	// Untrusted means that the certificate of the registry is not trusted.
	Untrusted Class = "RegistryUntrusted"

	// RateLimited means that there were too many requests.
	RateLimited Class = "RegistryRateLimited"
	// Unavailable means that the registry could not be reached, or failed.
	Unavailable Class = "RegistryUnavailable"
)

// Permanent reports whether a retry is useless as long as the content and its address are the same. Missing content may be pushed at any
// time, damaged content may have been damaged in transit, and rejected credentials or an untrusted authority may be replaced.
func (c Class) Permanent() bool {
	switch c {
	case TooLarge, Malformed, Misconfigured:
		return true
	}
	return false
}

// Error is an error of a store. Its text contains neither credentials nor URLs.
type Error struct {
	// Operation is what was attempted, for example "read the manifest 1.0.0".
	Operation string
	// Where is the store and the repository; empty if not known yet.
	Where string
	Class Class
	// RetryAt is the earliest time of the next request that the registry accepts; zero if it named none.
	RetryAt time.Time
	// Message describes what happened and what to do.
	Message string
	cause   error
}

// Error describes what was attempted, where, and what happened.
func (e *Error) Error() string {
	text := e.Message
	if e.Where != "" {
		text = e.Where + ": " + text
	}
	if e.Operation != "" {
		text = e.Operation + ": " + text
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// NextAttempt implements failure.NextAttempt.
func (e *Error) NextAttempt() time.Time { return e.RetryAt }

// classified returns the error with its kind for package failure.
func (e *Error) classified() error {
	details := failure.Details{Reason: string(e.Class)}
	if e.Class.Permanent() {
		return failure.NewTerminal(details, e)
	}
	return failure.NewRetryable(details, e)
}

// ClassOf returns the class of an error, empty if it has none.
func ClassOf(err error) Class {
	var known *Error
	if errors.As(err, &known) {
		return known.Class
	}
	return ""
}

func newError(class Class, format string, args ...any) error {
	return (&Error{Class: class, Message: fmt.Sprintf(format, args...)}).classified()
}

func malformed(format string, args ...any) error     { return newError(Malformed, format, args...) }
func tooLarge(format string, args ...any) error      { return newError(TooLarge, format, args...) }
func misconfigured(format string, args ...any) error { return newError(Misconfigured, format, args...) }

// notFound is the error of a store that does not have the content.
func notFound(format string, args ...any) error { return newError(NotFound, format, args...) }

// wrongDigest is the error for content that does not match its digest.
func wrongDigest(wanted, got string) error {
	return newError(WrongDigest, "the content should have digest %s, but has %s: it was damaged in transit, or replaced; if this persists, push it again", wanted, got)
}

// classify turns any error into an Error with what was attempted and where.
func classify(operation, where string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		copied := *known
		if copied.Operation == "" {
			copied.Operation, copied.Where = operation, where
		}
		return copied.classified()
	}
	e := explain(err)
	e.Operation, e.Where, e.cause = operation, where, err
	return e.classified()
}

func explain(err error) *Error {
	var status *statusError
	var response *errcode.ErrorResponse
	switch {
	case errors.As(err, &status):
		return status.explain()
	case errors.As(err, &response):
		return byStatus(response.StatusCode, codesOf(response))
	case errors.Is(err, errdef.ErrNotFound):
		return byStatus(http.StatusNotFound, "")
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return byStatus(http.StatusUnauthorized, "")
	case differs(err):
		return &Error{
			Class:   WrongDigest,
			Message: "the registry sends content that does not match the digest: it was damaged in transit, or replaced; if this persists, push it again",
		}
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return &Error{Class: TooLarge, Message: "the registry sends more than the size limit"}
	}
	return explainConnection(err)
}

// differs reports whether the library found content that does not match its digest.
func differs(err error) bool {
	return errors.Is(err, content.ErrMismatchedDigest) || errors.Is(err, content.ErrInvalidDescriptorSize) ||
		strings.Contains(err.Error(), "digest mismatch")
}

func explainConnection(err error) *Error {
	var refusal *dial.Refusal
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var hostname x509.HostnameError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &refusal):
		return &Error{Class: Misconfigured, Message: "the address of the registry is not allowed: " + refusal.Error()}
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &hostname):
		return &Error{
			Class:   Untrusted,
			Message: "its certificate is not trusted: add the certificate of its authority to the credentials (certificateAuthority)",
		}
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return &Error{Class: Misconfigured, Message: "it does not support TLS: if that is intended, start its address with http://"}
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return &Error{Class: Unavailable, Message: "it did not answer in time"}
	case errors.Is(err, context.Canceled):
		return &Error{Class: Unavailable, Message: "the request was cancelled"}
	}
	return &Error{Class: Unavailable, Message: withoutURLs(err)}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// byStatus describes a response that is not a success.
func byStatus(status int, codes string) *Error {
	e := &Error{Class: Malformed, Message: fmt.Sprintf("status %d%s", status, codes)}
	switch {
	case status == http.StatusUnauthorized:
		e.Class = Unauthenticated
		e.Message = "the registry rejects the credentials" + codes +
			": check those for this host and path (in a cluster, registryPullSecrets and ocmConfig of the Context)"
	case status == http.StatusForbidden:
		e.Class = Forbidden
		e.Message = "the credentials lack the right" + codes + ": grant it, or use others"
	case status == http.StatusNotFound:
		e.Class = NotFound
		e.Message = "not found: check name and version, or push it"
	case status == http.StatusTooManyRequests:
		e.Class = RateLimited
		e.Message = "too many requests to the registry"
	case status == http.StatusRequestTimeout || status >= 500:
		e.Class = Unavailable
		e.Message = fmt.Sprintf("the registry fails (status %d)", status)
	}
	return e
}

var codePattern = regexp.MustCompile(`^[A-Z_]{1,40}$`)

// codesOf lists the codes of a response. The rest of it may quote what the registry received.
func codesOf(response *errcode.ErrorResponse) string {
	var codes []string
	for _, e := range response.Errors {
		if codePattern.MatchString(e.Code) && len(codes) < 3 {
			codes = append(codes, e.Code)
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return " (" + strings.Join(codes, ", ") + ")"
}

var urlPattern = regexp.MustCompile(`"?[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"]*"?:?`)

// withoutURLs returns the text of an error without the URL: after a redirect it may contain a signature.
func withoutURLs(err error) string {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	const most = 300
	text := strings.Join(strings.Fields(urlPattern.ReplaceAllString(err.Error(), "")), " ")
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
