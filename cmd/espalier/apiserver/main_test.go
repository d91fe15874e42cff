// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// runMain makes this test binary behave as the command itself.
const runMain = "APISERVER_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience limits the waits of a broken test.
const patience = 6 * time.Minute

// process is the command in a separate process.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), runMain+"=1")
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stdout)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) awaitReady(t *testing.T) (url string) {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("it ended before it was ready: %v, %s", p.cmd.Wait(), p.stderr.String())
	}
	url, ok := strings.CutPrefix(p.lines.Text(), "ready https://")
	if !ok {
		t.Fatalf("the first line is %q", p.lines.Text())
	}
	return "https://" + url
}

// awaitEnd returns the exit code. It fails the test if the process hangs.
func (p *process) awaitEnd(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for p.lines.Scan() {
		t.Errorf("unexpected output: %s", p.lines.Text())
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func TestServesUntilToldToStop(t *testing.T) {
	ends := map[string]struct {
		args []string
		end  func(*process) error
	}{
		"SIGTERM":      {nil, func(p *process) error { return p.cmd.Process.Signal(syscall.SIGTERM) }},
		"SIGINT":       {nil, func(p *process) error { return p.cmd.Process.Signal(syscall.SIGINT) }},
		"end of input": {[]string{"--exit-with-stdin", "--cluster-controllers"}, func(p *process) error { return p.stdin.Close() }},
	}
	for name, test := range ends {
		t.Run(name, func(t *testing.T) {
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			t.Setenv("TMPDIR", t.TempDir())
			p := launch(t, append(test.args, "--kubeconfig", kubeconfig)...)
			url := p.awaitReady(t)
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != url {
				t.Errorf("the kubeconfig says %s, the process %s", config.Host, url)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Discovery().ServerVersion(); err != nil {
				t.Error(err)
			}
			if err := test.end(p); err != nil {
				t.Fatal(err)
			}
			if code := p.awaitEnd(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if p.stderr.Len() > 0 {
				t.Errorf("it is not quiet: %s", p.stderr.String())
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left: %v, %v", left, err)
			}
			if _, err := os.Stat(kubeconfig); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the kubeconfig is left: %v", err)
			}
		})
	}
}

// A killed process cannot clean up. The next one must cope.
func TestStartsAfterACrash(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--kubeconfig", filepath.Join(dir, "kubeconfig"), "--data-dir", filepath.Join(dir, "data")}
	first := launch(t, args...)
	url := first.awaitReady(t)

	second := launch(t, args...)
	if code := second.awaitEnd(t); code != 1 {
		t.Errorf("a second process on the same directory: exit code %d", code)
	}
	if want := fmt.Sprintf("kill %d", first.cmd.Process.Pid); !strings.Contains(second.stderr.String(), want) {
		t.Errorf("the message lacks %q: %s", want, second.stderr.String())
	}

	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.awaitEnd(t)
	third := launch(t, args...)
	if again := third.awaitReady(t); again != url {
		t.Errorf("the server moved from %s to %s", url, again)
	}
	if err := third.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := third.awaitEnd(t); code != 0 {
		t.Errorf("exit code %d: %s", code, third.stderr.String())
	}
}

func TestRefusesBadFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no kubeconfig":  {nil, "--kubeconfig FILE is required"},
		"an argument":    {[]string{"--kubeconfig", "x", "serve"}, `unexpected argument "serve"`},
		"unknown flag":   {[]string{"--nonsense"}, "nonsense"},
		"no port number": {[]string{"--port", "http"}, "port"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(test.args)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is: %v", err)
			}
		})
	}
}
