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
	"net/http"
	"net/url"
	"strings"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
)

// Settings identify a repository and how to reach it.
type Settings struct {
	// URL of the repository, as in the Pipeline.
	URL string
	// Credentials for Git. Without a password, the token replaces it.
	Credentials gitprovider.Credentials
	// Rules for addresses that may be dialled.
	Rules  dial.Rules
	Limits Limits
	// Temporary is the directory for temporarily fetched content; empty means the default of the system.
	Temporary string
}

// Remote is a repository on a Git server. It must be used by one goroutine at a time.
type Remote struct {
	settings Settings
	base     *url.URL
	client   *http.Client
	// known holds the capabilities of the server, from its last list of branches.
	known *advertisement
}

const maxRedirects = 5

// Connect prepares a connection to a server. It sends nothing yet.
func Connect(settings Settings) (*Remote, error) {
	address, err := gitprovider.ParseAddress(settings.URL, settings.Rules)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimSuffix(address.CloneURL, "/"))
	if err != nil {
		return nil, gitprovider.Misconfiguredf("url is not a valid URL: use https://HOST/PATH")
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(settings.Credentials.CA) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(settings.Credentials.CA) {
			return nil, gitprovider.Misconfiguredf("the key %q of the Secret contains no certificate in PEM format", gitprovider.KeyCAFile)
		}
	}
	settings.Limits = settings.Limits.withDefaults()
	client := &http.Client{Transport: settings.Rules.Transport(trust), CheckRedirect: checkRedirect}
	return &Remote{settings: settings, base: base, client: client}, nil
}

// Close closes idle connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// checkRedirect keeps credentials on the host that they are for.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0]
	switch {
	case len(before) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case first.Method != http.MethodGet:
		return errors.New("an answer to a push or fetch redirects elsewhere")
	case next.URL.Scheme != first.URL.Scheme || !strings.EqualFold(next.URL.Host, first.URL.Host):
		return gitprovider.Misconfiguredf("the server redirects to %s: use the URL of the repository there", next.URL.Host)
	}
	return nil
}

// Services of a Git server.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// exchange is one request to a server.
type exchange struct {
	operation string
	method    string
	path      string
	service   string
	accept    string
	body      io.Reader
}

// do sends a request and returns the response if it has the requested form. The response ends when the context does.
func (r *Remote) do(ctx context.Context, e exchange) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, e.method, r.base.String()+e.path, e.body)
	if err != nil {
		return nil, r.failed(e.operation, err)
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Accept", e.accept)
	if e.method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-"+e.service+"-request")
	}
	if user, password := r.login(); password != "" {
		request.SetBasicAuth(user, password)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return nil, r.failed(e.operation, err)
	}
	if err := ctx.Err(); err != nil { // The client may still return what the server sends as it sees the connection close.
		_ = answer.Body.Close()
		return nil, r.failed(e.operation, err)
	}
	if err := r.check(e, answer); err != nil {
		_, _ = io.CopyN(io.Discard, answer.Body, mebibyte)
		_ = answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

const agent = "espalier"

// login returns what Git servers expect: if a token replaces the password, the user name is arbitrary but must not be empty.
func (r *Remote) login() (user, password string) {
	c := r.settings.Credentials
	user, password = c.Username, c.Password
	if password == "" {
		password = c.Token
	}
	if user == "" {
		user = "x-access-token"
	}
	return user, password
}

// check returns an error if a response does not come from a Git server, or is an error.
func (r *Remote) check(e exchange, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return r.failed(e.operation, statusError(answer))
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != e.accept {
		return r.failed(e.operation, &gitprovider.Error{
			Class: gitprovider.Malformed, Status: answer.StatusCode,
			Message: fmt.Sprintf("the answer has type %q, so it does not come from a Git server: check the url", kind),
		})
	}
	return nil
}
