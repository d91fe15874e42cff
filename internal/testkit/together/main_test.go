// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/internal/testkit"
)

// The command finds the kubeconfig, its exit code is passed on, and nothing is left behind.
func TestACommandRunsBesideAServer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	seen := filepath.Join(t.TempDir(), "seen")
	script := `grep -q "server: https" "$` + testkit.TogetherVariable + `" && echo "$` + testkit.TogetherVariable + `" > ` + seen + ` && exit 3`
	err := run(t.Context(), []string{"sh", "-c", script})
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 3 {
		t.Fatalf("it ends with %v", err)
	}
	kubeconfig, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(strings.TrimSpace(string(kubeconfig)))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of %s is still there: %v", kubeconfig, err)
	}
}

// Consecutive runs have the same folder, even if the first was killed; concurrent ones have their own.
func TestTheFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, unlock, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	second, unlockSecond, err := folder()
	if err != nil || second == first {
		t.Errorf("beside %s, the folder is %s: %v", first, second, err)
	}
	unlockSecond()
	left := filepath.Join(first, "left")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock()
	third, unlock, err := folder()
	if err != nil || third != first {
		t.Errorf("after %s, the folder is %s: %v", first, third, err)
	}
	defer unlock()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what the first has left is there: %v", err)
	}
}
