// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"espalier.dev/internal/giteaserver"
	"espalier.dev/internal/subprocess"
	"espalier.dev/internal/testkit"
)

// GiteaServer is a running Gitea. Its methods may be called from several goroutines.
type GiteaServer struct {
	URL      string // https://127.0.0.1:<port>, without a trailing slash
	CA       []byte // the authority behind its certificate, in PEM; no client trusts it by default
	User     string // an administrator, who owns what Repository creates
	Password string
	Token    string // of the user, with all rights; also the password for Git over HTTPS

	server *giteaserver.Server
}

var shared struct {
	once  sync.Once
	gitea *GiteaServer
	err   error
}

// Gitea returns the Gitea that all tests of this process share. The first caller starts it, which takes some seconds; testkit.Main, which
// the package must use, ends it. Each test works in its own Repository.
func Gitea(t testing.TB) *GiteaServer {
	t.Helper()
	shared.once.Do(func() {
		shared.err = testkit.AtEnd(endShared)
		if shared.err == nil {
			shared.gitea, shared.err = startGitea(context.Background())
		}
	})
	if shared.err != nil {
		t.Fatalf("the shared Gitea: %v", shared.err)
	}
	showOutput(t, "Gitea", shared.gitea.server.Process())
	return shared.gitea
}

// NewGitea starts a Gitea for this test alone, such as one that the test will Kill.
func NewGitea(t testing.TB) *GiteaServer {
	t.Helper()
	gitea, err := startGitea(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gitea.end(); err != nil {
			t.Error(err)
		}
	})
	showOutput(t, "Gitea", gitea.server.Process())
	return gitea
}

// Kill ends it at once, as a crash does: connections break, and new ones are refused.
func (g *GiteaServer) Kill() { g.server.Process().Kill() }

// Client returns a client that trusts only the server's certificate.
func (g *GiteaServer) Client() *http.Client { return g.server.Client() }

// lastWords is how many lines of a process's output a failing test shows: few, so that they do not bury the test's own messages.
const lastWords = 20

// showOutput prints the last output of a process if the test fails.
func showOutput(t testing.TB, title string, process *subprocess.Process) {
	t.Cleanup(func() {
		if t.Failed() {
			lines := strings.Split(strings.TrimRight(process.Output(), "\n"), "\n")
			t.Logf("--- the end of what %s has printed\n%s", title, strings.Join(lines[max(0, len(lines)-lastWords):], "\n"))
		}
	})
}

func startGitea(ctx context.Context) (*GiteaServer, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("listen for Gitea: %w", err)
	}
	defer closeQuietly(listener)
	settings, authority, err := newGiteaHome(ctx, listener.Addr().(*net.TCPAddr).Port)
	if err != nil {
		return nil, err
	}
	g := &GiteaServer{URL: settings.URL(), CA: authority}
	if err := g.run(ctx, settings, listener); err != nil {
		return nil, errors.Join(err, removeGiteaHome(settings))
	}
	return g, nil
}

func (g *GiteaServer) run(ctx context.Context, settings giteaserver.Settings, listener *net.TCPListener) error {
	client, err := trustingClient(g.CA)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, testkit.Patience)
	defer cancel()
	if g.server, err = giteaserver.Start(ctx, settings, listener, client); err != nil {
		return err
	}
	account, err := g.server.CreateAdministrator(ctx, giteaserver.Account{Name: "bot", Password: "bot-password-1"})
	if err != nil {
		g.Kill()
		return err
	}
	g.User, g.Password, g.Token = account.Name, account.Password, account.Token
	return nil
}

func endShared() error {
	if shared.gitea == nil {
		return nil
	}
	return shared.gitea.end()
}

// end kills the process, because its data is no longer needed.
func (g *GiteaServer) end() error {
	g.Kill()
	return removeGiteaHome(g.server.Settings)
}

func trustingClient(authority []byte) (*http.Client, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("trust the test authority: its certificate cannot be read")
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}, nil
}

// closeQuietly closes what may already be closed, or whose error does not matter.
func closeQuietly(c io.Closer) { _ = c.Close() }
