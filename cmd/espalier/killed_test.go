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

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/share"
)

// starting is an "espalier up" that is still starting.
type starting struct {
	cmd    *exec.Cmd
	output bytes.Buffer // to be read after the process has ended
}

// startUntil starts espalier and returns as soon as a file appears in the data directory.
func (u user) startUntil(t *testing.T, file string, args ...string) *starting {
	t.Helper()
	s := &starting{cmd: u.command(t, append([]string{"up", "--ui-addr", ""}, args...)...)}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pattern := filepath.Join(u.dataDir(), filepath.FromSlash(file))
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
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

// interrupt sends an interrupt, as Ctrl-C does, which must end the process regularly.
func (s *starting) interrupt(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(testkit.Patience, func() { _ = s.cmd.Process.Kill() }) // if it hangs
	defer timer.Stop()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, s.output.String())
	}
}

// A process that is killed during its first start leaves nothing that prevents a later one from starting. A start has finished when there
// is a kubeconfig.
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

// Stored objects survive a kill during a later start.
func TestALaterStartMayBeKilled(t *testing.T) {
	u := newUser(t)
	first := u.up(t, "--ui-addr", "")
	u.mustRun(t, "kubectl", "create", "configmap", "kept", "--from-literal=a=b")
	first.signal(t, syscall.SIGKILL)
	first.rest(t)
	u.startUntil(t, "control-plane.log.1").kill(t) // the log of the first start is renamed
	again := u.up(t, "--ui-addr", "")
	u.mustRun(t, "kubectl", "get", "configmap/kept")
	again.stop(t, syscall.SIGTERM)
}

func TestAFirstStartObeysTheFirstSignal(t *testing.T) {
	for _, moment := range []string{"etcd/member/snap/db", "etcd/member/wal/*.wal"} {
		t.Run(moment, func(t *testing.T) {
			s := newUser(t).startUntil(t, moment)
			s.interrupt(t)
		})
	}
}
