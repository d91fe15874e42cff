// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"espalier.dev/internal/testkit/program"
)

// patience limits the waits of a broken test.
const patience = 6 * time.Minute

// play starts this binary in one of the roles, as if it was an API server.
func play(t *testing.T, role string, change func(*Options)) (*Process, error) {
	t.Helper()
	t.Setenv(roleVariable, role)
	options := Options{Binary: os.Args[0], Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if change != nil {
		change(&options)
	}
	process, err := Start(t.Context(), options)
	if err == nil {
		t.Cleanup(process.Kill)
	}
	return process, err
}

func hasExited(process *Process) bool {
	select {
	case <-process.Exited():
		return true
	default:
		return false
	}
}

func TestStopIsObeyed(t *testing.T) {
	for _, role := range []string{"obedient", "ends with its input"} {
		t.Run(role, func(t *testing.T) {
			process, err := play(t, role, nil)
			if err != nil {
				t.Fatal(err)
			}
			if hasExited(process) {
				t.Error("it has ended by itself")
			}
			if err := process.Stop(); err != nil {
				t.Error(err)
			}
			if !hasExited(process) {
				t.Error("it is still running")
			}
			if err := process.Stop(); err != nil {
				t.Errorf("a second stop: %v", err)
			}
		})
	}
}

func TestStopReportsErrors(t *testing.T) {
	cases := map[string]struct {
		limit time.Duration
		want  string
	}{
		"stubborn":       {limit: time.Second, want: "was killed\nI shall not be moved\nready https://127.0.0.1:1"},
		"ill at the end": {want: "etcd did not stop"},
	}
	for role, c := range cases {
		t.Run(role, func(t *testing.T) {
			process, err := play(t, role, func(o *Options) { o.stopLimit = c.limit })
			if err != nil {
				t.Fatal(err)
			}
			if err := process.Stop(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("says %v, want %q", err, c.want)
			}
			if !hasExited(process) {
				t.Error("it is still running")
			}
		})
	}
}

func TestStartReportsErrors(t *testing.T) {
	cases := map[string]struct {
		role   string
		change func(*Options)
		want   string
	}{
		"it ends": {role: "broken", want: "has ended: exit status 1\nport 6443 is taken"},
		"its arguments": {
			role:   "broken",
			change: func(o *Options) { o.Port, o.DataDir, o.ClusterControllers, o.Authentication = 7, "d", true, "a" },
			want:   `"--port" "7" "--exit-with-stdin" "--data-dir" "d" "--cluster-controllers" "--authentication-config" "a"]`,
		},
		"it is too slow": {
			role:   "never ready",
			change: func(o *Options) { o.startLimit = time.Millisecond },
			want:   "it did not become ready: context deadline exceeded",
		},
		"it is not there": {change: func(o *Options) { o.Binary = "/does/not/exist" }, want: "start the API server"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := play(t, c.role, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("says %v, want %q", err, c.want)
			}
		})
	}
}

// runParent is a test process with a server, which prints the server's address and then waits to be killed.
func runParent() error {
	if err := os.Unsetenv(roleVariable); err != nil {
		return err
	}
	binary, err := program.APIServer.Binary(context.Background(), os.Stderr)
	if err != nil {
		return err
	}
	process, err := Start(context.Background(), Options{
		Binary:     binary,
		Kubeconfig: filepath.Join(os.Getenv("APISERVER_TEST_DIR"), "kubeconfig"),
	})
	if err != nil {
		return err
	}
	fmt.Println(process.Output())
	<-process.Exited()
	return errors.New("the server ended by itself")
}

// No server outlives its test process, not even one that is killed.
func TestServerEndsWithAKilledParent(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), roleVariable+"=parent", "APISERVER_TEST_DIR="+t.TempDir())
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("the parent said %q: %v", line, err)
	}
	if err := dial(address); err != nil {
		t.Fatalf("the server does not listen while its parent lives: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	// There is no event when a process that is not a child ends.
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return errors.Is(dial(address), syscall.ECONNREFUSED), nil
	})
	if err != nil {
		t.Fatalf("the server outlives its parent: %v", err)
	}
}

func dial(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}
