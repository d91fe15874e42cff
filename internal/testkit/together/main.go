// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command together runs another command, such as go test, beside one API server for all those packages whose tests say that they can do
// with it (testkit.MainWithOthers). Otherwise each package starts its own, which takes three seconds of CPU time.
//
//	go run ./internal/testkit/together go test ./...
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"espalier.dev/internal/testkit"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: together COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		os.Exit(ended.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "together:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command []string) error {
	dir, unlock, err := folder()
	if err != nil {
		return fmt.Errorf("make a folder for the API server: %w", err)
	}
	defer unlock()
	kubeconfig, stop, err := testkit.Host(ctx, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), testkit.TogetherVariable+"="+kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	return errors.Join(err, stop(), os.RemoveAll(dir))
}

// folder returns the same folder for each run in a checkout, as long as one follows the other: the test cache depends on the environment
// variables that a test reads. The lock ends with the process, so leftovers of a killed one are removed.
func folder() (dir string, unlock func(), err error) {
	here, err := os.Getwd()
	if err != nil {
		return "", nil, err
	}
	hash := sha256.Sum256([]byte(here))
	dir = filepath.Join(os.TempDir(), "espalier-together-"+hex.EncodeToString(hash[:6]))
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	unlock = func() { _ = lock.Close() }
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		dir, err = os.MkdirTemp("", "espalier-together-") // Another run is active.
		return dir, unlock, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", unlock, err
	}
	return dir, unlock, os.Mkdir(dir, 0o700)
}
