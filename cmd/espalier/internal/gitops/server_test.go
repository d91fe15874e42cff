// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package gitops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/giteaserver"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/program"
)

// installed returns a Gitea. It occupies the usual port, or somebody else does: a Gitea that is to keep its port between two starts must
// not share it with tests of other packages.
func installed(t *testing.T) string {
	t.Helper()
	if listener, err := listenAt(usualPort); err == nil {
		t.Cleanup(func() { _ = listener.Close() })
	}
	path, err := program.InstallGitea(t.Context(), t.TempDir(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, binary, dataDir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), binary, dataDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.gitea.Process().Kill)
	return s
}

// sees checks that the token of Espalier can read the repository.
func (s *Server) sees(t *testing.T) error {
	t.Helper()
	return s.gitea.Call(t.Context(), giteaserver.Login{Token: s.state.Token}, giteaserver.Request{
		Path: "/repos/espalier/web/contents/environments/staging.yaml",
	})
}

// A Gitea without its espalier gives way to the next start, which continues with its data.
func TestAGiteaThatWasLeftBehindGivesWay(t *testing.T) {
	binary, dir := installed(t), t.TempDir()
	first := start(t, binary, dir)
	second := start(t, binary, dir)
	select {
	case <-first.gitea.Process().Exited():
	case <-time.After(testkit.Patience):
		t.Error("the first one lives on")
	}
	if second.URL() != first.URL() || second.state != first.state {
		t.Errorf("it moved from %s to %s, or has other credentials", first.URL(), second.URL())
	}
	if err := second.sees(t); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.Run(ctx); err != nil {
		t.Errorf("stopping: %v", err)
	}

	stranger, err := net.Listen("tcp4", strings.TrimPrefix(first.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 100)
	curious := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		asked <- fmt.Sprintf("%s %v", request.URL, request.Header)
	})}
	go func() { _ = curious.Serve(stranger) }()
	defer curious.Close()
	if _, err := Start(t.Context(), binary, dir); err == nil || !strings.Contains(err.Error(), "is in use by another program") ||
		!strings.Contains(err.Error(), strconv.Itoa(first.state.Port)) {
		t.Errorf("with a stranger at its port: %v", err)
	}
	close(asked)
	for question := range asked {
		if !strings.HasPrefix(question, "/assets/") || strings.Contains(question, first.state.InternalToken) {
			t.Errorf("the stranger is asked %s", question)
		}
	}
}

// A first start that is cut short leaves no process, and the next one creates everything that is missing.
func TestAFirstStartOfGiteaMayBeCutShort(t *testing.T) {
	binary, dir := installed(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for range again.C {
			if _, err := os.Stat(filepath.Join(Dir(dir), "data", "gitea.db")); err == nil || ctx.Err() != nil {
				return
			}
		}
	}()
	if _, err := Start(ctx, binary, dir); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ends with %v", err)
	}
	kept, err := readState(Dir(dir))
	if err != nil || kept.isComplete() {
		t.Fatalf("it leaves a complete state: %v", err)
	}
	if connection, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(kept.Port))); err == nil {
		_ = connection.Close()
		t.Error("its Gitea still listens")
	}
	second := start(t, binary, dir)
	if second.state.Port != kept.Port || second.state.SecretKey != kept.SecretKey {
		t.Error("it begins somewhere else")
	}
	if err := second.sees(t); err != nil {
		t.Error(err)
	}
}
