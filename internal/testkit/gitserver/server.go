// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"espalier.dev/internal/gitprovider"
)

// The user who may log in.
const (
	Username = "promoter"
	Password = "s3cret-p4ssword"
)

// Server serves repositories.
type Server struct {
	*httptest.Server
	root string

	mutex  sync.Mutex
	around func(http.Handler) http.Handler
	log    []string
}

// Start runs a server until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{root: t.TempDir()}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(run(t, "", "--exec-path")), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"},
	}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.log = append(s.log, r.Method+" "+r.URL.RequestURI())
		around := s.around
		s.mutex.Unlock()
		if around == nil {
			around = func(h http.Handler) http.Handler { return h }
		}
		around(authenticated(backend)).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != Username || password != Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Around wraps the server's handler; nil removes the wrapper.
func (s *Server) Around(wrap func(http.Handler) http.Handler) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.around = wrap
}

// Requests returns method and path of all requests since the last call.
func (s *Server) Requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	log := s.log
	s.log = nil
	return log
}

// CA returns the certificate that clients must trust, in PEM.
func (s *Server) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// Credentials returns the credentials that the server accepts.
func (s *Server) Credentials() gitprovider.Credentials {
	return gitprovider.Credentials{Username: Username, Password: Password, CA: s.CA()}
}

// run runs git, without the settings of the user who runs the test.
func run(t testing.TB, directory string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = directory
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+os.TempDir(),
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}
