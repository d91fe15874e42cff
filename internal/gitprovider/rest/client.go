// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/version"
)

const (
	maxAnswer    = 16 << 20 // a hundred pull requests with long descriptions
	maxRedirects = 3
	timeout      = 30 * time.Second
)

// Config describes how to connect to a provider.
type Config struct {
	// Base is the URL to which paths of requests are appended, without a final slash.
	Base string
	// Repository appears in errors.
	Repository gitprovider.Repository
	// Header is sent with every request: credentials, and API versions.
	Header http.Header
	// Secrets are masked in texts that the server sends.
	Secrets []string
	// CA holds certificates in PEM that are trusted instead of those of the system; empty for those of the system.
	CA []byte
	// Rules limit which addresses may be dialled.
	Rules dial.Rules
	// Classify returns the class of an error response if the provider deviates from the standard; otherwise it returns "". It may be nil.
	Classify func(Answer) gitprovider.Class
}

// Client sends requests to one provider.
type Client struct {
	config Config
	// secrets are masked in texts that the server sends.
	secrets masking.Values
	http    *http.Client
}

// New returns a client. It sends no request yet.
func New(config Config) (*Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(config.CA) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(config.CA) {
			return nil, gitprovider.Misconfiguredf("the key %q of the Secret contains no certificate in PEM format", gitprovider.KeyCAFile)
		}
	}
	config.Header = config.Header.Clone()
	config.Header.Set("User-Agent", version.UserAgent("espalier"))
	client := &Client{config: config, http: &http.Client{Transport: config.Rules.Transport(trust), CheckRedirect: stayOnHost}}
	for _, secret := range config.Secrets {
		client.secrets.AddText(secret)
	}
	return client, nil
}

// stayOnHost returns a redirect to the caller instead of following it, unless it is a read and stays on the host.
func stayOnHost(next *http.Request, before []*http.Request) error {
	first := before[0]
	same := next.URL.Scheme == first.URL.Scheme && next.URL.Host == first.URL.Host
	if first.Method != http.MethodGet || !same || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Request is one call of the API.
type Request struct {
	// Operation is what is attempted, as a phrase that precedes a reason: "open a pull request".
	Operation string
	Method    string
	// Path below the base, escaped.
	Path  string
	Query url.Values
	// Header adds to that of the configuration.
	Header http.Header
	// Body is sent as JSON, unless it is nil.
	Body any
	// Into receives the JSON of a successful response, unless it is nil.
	Into any
	// Classify takes precedence over that of the configuration.
	Classify func(Answer) gitprovider.Class
}

// Answer is the response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request. A response with status 304 is not an error and leaves Into unchanged.
func (c *Client) Do(ctx context.Context, request Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := c.send(ctx, request)
	if err != nil {
		return answer, c.unsent(request, err)
	}
	switch {
	case answer.Status == http.StatusNotModified:
		return answer, nil
	case answer.Status < 200 || answer.Status > 299 || answer.Status == http.StatusNonAuthoritativeInfo:
		return answer, c.unsuccessful(request, answer)
	case request.Into == nil:
		return answer, nil
	}
	if err := json.Unmarshal(answer.Body, request.Into); err != nil {
		return answer, c.Malformed(request.Operation, "the answer is not the expected JSON: %s", shape(err))
	}
	return answer, nil
}

var errTooLarge = errors.New("the answer is too large")

func (c *Client) send(ctx context.Context, request Request) (Answer, error) {
	message, err := c.message(ctx, request)
	if err != nil {
		return Answer{}, err
	}
	response, err := c.http.Do(message)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return Answer{}, err
	}
	if len(body) > maxAnswer {
		return Answer{}, errTooLarge
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: body}, nil
}

func (c *Client) message(ctx context.Context, request Request) (*http.Request, error) {
	var body io.Reader
	if request.Body != nil {
		text, err := json.Marshal(request.Body)
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	address := c.config.Base + request.Path
	if len(request.Query) > 0 {
		address += "?" + request.Query.Encode()
	}
	message, err := http.NewRequestWithContext(ctx, request.Method, address, body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	message.Header = c.config.Header.Clone()
	if body != nil {
		message.Header.Set("Content-Type", "application/json")
	}
	for name, values := range request.Header {
		message.Header[name] = values
	}
	return message, nil
}
