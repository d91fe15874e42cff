// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/version"
)

const (
	// fetchTimeout is the timeout of one download.
	fetchTimeout = 2 * time.Minute
	maxRedirects = 5
)

// web fetches files by HTTP.
type web struct {
	rules dial.Rules
	// open is the transport for servers that need no custom authority.
	open *http.Transport
}

func newWeb(rules dial.Rules) *web {
	return &web{rules: rules, open: rules.Transport(&tls.Config{MinVersion: tls.VersionTLS12})}
}

// archive locates a packed chart at an address, without credentials.
func (w *web) archive(text string) (Located, error) {
	address, err := parseAddress(text)
	if err != nil {
		return Located{}, invalid(fmt.Errorf("chart.archive.remote.url: %w", err))
	}
	return Located{Read: func(ctx context.Context) ([]byte, error) {
		return w.fetch(ctx, download{address: address, what: "the chart", most: maxArchiveBytes})
	}}, nil
}

// parseAddress accepts addresses that can be fetched by HTTP. Its errors quote nothing: an address may contain a password.
func parseAddress(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("is missing")
	case err != nil:
		return nil, errors.New("is not a URL")
	case address.Scheme != "http" && address.Scheme != "https":
		return nil, errors.New("must begin with https:// or http://")
	case address.Host == "":
		return nil, errors.New("has no host")
	}
	return address, nil
}

// shown returns an address without the parts that may be secret.
func shown(address *url.URL) string {
	bare := *address
	bare.User, bare.RawQuery, bare.Fragment = nil, "", ""
	return bare.String()
}

// download is one file to fetch.
type download struct {
	address *url.URL
	// what is the file's name in errors
	what string
	// most is the maximum size in bytes.
	most int64
	// access are the credentials to show and the authority to trust.
	access access
}

// fetch returns the content of a file. Errors name the address without its query, and never a credential.
func (w *web) fetch(ctx context.Context, d download) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address.String(), nil)
	if err != nil {
		return nil, invalid(fmt.Errorf("fetch %s: the address %s cannot be used", d.what, shown(d.address)))
	}
	request.Header.Set("User-Agent", version.UserAgent("espalier"))
	if d.access.header != "" {
		request.Header.Set("Authorization", d.access.header)
	}
	client, done := w.client(d.access)
	defer done()
	response, err := client.Do(request)
	if err != nil {
		return nil, classify(d, err)
	}
	defer response.Body.Close()
	if err := classifyStatus(d, response); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, d.most+1))
	if err != nil {
		return nil, classify(d, err)
	}
	if int64(len(data)) > d.most {
		return nil, invalid(fmt.Errorf("fetch %s from %s: more than %d bytes", d.what, shown(d.address), d.most))
	}
	return data, nil
}

func (w *web) client(a access) (client *http.Client, done func()) {
	transport, done := w.open, func() {}
	if a.trust != nil {
		transport = w.rules.Transport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.trust})
		done = transport.CloseIdleConnections
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}, done
}

// checkRedirect follows a few redirects, and none from HTTPS to HTTP. The standard library drops the credentials when a
// redirect leads to another host.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("redirected more than %d times", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && request.URL.Scheme != "https" {
		return errors.New("redirected from https to http, which is not allowed")
	}
	return nil
}

func classify(d download, err error) error {
	var refusal *dial.Refusal
	if errors.As(err, &refusal) {
		return invalid(fmt.Errorf("fetch %s from %s: %w", d.what, shown(d.address), refusal))
	}
	// A *url.Error quotes the whole address.
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return unfetched(fmt.Errorf("fetch %s from %s: %w", d.what, shown(d.address), err))
}

func classifyStatus(d download, response *http.Response) error {
	code := response.StatusCode
	if code >= http.StatusOK && code < http.StatusMultipleChoices {
		return nil
	}
	err := fmt.Errorf("fetch %s from %s: the server answered %d %s", d.what, shown(d.address), code, http.StatusText(code))
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		return unfetched(err, string(lsv1alpha1.ErrorUnauthorized))
	}
	return unfetched(err)
}
