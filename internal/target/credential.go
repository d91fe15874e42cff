// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/base64"
	"net/http"

	"k8s.io/client-go/rest"
)

// credential is what requests to a cluster carry in their Authorization header; nothing if it is empty.
type credential interface {
	header(ctx context.Context) (string, error)
}

// fixedCredential is the header of a kubeconfig's token or password. A client certificate needs none.
type fixedCredential string

func newFixedCredential(config *rest.Config) fixedCredential {
	switch {
	case config.BearerToken != "":
		return fixedCredential(bearer(config.BearerToken))
	case config.Username != "":
		return fixedCredential("Basic " + base64.StdEncoding.EncodeToString([]byte(config.Username+":"+config.Password)))
	}
	return ""
}

func (f fixedCredential) header(context.Context) (string, error) { return string(f), nil }

// String keeps the credential out of what is printed.
func (f fixedCredential) String() string { return "***" }

func bearer(token string) string { return "Bearer " + token }

// authorizer adds the credential to each request.
type authorizer struct {
	next       http.RoundTripper
	credential credential
}

// RoundTrip implements http.RoundTripper.
func (a *authorizer) RoundTrip(request *http.Request) (*http.Response, error) {
	header, err := a.credential.header(request.Context())
	if err != nil {
		closeBody(request.Body)
		return nil, err
	}
	// Whatever a client adds of its own is not what the Target says.
	request = request.Clone(request.Context())
	for _, header := range []string{"Authorization", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"} {
		request.Header.Del(header)
	}
	if header != "" {
		request.Header.Set("Authorization", header)
	}
	return a.next.RoundTrip(request)
}
