// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// Refusal is an answer of Gitea that is no success.
type Refusal struct {
	Code    int // of HTTP
	Message string
}

// Error says what Gitea has said.
func (r *Refusal) Error() string {
	return fmt.Sprintf("Gitea refuses with code %d: %s", r.Code, r.Message)
}

// Call sends a request to a path below /api/v1 with the administrator's token, and decodes the answer into the last argument unless
// that is nil. It is for what has no method here, and for refusals, which are errors of type *Refusal.
func (g *GiteaServer) Call(ctx context.Context, method, path string, body, into any) error {
	request, err := g.request(ctx, method, path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	response, err := g.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer closeQuietly(response.Body)
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %w", method, path, &Refusal{Code: response.StatusCode, Message: string(bytes.TrimSpace(content))})
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func (g *GiteaServer) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, g.URL+"/api/v1"+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "token "+g.Token)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// must makes a call that a test takes for granted.
func (g *GiteaServer) must(t testing.TB, method, path string, body, into any) {
	t.Helper()
	if err := g.Call(t.Context(), method, path, body, into); err != nil {
		t.Fatal(err)
	}
}

// whileBusy repeats a call as long as the refusal says that Gitea has work of its own to finish first. It has no way to tell when
// that is done.
func whileBusy(ctx context.Context, isBusy func(*Refusal) bool, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := call(ctx)
		var refusal *Refusal
		if !errors.As(err, &refusal) || !isBusy(refusal) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}
