// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/masking"
)

// credential is the Authorization header of requests to a cluster; an empty one is not sent.
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

// String keeps the credential out of printed output.
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
	// The Target determines the credential; any credential from a client is replaced.
	request = request.Clone(request.Context())
	for _, header := range []string{"Authorization", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"} {
		request.Header.Del(header)
	}
	if header == "" {
		return a.next.RoundTrip(request)
	}
	request.Header.Set("Authorization", header)
	response, err := a.next.RoundTrip(request)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	if err := hide(request, response); err != nil {
		return nil, err
	}
	return response, nil
}

// maxRefusal is the maximum length of the answer to a failed request.
const maxRefusal = 1 << 20

// hide masks the credential in the answer to a failed request, which may quote the request. Error messages contain the answer.
func hide(request *http.Request, response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	closeBody(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of the target cluster: %w", err)
	}
	_, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	_, password, _ := request.BasicAuth()
	for _, secret := range []string{token, password} {
		if secret != "" {
			text = bytes.ReplaceAll(text, []byte(secret), []byte(masking.Mask))
		}
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}
