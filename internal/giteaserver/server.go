// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package giteaserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"espalier.dev/internal/subprocess"
)

// startLimit detects failures and is not a measure of speed.
const startLimit = 5 * time.Minute

// proofLimit is how long the process on a port may take to prove its identity.
const proofLimit = 10 * time.Second

// Server is a running Gitea. Its methods are safe for concurrent use.
type Server struct {
	Settings

	client  *http.Client
	process *subprocess.Process
	proof   string // proves that this Gitea answers
}

// Start runs a Gitea whose configuration has been written, and returns when it answers. The listener is that of the port in the settings,
// and is closed: once Gitea is gone, connections are refused. The client must trust its certificate.
func Start(ctx context.Context, settings Settings, listener *net.TCPListener, client *http.Client) (*Server, error) {
	defer closeQuietly(listener)
	s := &Server{Settings: settings, client: client}
	// Gitea mistakes a parent from which it inherits a listener for an older Gitea, and ends it if it has the right.
	launch := s.launchAlone
	if settings.Inherit {
		launch = s.launchWith
	}
	if err := launch(listener); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.process.While(ctx, s.awaitAnswer); err != nil {
		s.process.Kill()
		return nil, err
	}
	return s, nil
}

// launchWith starts a Gitea that inherits the listener.
func (s *Server) launchWith(listener *net.TCPListener) error {
	inherited, err := listener.File()
	if err != nil {
		return fmt.Errorf("hand the listener to Gitea: %w", err)
	}
	defer closeQuietly(inherited)
	command := s.command("web")
	command.Env = append(command.Env, "LISTEN_FDS=1")
	command.Files = []*os.File{inherited}
	if s.process, err = subprocess.Start(command); err != nil {
		return err
	}
	closeQuietly(listener)
	return nil
}

// awaitAnswer waits until this Gitea answers, and rejects one that is too old. An inherited listener already exists: the first connection
// waits in its queue until Gitea accepts it.
func (s *Server) awaitAnswer(ctx context.Context) error {
	if !s.Inherit {
		if err := s.awaitProof(ctx); err != nil {
			return err
		}
	}
	return s.checkVersion(ctx)
}

// proofFile can be served only by a Gitea that reads this folder: its content is random.
const proofFile = "espalier.txt"

func (s Settings) proofPath() string {
	return filepath.Join(s.Dir, "custom", "public", "assets", proofFile)
}

// launchAlone starts a Gitea that listens itself. Another process may take the port first, and must not receive any password.
func (s *Server) launchAlone(listener *net.TCPListener) error {
	s.proof = rand.Text()
	err := os.MkdirAll(filepath.Dir(s.proofPath()), 0o700)
	if err == nil {
		err = os.WriteFile(s.proofPath(), []byte(s.proof), 0o600)
	}
	if err != nil {
		return fmt.Errorf("prepare the start of Gitea: %w", err)
	}
	closeQuietly(listener)
	s.process, err = subprocess.Start(s.command("web"))
	return err
}

// awaitProof polls until the port answers, and verifies that it is this Gitea.
func (s *Server) awaitProof(ctx context.Context) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		shown, err := s.shownProof(ctx, s.client)
		if err == nil && shown == s.proof {
			return nil
		}
		if err == nil {
			return fmt.Errorf("another program answers at %s: stop it", s.URL())
		}
		if errors.Is(err, errNoProof) {
			return fmt.Errorf("the program at %s does not serve its custom files: use Gitea %s or newer; if another program listens at %s, stop it",
				s.Binary, MinimumVersion, s.URL())
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w (%w)", ctx.Err(), err)
		}
	}
}

// errNoProof is the error for a port on which a process answers that it has no such file, as a Gitea does that is too old.
var errNoProof = errors.New("it does not serve the file that proves its identity")

// shownProof returns the proof from the process that listens on the port.
func (s Settings) shownProof(ctx context.Context, client *http.Client) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/assets/"+proofFile, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer closeQuietly(response.Body)
	if response.StatusCode == http.StatusNotFound {
		return "", errNoProof
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return string(content), err
}

// Process returns the running program.
func (s *Server) Process() *subprocess.Process { return s.process }

// Client returns the client for its API.
func (s *Server) Client() *http.Client { return s.client }

// Account is a user of a Gitea.
type Account struct {
	Name     string
	Password string // if it is empty, Gitea generates one
	Token    string // set by CreateAdministrator
	Scopes   string // of the token, separated by commas; empty for all
}

// Login returns the login of the user.
func (a Account) Login() Login { return Login{User: a.Name, Password: a.Password} }

var (
	tokenInOutput    = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	passwordInOutput = regexp.MustCompile(`random password is '(.*)'`)
)

// CreateAdministrator creates an administrator with a token, and returns it with the generated values.
func (s *Server) CreateAdministrator(ctx context.Context, account Account) (Account, error) {
	arguments := []string{
		"admin", "user", "create", "--admin", "--username", account.Name, "--email", account.Name + "@example.org",
		"--must-change-password=false", "--access-token", "--access-token-name", "espalier",
	}
	if account.Scopes != "" {
		arguments = append(arguments, "--access-token-scopes", account.Scopes)
	}
	if account.Password == "" {
		arguments = append(arguments, "--random-password", "--random-password-length", "20")
	} else {
		arguments = append(arguments, "--password", account.Password)
	}
	output, err := subprocess.Run(ctx, s.command(arguments...))
	if err != nil {
		return Account{}, fmt.Errorf("create user %s: %s", account.Name, withoutSecrets(err.Error()))
	}
	if account.Token = tokenInOutput.FindString(output); account.Token == "" {
		return Account{}, fmt.Errorf("create user %s: Gitea prints no token", account.Name)
	}
	if account.Password == "" {
		found := passwordInOutput.FindStringSubmatch(output)
		if found == nil {
			return Account{}, fmt.Errorf("create user %s: Gitea prints no password", account.Name)
		}
		account.Password = found[1]
	}
	return account, nil
}

// withoutSecrets removes secrets from what Gitea prints before it fails.
func withoutSecrets(text string) string {
	return tokenInOutput.ReplaceAllString(passwordInOutput.ReplaceAllString(text, "random password is <masked>"), "<masked>")
}

// Stop stops it gracefully.
func (s *Server) Stop() error {
	s.client.CloseIdleConnections()
	return s.process.Stop()
}

// errStranger is the error for a port on which another process listens.
var errStranger = errors.New("no Gitea of this folder answers")

// Shutdown stops a Gitea with these settings that another process has left behind. It fails if there is none. It does not send the internal
// token to any other process that listens on the port.
func Shutdown(ctx context.Context, settings Settings, client *http.Client) error {
	proof, err := os.ReadFile(settings.proofPath())
	if err != nil {
		return errStranger
	}
	asking, cancel := context.WithTimeout(ctx, proofLimit)
	defer cancel()
	if shown, err := settings.shownProof(asking, client); err != nil || shown != string(proof) {
		return errStranger
	}
	if err := settings.Write(); err != nil {
		return err
	}
	if _, err := subprocess.Run(ctx, settings.command("manager", "shutdown")); err != nil {
		return errors.New(withoutSecrets(strings.TrimSpace(err.Error())))
	}
	return nil
}

// closeQuietly ignores the error, for a repeated or final Close.
func closeQuietly(c io.Closer) { _ = c.Close() }
