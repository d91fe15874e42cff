// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/version"
)

const (
	// requestLimit bounds one request to the provider.
	requestLimit = 10 * time.Second
	// maxAnswer is far more than metadata, keys and tokens need.
	maxAnswer = 1 << 20
)

// client connects to the provider. It dials addresses that the provider names only if the rules for all outgoing connections allow them;
// loopback is allowed if the provider itself is there. It follows no redirects: the metadata says where a code is sent.
type client struct{ http *http.Client }

func newClient(options Options) *client {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(options.CA) > 0 {
		trust.RootCAs = x509.NewCertPool()
		trust.RootCAs.AppendCertsFromPEM(options.CA)
	}
	rules := dial.Rules{AllowLoopback: dial.IsLoopback(options.Issuer)}
	return &client{http: &http.Client{
		Transport:     bounded{next: rules.Transport(trust)},
		Timeout:       requestLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// in makes the libraries use the client.
func (c *client) in(ctx context.Context) context.Context { return gooidc.ClientContext(ctx, c.http) }

// bounded truncates responses that are too large.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", version.UserAgent("espalier-ui"))
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &boundedBody{ReadCloser: answer.Body, left: maxAnswer, from: r.URL.Host}
	return answer, nil
}

type boundedBody struct {
	io.ReadCloser
	left int
	from string
}

func (b *boundedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer of %s has more than %d bytes", b.from, maxAnswer)
	}
	return n, err
}
