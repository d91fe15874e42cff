// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package ui_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/ui"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

func TestItPrintsAnAddressThatOpensThePages(t *testing.T) {
	server := testkit.Server(t)
	running := clitest.Start(t, server, server.Namespace(t), clitest.Call{Command: ui.New, Args: []string{"--address", "127.0.0.1:0"}})
	running.Until(t, "it works once")
	running.Interrupt()
	got := running.Wait(t)
	if got.Code != cli.ExitOK || !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/open\?code=\w+\n$`).MatchString(got.Stdout) {
		t.Errorf("%+v", got)
	}
	if _, err := http.Get(strings.TrimSpace(got.Stdout)); err == nil {
		t.Error("it still answers")
	}
}

func TestRefusals(t *testing.T) {
	server := testkit.Server(t)
	short, empty := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "empty")
	for name, content := range map[string]string{short: "short", empty: "\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	provider := func(args ...string) []string {
		return append([]string{"serve", "--host", "a", "--oidc-issuer", "https://login.example", "--oidc-client-id", "ui"}, args...)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an address of others": {[]string{"--address", "0.0.0.0:0"}, "loopback"},
		"no address":           {[]string{"--address", "nowhere"}, "--address"},
		"no host":              {[]string{"serve"}, "--host is missing"},
		"a short key":          {[]string{"serve", "--host", "a", "--session-key-file", short}, "32 are needed"},
		"no key":               {[]string{"serve", "--host", "a", "--session-key-file", short + "x"}, "--session-key-file"},
		"half a certificate":   {[]string{"serve", "--host", "a", "--tls-cert-file", short}, "go together"},
		"no certificate":       {[]string{"serve", "--host", "a", "--tls-cert-file", short, "--tls-key-file", short}, "--tls-cert-file"},
		"no issuer":            {[]string{"serve", "--host", "a", "--oidc-client-id", "ui"}, "--oidc-issuer is missing"},
		"no client":            {[]string{"serve", "--host", "a", "--oidc-issuer", "https://login.example"}, "--oidc-client-id is missing"},
		"an open issuer":       {provider("--oidc-issuer", "http://login.example"), "does not start with https://"},
		"an issuer of no use":  {provider("--oidc-issuer", "login.example"), "is not an address"},
		"an issuer's password": {provider("--oidc-issuer", "https://me:hidden@login.example"), "contains a user"},
		"an issuer's query":    {provider("--oidc-issuer", "https://login.example?a=b"), "has a query"},
		"no secret":            {provider("--oidc-client-secret-file", short+"x"), "--oidc-client-secret-file"},
		"an empty secret":      {provider("--oidc-client-secret-file", empty), "is empty"},
		"no openid":            {provider("--oidc-scopes", "email"), "has no openid"},
		"a strange scope":      {provider("--oidc-scopes", "openid,a b"), "is not a scope"},
		"no authority":         {provider("--oidc-ca-file", short+"x"), "--oidc-ca-file"},
		"a wrong authority":    {provider("--oidc-ca-file", short), "no certificate in PEM"},
		"an empty authority":   {provider("--oidc-ca-file", os.DevNull), "is empty"},
		"a long name":          {provider("--oidc-name", strings.Repeat("x", 65)), "--oidc-name"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, "default", clitest.Call{Command: ui.New, Args: test.args})
			if got.Code != cli.ExitError || !strings.Contains(got.Stderr, test.want) || strings.Contains(got.Stderr, "hidden") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestServeListens(t *testing.T) {
	server := testkit.Server(t)
	call := clitest.Call{Command: ui.New, Args: []string{"serve", "--host", "ui.example", "--address", "127.0.0.1:0"}}
	running := clitest.Start(t, server, "default", call)
	running.Until(t, "The web UI listens at 127.0.0.1:")
	running.Interrupt()
	if got := running.Wait(t); got.Code != cli.ExitOK {
		t.Errorf("%+v", got)
	}
}
