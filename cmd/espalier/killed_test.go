// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"espalier.dev/internal/testkit/share"
)

// starting is an "espalier up" that is not up yet.
type starting struct {
	cmd    *exec.Cmd
	output bytes.Buffer // to be read after the end
}

// startUntil begins to start espalier and returns as soon as a file appears in the data directory.
func (u user) startUntil(t *testing.T, file string) *starting {
	t.Helper()
	s := &starting{cmd: u.command(t, "up", "--ui-addr", "")}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pattern := filepath.Join(u.dataDir(), filepath.FromSlash(file))
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
		found, err := filepath.Glob(pattern)
		return len(found) > 0, err
	})
	if err != nil {
		s.kill(t)
		t.Fatalf("%s never appears: %v\n%s", file, err, s.output.String())
	}
	return s
}

func (s *starting) kill(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("it ended by itself: %v\n%s", err, s.output.String())
	}
}

// A process that is killed during its first start leaves nothing that keeps a later one from starting. A start is over when there is a
// kubeconfig.
func TestAFirstStartMayBeKilled(t *testing.T) {
	cases := share.Of()
	for _, moment := range []string{"etcd/member/snap/db", "lock", "pki/ca.crt", "etcd/member/wal/*.wal"} {
		if !cases.Try() {
			continue
		}
		t.Run("as "+moment+" appears", func(t *testing.T) {
			u := newUser(t)
			u.startUntil(t, moment).kill(t)
			u.startUntil(t, "kubeconfig").kill(t)
		})
	}
}

// What was stored once outlives that the process is killed in a later start.
func TestALaterStartMayBeKilled(t *testing.T) {
	u := newUser(t)
	first := u.up(t, "--ui-addr", "")
	u.mustRun(t, "kubectl", "create", "configmap", "kept", "--from-literal=a=b")
	first.signal(t, syscall.SIGKILL)
	first.rest(t)
	u.startUntil(t, "control-plane.log.1").kill(t) // the log of the first start is set aside
	again := u.up(t, "--ui-addr", "")
	u.mustRun(t, "kubectl", "get", "configmap/kept")
	again.stop(t, syscall.SIGTERM)
}

func TestAFirstStartObeysTheFirstSignal(t *testing.T) {
	for _, moment := range []string{"etcd/member/snap/db", "etcd/member/wal/*.wal"} {
		t.Run(moment, func(t *testing.T) {
			s := newUser(t).startUntil(t, moment)
			if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() }) // if it hangs
			defer timer.Stop()
			if err := s.cmd.Wait(); err != nil {
				t.Errorf("it ended with %v:\n%s", err, s.output.String())
			}
		})
	}
}
