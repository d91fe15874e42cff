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
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/program"
)

// startLimit is for broken parts, not a measure of speed.
const startLimit = 2 * time.Minute

// GiteaServer is a running Gitea. Its methods may be called from several goroutines.
type GiteaServer struct {
	URL      string // https://127.0.0.1:<port>, without a slash at the end
	CA       []byte // the authority behind its certificate, in PEM; nobody trusts it without being told
	User     string // an administrator, who owns what Repository makes
	Password string
	Token    string // of the user, with all rights; as a password it also opens Git over HTTPS

	client  *http.Client
	home    giteaHome
	process *program.Process
}

var shared struct {
	once  sync.Once
	gitea *GiteaServer
	err   error
}

// Gitea returns the Gitea that all tests of this process share. The first caller starts it, which takes some seconds;
// testkit.Main, which the package must use, ends it. Tests keep apart by working in a Repository of their own.
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
	showOutput(t, "Gitea", shared.gitea.process)
	return shared.gitea
}

// NewGitea starts a Gitea that belongs to this test alone, such as one that the test will Kill.
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
	showOutput(t, "Gitea", gitea.process)
	return gitea
}

// Kill ends it at once, as a crash would: connections break, and new ones are refused.
func (g *GiteaServer) Kill() { g.process.Kill() }

// Client returns a client that trusts the server's certificate, and it only.
func (g *GiteaServer) Client() *http.Client { return g.client }

// lastWords is how many lines of a process a failing test shows: few, so that they do not bury what the test itself says.
const lastWords = 20

// showOutput prints the last words of a process if the test fails.
func showOutput(t testing.TB, title string, process *program.Process) {
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
	g := &GiteaServer{URL: "https://" + listener.Addr().String(), User: "bot", Password: "bot-password-1"}
	if g.home, err = newGiteaHome(ctx, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return nil, err
	}
	g.CA = g.home.identity.authority
	if g.client, err = trustingClient(g.CA); err == nil {
		err = g.run(ctx, listener)
	}
	if err != nil {
		return nil, errors.Join(err, g.home.remove())
	}
	return g, nil
}

func (g *GiteaServer) run(ctx context.Context, listener *net.TCPListener) error {
	inherited, err := listener.File()
	if err != nil {
		return fmt.Errorf("hand the listener to Gitea: %w", err)
	}
	defer closeQuietly(inherited)
	command := g.home.command("web")
	command.Env = append(command.Env, "LISTEN_FDS=1")
	command.Files = []*os.File{inherited}
	if g.process, err = program.Start(command); err != nil {
		return err
	}
	closeQuietly(listener) // only Gitea listens now: when it is gone, connections are refused
	closeQuietly(inherited)
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := g.process.While(ctx, g.setUp); err != nil {
		g.process.Kill()
		return err
	}
	return nil
}

// setUp waits for the first answer and makes the user. The listener exists already, so the connection waits in its queue
// until Gitea takes it.
func (g *GiteaServer) setUp(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/api/v1/version", nil)
	if err != nil {
		return fmt.Errorf("ask for its version: %w", err)
	}
	response, err := g.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask for its version: %w", err)
	}
	defer closeQuietly(response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for its version: %s", response.Status)
	}
	return g.createUser(ctx)
}

var tokenInOutput = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

func (g *GiteaServer) createUser(ctx context.Context) error {
	output, err := g.home.run(ctx, "admin", "user", "create", "--admin", "--username", g.User, "--password", g.Password,
		"--email", "bot@example.org", "--must-change-password=false", "--access-token")
	if err != nil {
		return fmt.Errorf("create its user: %w", err)
	}
	if g.Token = tokenInOutput.FindString(output); g.Token == "" {
		return errors.New("create its user: no token came back")
	}
	return nil
}

func endShared() error {
	if shared.gitea == nil {
		return nil
	}
	return shared.gitea.end()
}

// end is not orderly, because nobody will need the data any more.
func (g *GiteaServer) end() error {
	g.process.Kill()
	return g.home.remove()
}

func trustingClient(authority []byte) (*http.Client, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("trust the test authority: its certificate cannot be read")
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}, nil
}

// closeQuietly is for what is closed a second time to be sure, or has nothing more to say.
func closeQuietly(c io.Closer) { _ = c.Close() }
