// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command together runs another command, such as go test, beside one API server for all those packages whose tests say that they can do
// with it (testkit.MainWithOthers). Otherwise each package starts its own, which takes three seconds of a processor.
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
	"path/filepath"

	"espalier.dev/internal/testkit"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: together COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	err := run(context.Background(), os.Args[1:])
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
	dir, err := folder()
	if err != nil {
		return err
	}
	kubeconfig, stop, err := testkit.Host(ctx, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), testkit.TogetherVariable+"="+kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	return errors.Join(err, stop(), os.RemoveAll(dir))
}

// folder is the same for each run in a checkout, as long as one follows the other: what go test remembers of a test depends on the
// variables that the test reads.
func folder() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	hash := sha256.Sum256([]byte(here))
	dir := filepath.Join(os.TempDir(), "espalier-together-"+hex.EncodeToString(hash[:6]))
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return os.MkdirTemp("", "espalier-together-")
	}
	return dir, err
}
