// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
)

// Malformed is the error for a response that is not documented for the provider.
func (c *Client) Malformed(operation, format string, args ...any) error {
	return c.fail(operation, gitprovider.Error{Class: gitprovider.Malformed, Message: fmt.Sprintf(format, args...)})
}

func (c *Client) fail(operation string, e gitprovider.Error) error {
	e.Operation = operation
	e.Repository = c.config.Repository.String()
	e.Message = c.clean(e.Message)
	if e.Cause != nil {
		e.Cause = &cleaned{text: c.clean(e.Cause.Error()), error: e.Cause}
	}
	return e.Classified()
}

// cleaned is an error with another text. The text of a broken connection may contain data from the server.
type cleaned struct {
	text string
	error
}

func (e *cleaned) Error() string { return e.text }
func (e *cleaned) Unwrap() error { return e.error }

// Optional drops the error of an optional request if the token lacks the right.
func Optional(err error) error {
	if class := gitprovider.ClassOf(err); class == gitprovider.Forbidden || class == gitprovider.NotFound {
		return nil
	}
	return err
}

// unsent classifies why a request received no response.
func (c *Client) unsent(request Request, err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err // its text would only repeat the address
	}
	e := gitprovider.Error{Class: gitprovider.Unavailable, Message: "the Git server is unreachable", Cause: err}
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errTooLarge):
		e = gitprovider.Error{Class: gitprovider.Malformed, Message: fmt.Sprintf("the answer is larger than %d MiB", maxAnswer>>20)}
	case dial.IsRefusal(err):
		e.Class, e.Message = gitprovider.Misconfigured, "connections to the host of url are not allowed"
	case errors.As(err, &certificate):
		e.Class = gitprovider.Untrusted
		e.Message = fmt.Sprintf(
			"the certificate of the Git server is not trusted: add the certificate of its authority under %q to the Secret",
			gitprovider.KeyCAFile,
		)
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = "the Git server did not answer in time"
	}
	return c.fail(request.Operation, e)
}

// unsuccessful classifies an error response.
func (c *Client) unsuccessful(request Request, answer Answer) error {
	e := gitprovider.Error{Status: answer.Status, Class: c.classOf(request, answer), RetryAfter: waitOf(answer)}
	if e.Class == gitprovider.RateLimited && e.RetryAfter == 0 {
		e.RetryAfter = defaultWait
	}
	e.Message = advice(e.Class, answer)
	if said := saidBy(answer); said != "" {
		e.Message += "; it says: " + said
	}
	return c.fail(request.Operation, e)
}

func (c *Client) classOf(request Request, answer Answer) gitprovider.Class {
	for _, classify := range []func(Answer) gitprovider.Class{request.Classify, c.config.Classify} {
		if classify == nil {
			continue
		}
		if class := classify(answer); class != "" {
			return class
		}
	}
	return usualClass(answer)
}

func usualClass(answer Answer) gitprovider.Class {
	status := answer.Status
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && isRateLimit(answer):
		return gitprovider.RateLimited
	case status == http.StatusUnauthorized:
		return gitprovider.Unauthenticated
	case status == http.StatusForbidden:
		return gitprovider.Forbidden
	case status == http.StatusNotFound, status == http.StatusGone, status >= 300 && status < 400:
		return gitprovider.NotFound
	case status == http.StatusConflict:
		return gitprovider.Conflict
	case status == http.StatusRequestTimeout, status >= 500:
		return gitprovider.Unavailable
	case status >= 400:
		return gitprovider.Refused
	}
	return gitprovider.Malformed
}

// advice describes what happened and what to do about it.
func advice(class gitprovider.Class, answer Answer) string {
	status := fmt.Sprintf("(status %d)", answer.Status)
	switch class {
	case gitprovider.Unauthenticated:
		return fmt.Sprintf("the Git server rejects the credentials %s: check the key %q of the Secret", status, gitprovider.KeyToken)
	case gitprovider.Forbidden:
		return "the token does not permit this " + status + ": give it the right to read and write pull requests of the repository"
	case gitprovider.NotFound:
		if place := placeOf(answer); place != "" {
			return "the repository has moved " + status + ", to " + place + ": change url"
		}
		return "not found on the Git server " + status + ": check url, and that the token may see the repository"
	case gitprovider.Duplicate:
		return "the pull request already exists " + status
	case gitprovider.RateLimited:
		return "too many requests to the Git server " + status
	case gitprovider.Unavailable:
		return "the Git server fails " + status
	}
	return "the Git server rejects it " + status
}

// placeOf returns the target of a redirect, without personal data.
func placeOf(answer Answer) string {
	place, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || answer.Status < 300 || answer.Status > 399 || place.Path == "" {
		return ""
	}
	return place.Scheme + "://" + place.Host + place.EscapedPath()
}

// said has the fields that providers use for messages.
type said struct {
	Message any               `json:"message"`
	Error   any               `json:"error"`
	Errors  []json.RawMessage `json:"errors"`
}

// saidBy returns the provider's message in a response; HTML pages contain none.
func saidBy(answer Answer) string {
	var found said
	if json.Unmarshal(answer.Body, &found) != nil {
		return ""
	}
	parts := texts(nil, found.Message)
	parts = texts(parts, found.Error)
	for _, raw := range found.Errors {
		var one any
		if json.Unmarshal(raw, &one) != nil {
			continue
		}
		if fields, ok := one.(map[string]any); ok {
			one = fields["message"]
		}
		parts = texts(parts, one)
	}
	return strings.Join(parts, "; ")
}

// texts appends the strings in a value, since one provider returns a sentence, another a list or an object of lists.
func texts(to []string, value any) []string {
	switch v := value.(type) {
	case string:
		if v != "" {
			to = append(to, v)
		}
	case []any:
		for _, one := range v {
			to = texts(to, one)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			to = texts(to, v[key])
		}
	}
	return to
}

const maxMessage = 600

// clean makes a text suitable for a status: no secrets, one line, limited length.
func (c *Client) clean(text string) string {
	text = c.secrets.Text(text)
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return text
}

// shape describes an error of the JSON decoder without the input, which could be a secret.
func shape(err error) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return fmt.Sprintf("field %q has another type", wrongType.Field)
	}
	return "it is not well-formed"
}
