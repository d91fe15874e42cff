// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package giteaserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Login identifies the caller: by a token, or by user and password. The zero value is anonymous.
type Login struct {
	User, Password string
	Token          string
}

// Request is an API call.
type Request struct {
	Method string // GET if it is empty
	Path   string // below /api/v1
	Body   any    // sent as JSON, unless it is nil
	Into   any    // what the response is decoded into, unless it is nil
}

func (r Request) String() string { return cmp.Or(r.Method, http.MethodGet) + " " + r.Path }

// Refusal is an error response of Gitea.
type Refusal struct {
	Code    int // of HTTP
	Message string
}

// Error returns Gitea's message.
func (r *Refusal) Error() string {
	return fmt.Sprintf("Gitea returned HTTP %d: %s", r.Code, r.Message)
}

// Call sends a request. Error responses are returned as *Refusal.
func (s *Server) Call(ctx context.Context, login Login, request Request) error {
	content, err := s.send(ctx, login, request)
	if err == nil && request.Into != nil {
		err = json.Unmarshal(content, request.Into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", request, err)
	}
	return nil
}

func (s *Server) send(ctx context.Context, login Login, request Request) ([]byte, error) {
	sent, err := s.encode(ctx, login, request)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(sent)
	if err != nil {
		return nil, err
	}
	defer closeQuietly(response.Body)
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, &Refusal{Code: response.StatusCode, Message: string(bytes.TrimSpace(content))}
	}
	return content, nil
}

func (s *Server) encode(ctx context.Context, login Login, request Request) (*http.Request, error) {
	var body io.Reader
	if request.Body != nil {
		encoded, err := json.Marshal(request.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	sent, err := http.NewRequestWithContext(ctx, request.Method, s.URL()+"/api/v1"+request.Path, body)
	if err != nil {
		return nil, err
	}
	switch {
	case login.Token != "":
		sent.Header.Set("Authorization", "token "+login.Token)
	case login.User != "":
		sent.SetBasicAuth(login.User, login.Password)
	}
	sent.Header.Set("Content-Type", "application/json")
	return sent, nil
}
