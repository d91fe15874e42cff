// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build node

package node_test

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/cmd/espalier/internal/nodetest"
)

// buildTrial builds the program that tries whether a machine can run a node.
func buildTrial(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { // Users other than root also run it.
		t.Fatal(err)
	}
	program := filepath.Join(folder, "trial")
	const source = "espalier.dev/cmd/espalier/internal/nodetest/trial"
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the trial: %v\n%s", err, output)
	}
	return program
}

// The trial recognises a machine that withholds something, and this machine, which does not. CI omits the tests on a node where the trial
// fails: without these tests it might omit them everywhere, or fail elsewhere.
func TestAMachineIsTried(t *testing.T) {
	program := buildTrial(t)
	for name, c := range map[string]struct {
		shell string // in which $0 is the program
		own   string // runs first, in a separate mount namespace
		code  int
		said  string
		lacks string
	}{
		"everything is allowed":           {},
		"it may not make namespaces":      {shell: `exec setpriv --bounding-set=-sys_admin "$0"`, code: 1, said: "CAP_SYS_ADMIN"},
		"it may not touch the network":    {shell: `exec setpriv --bounding-set=-net_admin "$0"`, code: 1, said: "ip link add"},
		"somebody else than root":         {shell: `exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0"`, code: 1, said: "it needs root"},
		"there are no cgroups":            {own: `mount -t tmpfs none /sys/fs/cgroup`, code: 1, said: "there are no cgroups"},
		"cgroups can only be read":        {own: readOnlyCgroups, code: 1, said: "read-only file system"},
		"messages of the kernel are kept": {own: `mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3`, code: 1, said: "read the messages of the kernel"},
		"runc does not work":              {own: `mount --bind /bin/false "$(command -v runc)"`, code: 1, said: "run a container"},
		"nft does not work":               {own: `mount --bind /bin/false "$(command -v nft)"`, code: 1, said: "translate addresses"},
		"packages are missing":            {shell: `PATH=/nowhere; exec "$0"`, code: 3, lacks: "containerd runc nftables"},
	} {
		shell := cmp.Or(c.shell, `exec "$0"`)
		if c.own != "" {
			shell = `exec unshare --mount --propagation private sh -c '` + c.own + ` && exec "$0"' "$0"`
		}
		t.Run(name, func(t *testing.T) {
			before := nodetest.Traces(t)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", shell, program)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			code, said, lacks := cmd.ProcessState.ExitCode(), stderr.String(), stdout.String()
			if code != c.code || !strings.Contains(said, c.said) || !strings.HasPrefix(lacks, c.lacks) {
				t.Errorf("exit code %d: %s%s", code, lacks, said)
			}
			if c.code == 1 && !strings.HasPrefix(said, "this machine cannot run a node: ") {
				t.Errorf("it begins with other words: %s", said)
			}
			nodetest.NothingLeft(t, before)
		})
	}
}

// readOnlyCgroups makes cgroups read-only, as in unprivileged containers.
const readOnlyCgroups = `for at in $(grep -o " /sys/fs/cgroup[^ ]*" /proc/self/mounts); do mount -o remount,bind,ro "$at"; done`
