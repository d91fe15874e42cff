// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"context"
	"errors"
	"testing"
	"time"

	"espalier.dev/internal/giteaserver"
	"espalier.dev/internal/testkit"
)

// Refusal is an unsuccessful answer of Gitea.
type Refusal = giteaserver.Refusal

// login returns the login of the administrator.
func (g *GiteaServer) login() giteaserver.Login { return giteaserver.Login{Token: g.Token} }

// Call sends a request to a path below /api/v1 with the administrator's token, and decodes the answer into the last argument unless that is
// nil. It is for calls without a method here, and for expected refusals, which are errors of type *Refusal.
func (g *GiteaServer) Call(ctx context.Context, method, path string, body, into any) error {
	return g.server.Call(ctx, g.login(), giteaserver.Request{Method: method, Path: path, Body: body, Into: into})
}

// must makes a call that must succeed.
func (g *GiteaServer) must(t testing.TB, method, path string, body, into any) {
	t.Helper()
	if err := g.Call(t.Context(), method, path, body, into); err != nil {
		t.Fatal(err)
	}
}

// whileBusy retries a call as long as the refusal says that Gitea is busy. There is no way to find out when it no longer is.
func whileBusy(ctx context.Context, isBusy func(*Refusal) bool, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, testkit.Patience)
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
