// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"espalier.dev/examples"
	"espalier.dev/internal/giteaserver"
	"espalier.dev/internal/listening"
)

const (
	// folder contains the data of Gitea, in the data directory.
	folder = "gitea"
	// usualPort is Gitea's default. If it is in use at the first start, another one is taken.
	usualPort = 3000
	// user owns the repository.
	user       = "espalier"
	repository = "web"
	// scopes are the rights of the token, as in docs/git-servers.md.
	scopes = "write:repository,write:issue"
	// formerLimit is how long a Gitea left by a killed espalier may take to end.
	formerLimit = time.Minute
	// strangerLimit is how long the port may be in use by a program other than such a Gitea.
	strangerLimit = 10 * time.Second
)

// Server is a running Gitea with everything that the example requires.
type Server struct {
	gitea *giteaserver.Server
	state state
}

// Dir returns the directory of Gitea in a data directory.
func Dir(dataDir string) string { return filepath.Join(dataDir, folder) }

// Kept reports whether the data directory contains a Gitea of an earlier start.
func Kept(dataDir string) bool {
	_, err := os.Stat(filepath.Join(Dir(dataDir), stateFile))
	return err == nil
}

// Start runs the Gitea in the data directory and returns when it has a user and a repository. It first stops a Gitea that a killed espalier
// has left running. An unfinished first start is repeated. The context limits only the start.
func Start(ctx context.Context, binary, dataDir string) (*Server, error) {
	dir := Dir(dataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of Gitea: %w", err)
	}
	s := &Server{}
	var err error
	if s.state, err = readState(dir); err != nil {
		return nil, err
	}
	listener, err := s.listen(ctx, binary, dir)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	if !s.state.isComplete() {
		if err := clearDir(dir); err != nil {
			return nil, err
		}
	}
	settings := s.settings(binary, dir)
	if err := settings.Write(); err != nil {
		return nil, err
	}
	if s.gitea, err = giteaserver.Start(ctx, settings, listener, newClient()); err != nil {
		return nil, withCause(ctx, err)
	}
	if err := s.complete(ctx, dir); err != nil {
		return nil, withCause(ctx, errors.Join(err, s.Stop()))
	}
	return s, nil
}

// newClient returns a client that uses no proxy.
func newClient() *http.Client { return &http.Client{Transport: &http.Transport{}} }

// withCause adds the cause of a context's end to the error of a call that it ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func (s *Server) settings(binary, dir string) giteaserver.Settings {
	settings := giteaserver.Settings{
		Binary: binary, Static: staticFiles(binary), Dir: dir, Port: s.state.Port,
		SecretKey: s.state.SecretKey, InternalToken: s.state.InternalToken,
		Durable: true, Apart: true, OnlyEnv: true,
	}
	// The environment of another Gitea, or of the system that started espalier, must not reach this one.
	for _, name := range []string{"PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ"} {
		if value, found := os.LookupEnv(name); found {
			settings.Env = append(settings.Env, name+"="+value)
		}
	}
	return settings
}

// listen opens the port of earlier starts, which is part of the addresses that the pipeline uses.
func (s *Server) listen(ctx context.Context, binary, dir string) (*net.TCPListener, error) {
	if s.state.Port == 0 {
		return s.listenSomewhere(dir)
	}
	listener, err := listenAt(s.state.Port)
	if !listening.InUse(err) {
		return listener, err
	}
	ending, cancel := context.WithTimeout(ctx, formerLimit)
	defer cancel()
	problem := errors.New("the Gitea of an earlier start is still running: stop it")
	if err := giteaserver.Shutdown(ending, s.settings(binary, dir), newClient()); err != nil {
		// A Gitea may also be about to end: the kernel kills it together with its espalier.
		problem = errors.New("the port is in use by another program: stop that program, or choose another --data-dir")
		ending, cancel = context.WithTimeout(ctx, strangerLimit)
		defer cancel()
	}
	if listener, err = s.listenAgain(ending); err == nil {
		return listener, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%w: %w", err, problem)
}

// listenAgain retries until the port is free.
func (s *Server) listenAgain(ctx context.Context) (*net.TCPListener, error) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		listener, err := listenAt(s.state.Port)
		if !listening.InUse(err) {
			return listener, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// listenSomewhere opens a new port and records it before Gitea starts there.
func (s *Server) listenSomewhere(dir string) (*net.TCPListener, error) {
	listener, err := listenAt(usualPort)
	if err != nil {
		listener, err = listenAt(0)
	}
	if err != nil {
		return nil, err
	}
	s.state.Port = listener.Addr().(*net.TCPAddr).Port
	if err := s.state.save(dir); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func listenAt(port int) (*net.TCPListener, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return nil, fmt.Errorf("listen for Gitea: %w", err)
	}
	return listener, nil
}

// complete creates everything that the example requires, once: users may change it later.
func (s *Server) complete(ctx context.Context, dir string) error {
	if s.state.isComplete() {
		return nil
	}
	account, err := s.gitea.CreateAdministrator(ctx, giteaserver.Account{Name: user, Scopes: scopes})
	if err != nil {
		return fmt.Errorf("set up Gitea: %w", err)
	}
	files, err := repositoryFiles()
	if err != nil {
		return fmt.Errorf("set up Gitea: %w", err)
	}
	if err := s.gitea.CreateRepository(ctx, account.Login(), repository); err != nil {
		return fmt.Errorf("set up Gitea: %w", err)
	}
	first := giteaserver.Commit{Owner: user, Repository: repository, Branch: "main", Message: "Describe what runs where", Files: files}
	if _, err := s.gitea.Commit(ctx, account.Login(), first); err != nil {
		return fmt.Errorf("set up Gitea: %w", err)
	}
	s.state.Password, s.state.Token = account.Password, account.Token
	return s.state.save(dir)
}

// repositoryFiles returns the initial content of the repository.
func repositoryFiles() (map[string]string, error) {
	content := examples.Repository()
	files := map[string]string{}
	err := fs.WalkDir(content, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(content, path)
		files[path] = string(text)
		return err
	})
	return files, err
}

// URL returns the URL of Gitea, without a trailing slash.
func (s *Server) URL() string { return s.gitea.URL() }

// RepositoryURL returns the URL of the repository's page.
func (s *Server) RepositoryURL() string { return s.URL() + "/" + user + "/" + repository }

// User returns the name of the user.
func (s *Server) User() string { return user }

// Run returns when the context has ended and Gitea has stopped, or with an error when Gitea ends by itself.
func (s *Server) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return s.Stop()
	case <-s.gitea.Process().Exited():
		return fmt.Errorf("the Gitea of the example gitops exited unexpectedly; log in %s. Last output:\n%s",
			s.gitea.LogDir(), strings.TrimSpace(s.gitea.Process().Output()))
	}
}

// Stop ends Gitea.
func (s *Server) Stop() error { return s.gitea.Stop() }
