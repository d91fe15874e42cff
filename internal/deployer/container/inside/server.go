// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	callLimit  = 20 * time.Second
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
	// refusals is how often a request may be denied before it fails: the API server may not have seen the role yet.
	refusals = 6
	maxReply = 4 << 20
)

// server is the API server as the pod's service account sees it. It supports two operations: change a Secret, and check whether one
// exists.
type server struct {
	client    *http.Client
	base      string
	token     string // a file, because tokens are renewed
	namespace string
}

func newServer(env Environment) (*server, error) {
	authority, err := os.ReadFile(filepath.Join(env(EnvToken), "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("the certificate of the API server's authority cannot be read")
	}
	return &server{
		client: &http.Client{
			Timeout:   callLimit,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
		},
		base:      "https://" + net.JoinHostPort(env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")),
		token:     filepath.Join(env(EnvToken), "token"),
		namespace: env(EnvNamespace),
	}, nil
}

// patchSecret changes annotations and data of a Secret; nil removes a key. It retries until the API server responds.
func (s *server) patchSecret(ctx context.Context, name string, annotations, data map[string]any) error {
	patch := map[string]any{"metadata": map[string]any{"annotations": annotations}}
	if data != nil {
		patch["data"] = data // Bytes are written in base64, as Secrets have them.
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = s.insist(ctx, call{method: http.MethodPatch, name: name, body: body})
	return err
}

func (s *server) secretExists(ctx context.Context, name string) (bool, error) {
	status, err := s.insist(ctx, call{method: http.MethodGet, name: name})
	return status == http.StatusOK, err
}

type call struct {
	method, name string
	body         []byte
}

// insist repeats a call until it has a final answer.
func (s *server) insist(ctx context.Context, c call) (status int, err error) {
	refused, wait := 0, firstRetry
	for {
		status, err = s.try(ctx, c)
		switch {
		case err == nil && status < http.StatusMultipleChoices, status == http.StatusNotFound && c.method == http.MethodGet:
			return status, nil
		case status == http.StatusForbidden || status == http.StatusUnauthorized:
			refused++
		case final(status):
			return status, err
		}
		if refused >= refusals || !pause(ctx, wait) {
			return status, err
		}
		wait = min(2*wait, lastRetry)
	}
}

// final reports whether a retry would get the same answer.
func final(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return true
	}
	return false
}

func (s *server) try(ctx context.Context, c call) (int, error) {
	path := s.base + "/api/v1/namespaces/" + url.PathEscape(s.namespace) + "/secrets/" + url.PathEscape(c.name)
	request, err := http.NewRequestWithContext(ctx, c.method, path, bytes.NewReader(c.body))
	if err != nil {
		return 0, err
	}
	token, err := os.ReadFile(s.token)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/merge-patch+json")
	request.Header.Set("User-Agent", "espalier-container")
	// Without this, the answer to a patch is the whole Secret.
	request.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("call the API server: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // It was only read.
	if response.StatusCode < http.StatusMultipleChoices {
		_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxReply))
		return response.StatusCode, err
	}
	var why struct {
		Message string `json:"message"`
	}
	// Without a message, the error contains only the status code.
	_ = json.NewDecoder(io.LimitReader(response.Body, maxReply)).Decode(&why)
	return response.StatusCode, fmt.Errorf("the API server rejects the change of Secret %s: %s %s", c.name, response.Status, why.Message)
}
