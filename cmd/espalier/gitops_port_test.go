// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// stranger is a program that listens where Gitea has listened.
type stranger struct {
	server http.Server

	mutex sync.Mutex
	asked []string
}

func answerInsteadOfGitea(t *testing.T, listener net.Listener) *stranger {
	s := &stranger{}
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.asked = append(s.asked, request.URL.Path)
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
	})
	go func() { _ = s.server.Serve(listener) }()
	t.Cleanup(s.stop)
	return s
}

// stop frees the address.
func (s *stranger) stop() { _ = s.server.Close() }

// questions returns the paths that were requested.
func (s *stranger) questions() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.asked
}

// keepGitea makes the data directory look as if the example gitops had been started there with a Gitea at the address.
func (u user) keepGitea(t *testing.T, address string) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{
		"port": json.Number(port), "secretKey": "key", "internalToken": "internal", "password": "password", "token": "token",
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(u.dataDir(), "gitea")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "espalier.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// createGitOps creates the objects of the example gitops for a Gitea at the address.
func (u user) createGitOps(t *testing.T, address string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "gitops", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the example has the files %q: %v", files, err)
	}
	fill := strings.NewReplacer("127.0.0.1:3000", address, `token: ""`, "token: token", `password: ""`, "password: token")
	var manifests []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, fill.Replace(string(content)))
	}
	path := filepath.Join(t.TempDir(), "gitops.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(manifests, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustRun(t, "kubectl", "create", "-f", path)
}

// After the first start of the example gitops, its objects make the controllers send credentials to the port of Gitea. No other program
// receives them: no controller runs before Gitea does, and the port is in use while Gitea does not run.
func TestOnlyGiteaReceivesItsCredentials(t *testing.T) {
	u, address := newUser(t), freeAddress(t)
	first := u.up(t, "--ui-addr", "")
	t.Cleanup(func() { _ = first.cmd.Process.Kill() })
	u.createGitOps(t, address)
	first.stop(t, syscall.SIGTERM)
	u.keepGitea(t, address)

	listener, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	other := answerInsteadOfGitea(t, listener)
	code, _, stderr := u.run(t, "up", "--ui-addr", "", "--example", "gitops", "--gitea", os.Args[0])
	if code != 1 || !strings.Contains(stderr, "is in use by another program") {
		t.Errorf("beside another program, it ends with code %d: %s", code, stderr)
	}
	for _, path := range other.questions() {
		if !strings.HasPrefix(path, "/assets/") {
			t.Errorf("the other program is asked for %s", path)
		}
	}
	warned := u.up(t, "--ui-addr", "")
	t.Cleanup(func() { _ = warned.cmd.Process.Kill() })
	warned.signal(t, syscall.SIGTERM)
	_, port, _ := net.SplitHostPort(address)
	if rest := warned.rest(t); !strings.Contains(rest, "warning: port "+port+" is in use by another program, which may receive the token") {
		t.Errorf("without the example, it prints: %s", rest)
	}
	other.stop()

	idle := u.up(t, "--ui-addr", "")
	t.Cleanup(func() { _ = idle.cmd.Process.Kill() })
	if listener, err := net.Listen("tcp4", address); err == nil {
		_ = listener.Close()
		t.Error("without the example, another program can listen on the port of Gitea")
	}
	idle.stop(t, syscall.SIGTERM)
}
